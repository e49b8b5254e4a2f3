package pbftstore

import (
	"testing"

	"protosim/simkit"
	"protosim/simkit/byhand"
	"protosim/simkit/pbft"
)

// cluster is four replicas, of which n4 lies, and a client that writes 7 and reads.
type cluster struct {
	*byhand.Cluster
	*section5
}

var (
	put = simkit.Command{Op: "put", Key: "x", Value: 7}
	get = simkit.Command{Op: "get", Key: "x"}
)

func newCluster(readOnly bool) *cluster {
	c := &cluster{Cluster: byhand.New(4, simkit.Image{Fields: map[string]any{}}).With([]string{"c1"}, []string{"n4"})}
	c.Switches = map[string]any{"read_only": readOnly}
	c.section5 = newSection5(c.Cluster)
	c.Observer = c.section5
	for _, node := range c.Nodes()[:3] {
		c.Tell(simkit.Restarted{Node: node})
	}
	c.Tell(simkit.Requested{Node: "c1", Op: 1, Command: put})
	c.Tell(simkit.Requested{Node: "c1", Op: 2, Command: get})
	return c
}

func by(node string) simkit.Signed { return simkit.Signed{Signer: node, Valid: true} }

// execute the command of this operation at the next number, on these replicas.
func (c *cluster) execute(op int, result any, nodes ...string) {
	command := map[int]simkit.Command{1: put, 2: get}[op]
	m := pbft.Request{Command: command, Timestamp: op, Signed: by("c1")}
	number := c.Executed[nodes[0]] + 1
	for _, node := range []string{"n1", "n2", "n3"} {
		slot := pbft.Slot{Number: number, Digest: pbft.DigestOf(m)}
		c.Tell(simkit.Sent{From: node, To: "n1", Message: pbft.Commit{Slot: slot, Signed: by(node)}})
	}
	for _, node := range nodes {
		c.Tell(simkit.Applied{Node: node, Index: number, Command: m, Result: result})
	}
}

func reply(op int, result any, node string) pbft.Reply {
	return pbft.Reply{Timestamp: op, Client: "c1", Result: result, Signed: by(node)}
}

func (c *cluster) replies(op int, result any, nodes ...string) {
	for _, node := range nodes {
		c.Tell(simkit.Sent{From: node, To: "c1", Message: reply(op, result, node)})
	}
}

func (c *cluster) answersRead(result any, nodes ...string) {
	for _, node := range nodes {
		c.Tell(simkit.Sent{From: node, To: "c1", Message: ReadReply{reply(2, result, node)}})
	}
}

func (c *cluster) accepts(op int, result any) {
	command := map[int]any{1: put, 2: get}[op]
	c.Tell(simkit.Replied{Node: "c1", Op: op, Command: command, Result: result})
}

func TestEachPropertyBreaksForWhatItForbidsAndForNothingElse(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		readOnly     bool
		story        func(c *cluster)
	}{
		{"a write, and a read beside the log", "", true, func(c *cluster) {
			c.execute(1, nil, "n1", "n2", "n3")
			c.replies(1, nil, "n1", "n2", "n3")
			c.accepts(1, nil)
			c.answersRead(7, "n1", "n2", "n3")
			c.accepts(2, 7)
		}},
		{"a read is answered by what is not executed", "reads_are_committed", true, func(c *cluster) {
			c.answersRead(7, "n1")
		}},
		{"a read is answered that another has asked", "reads_are_committed", true, func(c *cluster) {
			c.Tell(simkit.Sent{From: "n1", To: "c2", Message: ReadReply{reply(2, nil, "n1")}})
		}},
		{"a read is answered after a restart that has forgotten", "reads_go_forward", true, func(c *cluster) {
			c.execute(1, nil, "n1")
			c.answersRead(7, "n1")
			c.Tell(simkit.Restarted{Node: "n1"})
			c.answersRead(nil, "n1")
		}},
		{"a read is answered after a restart that had shown a write", "reads_go_forward", true, func(c *cluster) {
			c.execute(1, nil, "n1")
			c.replies(1, nil, "n1")
			c.Tell(simkit.Restarted{Node: "n1"})
			c.answersRead(nil, "n1")
		}},
		{"a read is answered after a restart that has a checkpoint", "", true, func(c *cluster) {
			c.execute(1, nil, "n1")
			c.replies(1, nil, "n1")
			c.Tell(simkit.Restarted{Node: "n1"})
			c.Tell(simkit.Restored{Node: "n1", Index: 1, State: pbft.State{Registers: []pbft.Register{{Key: "x", Value: 7}}}})
			c.answersRead(7, "n1")
		}},
		{"a client believes two, one of whom may lie", "results_by_certificate", true, func(c *cluster) {
			c.execute(1, nil, "n1", "n2")
			c.replies(1, nil, "n1")
			c.accepts(1, nil)
		}},
		{"a client believes two correct ones and a liar", "", true, func(c *cluster) {
			c.execute(1, nil, "n1", "n2")
			c.replies(1, nil, "n1", "n2")
			c.accepts(1, nil)
		}},
		{"a client believes one correct one and a liar where nobody reads beside the log", "", false, func(c *cluster) {
			c.execute(1, nil, "n1", "n2")
			c.replies(1, nil, "n1")
			c.accepts(1, nil)
		}},
		{"a client believes a liar", "results_by_certificate", false, func(c *cluster) {
			c.execute(1, nil, "n1", "n2")
			c.accepts(1, nil)
		}},
		{"a client reads what no correct replica has read", "results_are_true", true, func(c *cluster) {
			c.answersRead(nil, "n1", "n2")
			c.accepts(2, 7)
		}},
		{"PBFT's own properties", "order_of_execution", true, func(c *cluster) {
			c.Executed["n1"] = 1
			c.execute(1, nil, "n2", "n1")
		}},
	} {
		c := newCluster(each.readOnly)
		each.story(c)
		c.Check(t, each.says, each.broken)
	}
}

func TestGoalsAreReachedByWhatTheyName(t *testing.T) {
	goals := map[string]func(c *cluster){
		"client_answered": func(c *cluster) { c.accepts(2, nil) },
		"read_answered":   func(c *cluster) { c.accepts(2, nil) },
		"read_fell_back": func(c *cluster) {
			c.execute(2, nil, "n1", "n2")
			c.replies(2, nil, "n1")
			c.accepts(2, nil)
		},
		"decision_forwarded": func(c *cluster) { c.Tell(simkit.Sent{From: "n1", To: "n2", Message: Decided{}}) },
	}
	for goal, reach := range goals {
		c := newCluster(true)
		c.answersRead(nil, "n1", "n2")
		if c.Reached(goal) {
			t.Errorf("%s is reached before anything has happened", goal)
		}
		reach(c)
		if c.Err != nil || !c.Reached(goal) {
			t.Errorf("%s is not reached: %v", goal, c.Err)
		}
	}
}
