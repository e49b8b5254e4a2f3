package paxos

import (
	"testing"

	"protosim/simkit"
	"protosim/simkit/byhand"
)

// cluster is three disks and what is seen of them, by hand. What is written is durable at once.
type cluster struct {
	*byhand.Cluster
	*voting
}

func newCluster() *cluster {
	c := &cluster{Cluster: byhand.New(3, image(Ballot{}, nil))}
	c.voting = newVoting(c)
	c.Observer = c.voting
	for _, node := range c.Nodes() {
		c.Tell(simkit.Restarted{Node: node})
	}
	for value := range 3 {
		c.Tell(simkit.Requested{Node: "n1", Op: value, Command: value})
	}
	return c
}

func image(promised Ballot, accepted any) simkit.Image {
	return simkit.Image{Fields: map[string]any{"round": 0, "promised": promised, "accepted": accepted}}
}

func (c *cluster) sends(node string, m any) { c.Tell(simkit.Sent{From: node, To: "n1", Message: m}) }

func (c *cluster) writes(node, field string, content any) {
	c.Write(node, field, content)
}

func (c *cluster) accept(p Proposal, nodes ...string) {
	for _, node := range nodes {
		c.writes(node, "accepted", p)
	}
}

func (c *cluster) learns(node string, value int) {
	c.Tell(simkit.Applied{Node: node, Index: 1, Command: value})
}

func (c *cluster) answers(node string, value int) {
	c.Tell(simkit.Replied{Node: node, Op: 1, Command: 1, Result: value})
}

// restarts with this on its disk.
func (c *cluster) restarts(node string, promised Ballot, accepted any) {
	c.Disks[node] = image(promised, accepted)
	c.Tell(simkit.Restarted{Node: node})
}

var (
	b1, b2 = Ballot{1, "n1"}, Ballot{1, "n2"}
	p1, p2 = Proposal{b1, 1}, Proposal{b2, 2}
)

func TestEachPropertyBreaksForWhatItForbidsAndForNothingElse(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		story        func(c *cluster)
	}{
		{"a value is chosen, learned and told", "", func(c *cluster) {
			c.sends("n1", Prepare{b1})
			c.sends("n1", Accept(p1))
			c.accept(p1, "n1", "n2")
			c.learns("n1", 1)
			c.answers("n1", 1)
		}},
		{"two begin the same ballot", "unique_ballots", func(c *cluster) {
			c.sends("n1", Prepare{b1})
			c.sends("n2", Prepare{b1})
		}},
		{"a ballot begins again after a restart", "unique_ballots", func(c *cluster) {
			c.sends("n1", Prepare{b1})
			c.restarts("n1", Ballot{}, nil)
			c.sends("n1", Prepare{b1})
		}},
		{"a promise gets less", "promise_monotonicity", func(c *cluster) {
			c.writes("n1", "promised", b2)
			c.writes("n1", "promised", b1)
		}},
		{"a promise is lost by a restart", "promise_monotonicity", func(c *cluster) {
			c.writes("n1", "promised", b1)
			c.sends("n1", Promise{b1, nil})
			c.restarts("n1", Ballot{}, nil)
		}},
		{"a refusal tells another promise", "refusals_are_true", func(c *cluster) {
			c.writes("n1", "promised", b2)
			c.sends("n1", Nack{b1, b1})
		}},
		{"a refusal of what is not below the promise", "refusals_are_true", func(c *cluster) {
			c.writes("n1", "promised", b1)
			c.sends("n1", Nack{b2, b1})
		}},
		{"a true refusal", "", func(c *cluster) {
			c.writes("n1", "promised", b2)
			c.sends("n1", Nack{b1, b2})
		}},
		{"accepted below a promise", "p1a", func(c *cluster) {
			c.writes("n1", "promised", b2)
			c.sends("n1", Promise{b2, nil})
			c.accept(p1, "n1")
		}},
		{"another value is accepted above the chosen one", "p2a", func(c *cluster) {
			c.accept(p1, "n1", "n2")
			c.accept(p2, "n3")
		}},
		{"another value is proposed above the chosen one", "p2b", func(c *cluster) {
			c.accept(p1, "n1", "n2")
			c.sends("n2", Accept(p2))
		}},
		{"another value had been proposed above what is chosen", "p2b", func(c *cluster) {
			c.sends("n2", Accept(p2))
			c.accept(p1, "n1", "n2")
		}},
		{"an acceptor forgets what it accepted", "highest_accepted_kept", func(c *cluster) {
			c.accept(p2, "n1")
			c.accept(p1, "n1")
		}},
		{"a value that nobody asked for is learned", "validity", func(c *cluster) {
			c.learns("n1", 9)
		}},
		{"a value is learned that one acceptor has accepted", "learned_only_chosen", func(c *cluster) {
			c.accept(p1, "n1")
			c.learns("n1", 1)
		}},
		{"two values are learned", "agreement", func(c *cluster) {
			c.accept(p1, "n1", "n2")
			c.learns("n1", 1)
			c.learns("n2", 2)
		}},
		{"a client is told another value than was learned", "agreement", func(c *cluster) {
			c.accept(p1, "n1", "n2")
			c.learns("n1", 1)
			c.answers("n1", 2)
		}},
		{"a client is told before anything is chosen", "durability", func(c *cluster) {
			c.answers("n1", 1)
		}},
		{"a majority forgets what a client was told", "durability", func(c *cluster) {
			c.accept(p1, "n1", "n2")
			c.learns("n1", 1)
			c.answers("n1", 1)
			c.restarts("n2", Ballot{}, nil)
		}},
		{"a crash undoes a vote that nothing rests on", "", func(c *cluster) {
			c.accept(p1, "n1")
			c.restarts("n1", Ballot{}, nil)
			c.accept(p2, "n1", "n2")
			c.learns("n1", 2)
		}},
	} {
		c := newCluster()
		each.story(c)
		c.Check(t, each.says, each.broken)
	}
}
