package raft

import (
	"testing"

	"protosim/simkit"
	"protosim/simkit/byhand"
)

// cluster is three disks and what is seen of them, by hand.
type cluster struct {
	*byhand.Cluster
	*Figure3
}

func newCluster() *cluster {
	c := &cluster{Cluster: byhand.New(3, image(0))}
	c.Healed = -1
	for _, node := range c.Nodes() {
		c.Synced[node] = image(0)
	}
	c.Figure3 = NewFigure3(c, core{})
	c.Observer = c.Figure3
	return c
}

func image(term int, entries ...Entry) simkit.Image {
	log := simkit.Log{}
	for _, entry := range entries {
		log.Entries = append(log.Entries, entry)
	}
	return simkit.Image{Fields: map[string]any{"term": term, "voted_for": nil}, Logs: map[string]simkit.Log{"log": log}}
}

// leads lets a node act as the leader of a term.
func (c *cluster) leads(node string, term int) {
	c.Tell(simkit.Sent{From: node, To: "n1", Message: AppendEntries{Term: term}})
}

// has lets a node write its term and its log, from a place on.
func (c *cluster) has(node string, term, index int, entries ...Entry) {
	removed := c.Disks[node].Logs["log"].Entries
	removed = removed[min(index, len(removed)):]
	c.Disks[node] = image(term, entries...)
	c.Tell(simkit.Stored{Node: node, Log: "log", Index: index, Removed: removed, Added: c.Disks[node].Logs["log"].Entries[index:]})
}

func (c *cluster) syncs(nodes ...string) {
	for _, node := range nodes {
		c.Synced[node] = c.Disks[node]
	}
}

func (c *cluster) applies(node string, index int, command any) {
	c.Tell(simkit.Applied{Node: node, Index: index, Command: command})
}

var (
	x1 = simkit.Command{Op: "put", Key: "x", Value: 1}
	x2 = simkit.Command{Op: "put", Key: "x", Value: 2}
	e1 = Entry{1, x1}
	e2 = Entry{2, x2}
)

func TestEachPropertyBreaksForWhatItForbidsAndForNothingElse(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		story        func(c *cluster)
	}{
		{"nothing happens", "", func(c *cluster) {}},
		{"leaders follow each other", "", func(c *cluster) {
			c.leads("n1", 1)
			c.leads("n2", 2)
			c.leads("n1", 1)
		}},
		{"two lead a term", "election_safety", func(c *cluster) {
			c.leads("n1", 1)
			c.leads("n2", 1)
		}},
		{"a leader appends", "", func(c *cluster) {
			c.leads("n1", 1)
			c.has("n1", 1, 0, e1)
			c.has("n1", 1, 1, e1, Entry{1, x2})
		}},
		{"a leader cuts its log", "leader_append_only", func(c *cluster) {
			c.leads("n1", 1)
			c.has("n1", 1, 0, e1)
			c.has("n1", 1, 0)
		}},
		{"a follower cuts its log", "", func(c *cluster) {
			c.has("n1", 1, 0, e1)
			c.has("n1", 2, 0, e2)
		}},
		{"an entry follows different ones in two logs", "log_matching", func(c *cluster) {
			c.has("n1", 2, 0, e1, e2)
			c.has("n2", 2, 0, Entry{2, x1}, e2)
		}},
		{"two entries have the same place and term", "log_matching", func(c *cluster) {
			c.has("n1", 1, 0, e1)
			c.has("n2", 1, 0, Entry{1, x2})
		}},
		{"all apply the same", "", func(c *cluster) {
			for _, node := range c.Nodes() {
				c.has(node, 1, 0, e1)
				c.applies(node, 1, x1)
			}
		}},
		{"two apply different entries", "state_machine_safety", func(c *cluster) {
			c.has("n1", 1, 0, e1)
			c.applies("n1", 1, x1)
			c.has("n2", 2, 0, e2)
			c.applies("n2", 1, x2)
		}},
		{"an entry is left out", "state_machine_safety", func(c *cluster) {
			c.has("n1", 2, 0, e1, e2)
			c.applies("n1", 2, x2)
		}},
		{"what is applied stands in no log", "state_machine_safety", func(c *cluster) {
			c.has("n1", 1, 0, e1)
			c.applies("n1", 1, x2)
		}},
		{"a leader lacks what was committed", "leader_completeness", func(c *cluster) {
			c.has("n1", 1, 0, e1)
			c.applies("n1", 1, x1)
			c.leads("n2", 2)
		}},
		{"a leader of a later term lacks what an older one commits", "leader_completeness", func(c *cluster) {
			c.leads("n2", 2)
			c.has("n1", 1, 0, e1)
			c.applies("n1", 1, x1)
		}},
		{"a client has its answer, and a majority the entry", "", func(c *cluster) {
			c.answered("n1", "n2")
		}},
		{"a client has its answer, and one disk the entry", "durability", func(c *cluster) {
			c.answered("n1")
		}},
		{"a majority forgets what was answered", "durability", func(c *cluster) {
			c.answered("n1", "n2")
			c.Disks["n2"] = image(1)
			c.syncs("n2")
			c.Tell(simkit.Restarted{Node: "n2"})
		}},
		{"a command is answered that was never applied", "durability", func(c *cluster) {
			c.Tell(simkit.Replied{Node: "n1", Op: 1, Command: x1})
		}},
	} {
		c := newCluster()
		each.story(c)
		c.Check(t, each.says, each.broken)
	}
}

// answered lets n1 answer a put that lies on these disks.
func (c *cluster) answered(disks ...string) {
	for _, node := range disks {
		c.has(node, 1, 0, e1)
		c.syncs(node)
	}
	c.applies("n1", 1, x1)
	c.Tell(simkit.Replied{Node: "n1", Op: 1, Command: x1})
}

func TestProgressIsDueOnceALeaderWasAskedOrThereIsNone(t *testing.T) {
	ask := func(c *cluster, node string) { c.Tell(simkit.Requested{Node: node, Op: 1, Command: x1}) }
	for _, each := range []struct {
		says  string
		due   bool
		story func(c *cluster)
	}{
		{"nobody leads", true, func(c *cluster) {}},
		{"the leader was never asked", false, func(c *cluster) { c.leads("n1", 0); ask(c, "n2") }},
		{"the leader was asked", true, func(c *cluster) { c.leads("n1", 0); ask(c, "n1") }},
		{"the leader has answered", false, func(c *cluster) { c.leads("n1", 0); ask(c, "n1"); c.answered("n1", "n2") }},
	} {
		c := newCluster()
		c.Healed = 0
		each.story(c)
		if err := c.Progress(); (err != nil) != each.due || c.Err != nil {
			t.Errorf("%s: %v, %v", each.says, err, c.Err)
		}
	}
}
