package raftsnapshots

import (
	"testing"

	"protosim/simkit"
	"protosim/simkit/byhand"
	"protosim/simkit/raft"
)

// cluster is three disks and what is seen of them, by hand. What is written is durable at once.
type cluster struct {
	*byhand.Cluster
	*snapshots
}

func newCluster() *cluster {
	c := &cluster{Cluster: byhand.New(3, image(nil, 0))}
	c.snapshots = newSnapshots(c)
	c.Observer = c.snapshots
	return c
}

func image(snapshot any, base int, entries ...any) simkit.Image {
	return simkit.Image{
		Fields: map[string]any{"term": 1, "voted_for": nil, "snapshot": snapshot},
		Logs:   map[string]simkit.Log{"log": {Base: base, Entries: entries}},
	}
}

// applies what stands in the node's log, with these results.
func (c *cluster) applies(node string, results ...any) {
	for _, result := range results {
		index := c.AppliedBy[node] + 1
		entry, _ := c.Entry(c.Disks[node], index)
		c.Tell(simkit.Applied{Node: node, Index: index, Command: entry.Command, Result: result})
	}
}

func (c *cluster) restores(node string, index int, state any) {
	c.Tell(simkit.Restored{Node: node, Index: index, State: state})
}

func (c *cluster) snaps(node string, snapshot any) {
	before := c.Disks[node]
	c.Disks[node] = image(snapshot, before.Logs["log"].Base, before.Logs["log"].Entries...)
	c.Tell(simkit.Wrote{Node: node, Before: before, Pairs: []simkit.Pair{{Name: "snapshot", Content: snapshot}}})
}

func (c *cluster) resets(node string, base int, entries ...any) {
	before := c.Disks[node]
	c.Disks[node] = image(before.Fields["snapshot"], base, entries...)
	c.Tell(simkit.WasReset{Node: node, Log: "log", Before: before.Logs["log"], After: c.Disks[node].Logs["log"]})
}

func (c *cluster) leads(node string) {
	c.Tell(simkit.Sent{From: node, To: "n2", Message: raft.AppendEntries{Term: 1}})
}

func registers(pairs ...any) (found []any) {
	found = []any{}
	for i := 0; i < len(pairs); i += 2 {
		found = append(found, []any{pairs[i], pairs[i+1]})
	}
	return found
}

var (
	put1   = simkit.Command{Op: "put", Key: "x", Value: 1}
	put2   = simkit.Command{Op: "put", Key: "x", Value: 2}
	first  = raft.Entry{Term: 1, Command: Proposal{7, put1}}
	second = raft.Entry{Term: 1, Command: put2}
	after1 = State{registers("x", 1), registers(7, nil)}
	after2 = State{registers("x", 2), registers(7, nil)}
)

func TestEachPropertyBreaksForWhatItForbidsAndForNothingElse(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		story        func(c *cluster)
	}{
		{"a log is compacted, and the snapshot used elsewhere", "", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first, second)
			c.leads("n1")
			c.applies("n1", nil, 1)
			c.snaps("n1", Snapshot{2, 1, after2})
			c.resets("n1", 2)
			c.snaps("n2", Snapshot{2, 1, after2})
			c.resets("n2", 2)
			c.restores("n2", 2, after2)
		}},
		{"a command that comes again has its first answer", "", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first, second, first)
			c.applies("n1", nil, 1, nil)
		}},
		{"a command takes effect twice", "exactly_once", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first, second, first)
			c.applies("n1", nil, 1, 2)
		}},
		{"a result is not what the entries before it give", safety, func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first, second)
			c.applies("n1", nil, 9)
		}},
		{"a restored state is another", safety, func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first, second)
			c.applies("n1", nil, 1)
			c.restores("n2", 2, after1)
		}},
		{"a restored state lacks the answers", safety, func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first)
			c.applies("n1", nil)
			c.restores("n2", 1, State{registers("x", 1), registers()})
		}},
		{"a state machine goes back", safety, func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first, second)
			c.applies("n1", nil, 1)
			c.restores("n1", 1, after1)
		}},
		{"a snapshot of what is not committed", safety, func(c *cluster) {
			c.snaps("n1", Snapshot{1, 1, after1})
		}},
		{"entries are dropped without a snapshot", "snapshot_before_cut", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first)
			c.resets("n1", 1)
		}},
		{"a snapshot is replaced by none", "snapshot_before_cut", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first)
			c.applies("n1", nil)
			c.snaps("n1", Snapshot{1, 1, after1})
			c.resets("n1", 1)
			c.snaps("n1", nil)
		}},
		{"a leader drops entries from the end of its log", "leader_append_only", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first, second)
			c.leads("n1")
			c.resets("n1", 0, first)
		}},
		{"a leader's log and snapshot lack what is committed", "leader_completeness", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first)
			c.applies("n1", nil)
			c.Tell(simkit.Sent{From: "n2", To: "n1", Message: raft.AppendEntries{Term: 2}})
		}},
		{"a leader's snapshot stands for what is committed", "", func(c *cluster) {
			c.Disks["n1"] = image(nil, 0, first)
			c.applies("n1", nil)
			c.Disks["n2"] = image(Snapshot{1, 1, after1}, 1)
			c.Tell(simkit.Sent{From: "n2", To: "n1", Message: raft.AppendEntries{Term: 2}})
		}},
	} {
		c := newCluster()
		each.story(c)
		c.Check(t, each.says, each.broken)
	}
}

func TestWhoHasTheSnapshotIsSentEntriesAgain(t *testing.T) {
	for _, late := range []bool{false, true} {
		c := newCluster()
		c.leads("n1") // whom nobody asks, so that no answer is due
		c.Tell(simkit.Sent{From: "n2", To: "n1", Message: raft.Appended{Term: 1, Success: true, Match: 4}})
		if late {
			c.Time = 2 * longestWay
		}
		c.Tell(simkit.Sent{From: "n1", To: "n2", Message: InstallSnapshot{1, Snapshot{4, 1, nil}}})
		if err := c.Progress(); (err != nil) != late || c.Err != nil {
			t.Errorf("late: %v, %v, %v", late, err, c.Err)
		}
	}
}
