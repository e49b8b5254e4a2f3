package twophasecommit

import (
	"errors"
	"testing"

	"protosim/simkit"
	"protosim/simkit/byhand"
)

// cluster is two disks and what is seen of them, by hand. What is written is durable at once.
type cluster struct {
	*byhand.Cluster
	*commitment
}

func newCluster() *cluster {
	c := &cluster{Cluster: byhand.New(2, simkit.Image{})}
	c.commitment = newCommitment(c)
	c.Observer = c.commitment
	c.Tell(simkit.Requested{Node: "n1", Op: 1, Command: both})
	return c
}

func (c *cluster) sends(node, to string, m any) { c.Tell(simkit.Sent{From: node, To: to, Message: m}) }

// logs records of a kind about transaction 1.
func (c *cluster) logs(node string, kinds ...string) {
	for _, kind := range kinds {
		c.log(node, Record{kind, 1, both, "n1"})
	}
}

func (c *cluster) log(node string, r Record) {
	entries := c.Disks[node].Logs["log"].Entries
	c.has(node, append(entries[:len(entries):len(entries)], r)...)
	c.Tell(simkit.Stored{Node: node, Log: "log", Index: len(entries), Added: []any{r}})
}

func (c *cluster) has(node string, entries ...any) {
	c.Disks[node] = simkit.Image{Logs: map[string]simkit.Log{"log": {Entries: entries}}}
}

func (c *cluster) answers(result string) {
	c.Tell(simkit.Replied{Node: "n1", Op: 1, Command: both, Result: result})
}

// prepares both nodes, which vote yes.
func (c *cluster) prepares() {
	c.sends("n1", "n2", Prepare{1, both})
	for _, node := range c.Nodes() {
		c.logs(node, prepared)
		c.sends(node, "n1", Vote{1, yes})
	}
}

var both = Transaction{[]int{1, 2}, 0} // key 1 is n1's, and key 2 n2's

func TestEachPropertyBreaksForWhatItForbidsAndForNothingElse(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		story        func(c *cluster)
	}{
		{"all vote yes, and the client hears of the commit", "", func(c *cluster) {
			c.prepares()
			c.logs("n1", commit, committed)
			c.answers(commit)
			c.sends("n1", "n2", Decision{1, commit})
			c.logs("n2", committed)
			c.logs("n1", end)
		}},
		{"somebody votes no, and the client hears of the abort", "", func(c *cluster) {
			c.sends("n1", "n2", Prepare{1, both})
			c.sends("n2", "n1", Vote{1, no})
			c.answers(abort)
		}},
		{"a participant commits, then aborts", "ac2_irrevocability", func(c *cluster) {
			c.prepares()
			c.logs("n2", committed, aborted)
		}},
		{"a record is removed", "ac2_irrevocability", func(c *cluster) {
			c.Tell(simkit.Stored{Node: "n1", Log: "log", Removed: []any{Record{}}})
		}},
		{"a log is replaced", "ac2_irrevocability", func(c *cluster) { c.Tell(simkit.WasReset{Node: "n1", Log: "log"}) }},
		{"one commits, and the other aborts", "ac1_agreement", func(c *cluster) {
			c.prepares()
			c.logs("n1", committed)
			c.logs("n2", aborted)
		}},
		{"who is in doubt is told the contrary", "ac2_irrevocability", func(c *cluster) {
			c.prepares()
			c.logs("n1", commit)
			c.sends("n1", "n2", Decision{1, abort})
		}},
		{"who is not in doubt is told the contrary", "", func(c *cluster) {
			c.prepares()
			c.logs("n1", commit)
			c.logs("n2", committed)
			c.sends("n1", "n2", Decision{1, abort})
		}},
		{"a commit without the vote of one", "ac3_unanimity", func(c *cluster) {
			c.sends("n1", "n2", Prepare{1, both})
			c.sends("n1", "n1", Vote{1, yes})
			c.logs("n1", commit)
		}},
		{"a commit after a yes and a no of the same", "ac3_unanimity", func(c *cluster) {
			c.prepares()
			c.transaction(1).ballots["n2"] = []string{yes, no}
			c.logs("n1", commit)
		}},
		{"what one cannot commit is committed", "validity", func(c *cluster) {
			c.prepares()
			c.logs("n1", commit)
			c.Tell(simkit.Replied{Node: "n1", Op: 1, Command: Transaction{[]int{1, 2}, 2}, Result: commit})
		}},
		{"a commit of which a participant's disk says nothing", "durability", func(c *cluster) {
			c.prepares()
			c.has("n2")
			c.logs("n1", commit)
		}},
		{"a client hears of a commit that only its participants remember", "durability", func(c *cluster) {
			c.prepares()
			c.answers(commit)
		}},
		{"a coordinator forgets a commit that a client knows of", "durability", func(c *cluster) {
			c.prepares()
			c.logs("n1", commit)
			c.answers(commit)
			c.has("n1", Record{prepared, 1, both, "n1"})
			c.Tell(simkit.Restarted{Node: "n1"})
		}},
		{"a key is given to another transaction while one is in doubt", "isolation", func(c *cluster) {
			c.prepares()
			c.log("n2", Record{prepared, 2, both, "n1"})
		}},
	} {
		c := newCluster()
		each.story(c)
		c.Check(t, each.says, each.broken)
	}
}

func TestProgressIsDueOnceTheFaultsHaveEnded(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		story        func(c *cluster)
	}{
		{"nothing was committed", "ac4_no_needless_abort", func(c *cluster) {}},
		{"all is over", "", func(c *cluster) {
			c.commits()
			c.logs("n1", end)
		}},
		{"an abort that nobody needs", "ac4_no_needless_abort", func(c *cluster) {
			c.commits()
			c.logs("n1", end)
			c.Time = 2 * settled
			c.Tell(simkit.Requested{Node: "n1", Op: 2, Command: both})
			c.Tell(simkit.Replied{Node: "n1", Op: 2, Command: both, Result: abort})
		}},
		{"somebody is in doubt", "ac5_termination", func(c *cluster) {
			c.commits()
			c.logs("n1", end)
			c.log("n2", Record{prepared, 3, both, "n1"})
		}},
		{"votes that never end", "ac5_termination", func(c *cluster) {
			c.commits()
			c.logs("n1", end)
			c.sends("n1", "n2", Prepare{3, both})
		}},
		{"a commit that is never forgotten", "commits_end", func(c *cluster) { c.commits() }},
	} {
		c := newCluster()
		each.story(c)
		c.Time += 2 * settled
		var broken simkit.Broken
		if err := c.Progress(); errors.As(err, &broken) != (each.broken != "") || broken.Invariant != each.broken || c.Err != nil {
			t.Errorf("%s: %v, %v", each.says, err, c.Err)
		}
	}
}

// commits transaction 1; only its end is missing.
func (c *cluster) commits() {
	c.prepares()
	c.logs("n1", commit, committed)
	c.answers(commit)
	c.logs("n2", committed)
}
