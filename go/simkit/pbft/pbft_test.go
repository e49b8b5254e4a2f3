package pbft

import (
	"errors"
	"testing"

	"protosim/simkit"
	"protosim/simkit/byhand"
)

// cluster is four replicas and a client, and what is seen of them, by hand; or n4 lies.
type cluster struct {
	*byhand.Cluster
	*Section4
}

func newCluster(liars ...string) *cluster {
	empty := simkit.Image{Fields: map[string]any{"view": 0, "new_view": (*NewView)(nil), "proof": []Checkpoint{}}}
	c := &cluster{Cluster: byhand.New(4, empty).With([]string{"c1"}, liars)}
	c.Section4 = NewSection4(c.Cluster)
	c.Observer = c.Section4
	for op := 1; op < 4; op++ {
		c.Tell(simkit.Requested{Node: "c1", Op: op, Command: put(op).Command})
	}
	return c
}

func put(op int) Request {
	return Request{simkit.Command{Op: "put", Key: "x", Value: op}, op, by("c1")}
}

func by(node string) simkit.Signed { return simkit.Signed{Signer: node, Valid: true} }

func slot(view, number, op int) Slot { return Slot{view, number, DigestOf(put(op))} }

func (c *cluster) sends(node string, m any) { c.Tell(simkit.Sent{From: node, To: "n1", Message: m}) }

// proposes is what the primary of view 0 does.
func (c *cluster) proposes(s Slot) { c.sends("n1", Proposal{PrePrepare: PrePrepare{s, by("n1")}}) }

func (c *cluster) prepares(s Slot, nodes ...string) {
	for _, node := range nodes {
		c.sends(node, Prepare{s, by(node)})
	}
}

func (c *cluster) commits(s Slot, nodes ...string) {
	for _, node := range nodes {
		c.sends(node, Commit{s, by(node)})
	}
}

func (c *cluster) stores(node string, certificate Prepared) {
	c.Tell(simkit.Stored{Node: node, Log: "prepared", Added: []any{certificate}})
}

func (c *cluster) executes(node string, number int, request any) {
	c.Tell(simkit.Applied{Node: node, Index: number, Command: request})
}

func (c *cluster) asks(m ViewChange) { c.sends(m.Signer, m) }

func (c *cluster) enters(node string, m *NewView) { c.Write(node, "new_view", m) }

// allAsk for view 1, and show this.
func (c *cluster) allAsk(number int, proof []Checkpoint, certificates ...Prepared) (all []ViewChange) {
	for _, node := range []string{"n1", "n2", "n3"} {
		m := ViewChange{1, number, proof, certificates, by(node)}
		c.asks(m)
		all = append(all, m)
	}
	return all
}

func certificate(s Slot, signers ...string) Prepared {
	c := Prepared{PrePrepare{s, by(signers[0])}, nil}
	for _, signer := range signers[1:] {
		c.Prepares = append(c.Prepares, Prepare{s, by(signer)})
	}
	return c
}

func stable(number int, signers ...string) (proof []Checkpoint) {
	for _, signer := range signers {
		proof = append(proof, Checkpoint{number, "state", by(signer)})
	}
	return proof
}

func newView(changes []ViewChange, carried ...Slot) *NewView {
	m := &NewView{1, changes, nil, by("n2")}
	for _, s := range carried {
		m.PrePrepares = append(m.PrePrepares, PrePrepare{s, by("n2")})
	}
	return m
}

var (
	a, b    = slot(0, 1, 1), slot(0, 1, 2) // two requests for one place
	a1      = slot(1, 1, 1)                // the same in the next view
	proven  = certificate(a, "n1", "n2", "n3")
	forged  = Prepare{a, simkit.Signed{Signer: "n3"}}
	nothing = Slot{1, 1, null}
)

type story struct {
	says, broken string
	tell         func(c *cluster)
}

var execution = []story{
	{"one after the other", "", func(c *cluster) {
		for _, node := range c.Nodes() {
			c.commits(a, node)
			c.commits(slot(0, 2, 2), node)
		}
		for _, node := range c.Nodes() {
			c.executes(node, 1, put(1))
			c.executes(node, 2, put(2))
		}
		c.Tell(simkit.Replied{Node: "c1", Op: 1})
	}},
	{"two requests at one number", "agreement", func(c *cluster) {
		c.commits(a, "n1", "n2", "n3")
		c.executes("n1", 1, put(1))
		c.executes("n2", 1, put(2))
	}},
	{"a number is left out", "order_of_execution", func(c *cluster) {
		c.commits(slot(0, 2, 1), "n1", "n2", "n3")
		c.executes("n1", 2, put(1))
	}},
	{"a restart executes again", "", func(c *cluster) {
		c.commits(a, "n1", "n2", "n3")
		c.executes("n1", 1, put(1))
		c.Tell(simkit.Restarted{Node: "n1"})
		c.executes("n1", 1, put(1))
	}},
	{"a state is taken over that is behind", "order_of_execution", func(c *cluster) {
		c.commits(a, "n1", "n2", "n3")
		c.executes("n1", 1, put(1))
		c.Tell(simkit.Restored{Node: "n1", Index: 1, State: State{}})
	}},
	{"nobody has asked for it", "validity", func(c *cluster) { c.executes("n1", 1, put(9)) }},
	{"its client asked for something else", "validity", func(c *cluster) {
		m := put(1)
		m.Command.Value = 7
		c.executes("n1", 1, m)
	}},
	{"what is no request is executed", "validity", func(c *cluster) { c.executes("n1", 1, "what?") }},
	{"a request is executed twice", "integrity", func(c *cluster) {
		c.commits(a, "n1", "n2", "n3")
		c.commits(slot(0, 2, 1), "n1", "n2", "n3")
		c.executes("n1", 1, put(1))
		c.executes("n1", 2, put(1))
	}},
	{"two have committed what is executed", "committed_by_quorum", func(c *cluster) {
		c.commits(a, "n1", "n2")
		c.executes("n1", 1, put(1))
	}},
	{"a null request is executed where another was committed", "", func(c *cluster) {
		c.commits(a, "n1", "n2", "n3")
		c.executes("n1", 1, nil)
	}},
	{"a client believes what nobody has executed", "results_are_true", func(c *cluster) {
		c.Tell(simkit.Replied{Node: "c1", Op: 1})
	}},
	{"a client believes another result", "results_are_true", func(c *cluster) {
		c.commits(a, "n1", "n2", "n3")
		c.executes("n1", 1, put(1))
		c.Tell(simkit.Replied{Node: "c1", Op: 1, Result: 7})
	}},
	{"two have different states", "checkpoint_agreement", func(c *cluster) {
		c.sends("n1", Checkpoint{2, "one", by("n1")})
		c.sends("n2", Checkpoint{2, "other", by("n2")})
	}},
	{"one passes on what another says of its state", "", func(c *cluster) {
		c.sends("n1", Checkpoint{2, "one", by("n1")})
		c.sends("n1", Checkpoint{2, "other", by("n4")})
	}},
	{"a state is taken over that others do not have", "checkpoint_agreement", func(c *cluster) {
		c.sends("n1", Checkpoint{2, "one", by("n1")})
		c.Tell(simkit.Restored{Node: "n2", Index: 2, State: State{}})
	}},
	{"three prove a checkpoint", "", func(c *cluster) { c.Write("n1", "proof", stable(2, "n1", "n2", "n3")) }},
	{"two do not", "stable_by_quorum", func(c *cluster) { c.Write("n1", "proof", stable(2, "n1", "n2")) }},
	{"nor does one that says it twice", "stable_by_quorum", func(c *cluster) {
		c.Write("n1", "proof", stable(2, "n1", "n2", "n2"))
	}},
	{"nor do three of different states", "stable_by_quorum", func(c *cluster) {
		c.Write("n1", "proof", append(stable(2, "n1", "n2"), Checkpoint{2, "other", by("n3")}))
	}},
}

var phases = []story{
	{"a request is prepared", "", func(c *cluster) {
		c.proposes(a)
		c.prepares(a, "n2", "n3", "n4")
		c.stores("n1", proven)
	}},
	{"a certificate lacks a prepare", "prepared_by_quorum", func(c *cluster) {
		c.stores("n1", certificate(a, "n1", "n2"))
	}},
	{"a certificate has one twice", "prepared_by_quorum", func(c *cluster) {
		c.stores("n1", certificate(a, "n1", "n2", "n2"))
	}},
	{"a certificate is another primary's", "prepared_by_quorum", func(c *cluster) {
		c.stores("n1", certificate(a, "n2", "n1", "n3", "n4"))
	}},
	{"a certificate has a forged prepare", "prepared_by_quorum", func(c *cluster) {
		c.stores("n1", Prepared{proven.PrePrepare, append([]Prepare{forged}, proven.Prepares...)})
	}},
	{"two requests are prepared in one place", "prepared_agreement", func(c *cluster) {
		c.stores("n1", proven)
		c.stores("n2", certificate(b, "n1", "n2", "n3"))
	}},
	{"a backup agrees to both", "one_digest_in_view", func(c *cluster) {
		c.proposes(a)
		c.prepares(a, "n2")
		c.offers[b] = true
		c.prepares(b, "n2")
	}},
	{"a primary proposes both", "one_digest_in_view", func(c *cluster) {
		c.proposes(a)
		c.proposes(b)
	}},
	{"a backup agrees to what its primary never proposed", "proposed_by_the_primary", func(c *cluster) {
		c.proposes(a)
		c.prepares(b, "n2")
	}},
	{"a later view agrees to something else", "agreement_across_views", func(c *cluster) {
		c.proposes(a)
		c.commits(a, "n1", "n2", "n3")
		c.sends("n2", newView(nil, slot(1, 1, 2)).value())
	}},
	{"an earlier view commits something else", "agreement_across_views", func(c *cluster) {
		c.sends("n2", newView(nil, slot(1, 1, 2)).value())
		c.commits(a, "n1", "n3", "n4")
	}},
	{"a later view agrees to the same", "", func(c *cluster) {
		c.commits(a, "n1", "n2", "n3")
		c.sends("n2", newView(nil, a1).value())
		c.prepares(a1, "n3", "n4")
	}},
}

var viewChanges = []story{
	{"a view begins, and carries over what is prepared", "", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(0, nil, proven), a1))
	}},
	{"two ask for it", "new_view_by_quorum", func(c *cluster) {
		c.asks(ViewChange{View: 1, Signed: by("n1")})
		c.asks(ViewChange{View: 1, Signed: by("n2")})
		c.enters("n2", newView(nil))
	}},
	{"another begins it", "new_view_by_quorum", func(c *cluster) {
		m := newView(c.allAsk(0, nil))
		m.Signer = "n3"
		c.enters("n3", m)
	}},
	{"it rests on no checkpoint", "new_view_by_quorum", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(2, stable(2, "n1", "n2"))))
	}},
	{"it rests on no certificate", "new_view_by_quorum", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(0, nil, certificate(a, "n1", "n2")), a1))
	}},
	{"the view is forgotten", "new_view_by_quorum", func(c *cluster) { c.enters("n2", nil) }},
	{"it carries over something else", "new_view_is_complete", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(0, nil, proven), slot(1, 1, 2)))
	}},
	{"it carries over the null request instead", "new_view_is_complete", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(0, nil, proven), nothing))
	}},
	{"it carries over what nobody shows", "new_view_is_complete", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(0, nil), a1))
	}},
	{"it carries over nothing", "new_view_is_complete", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(0, nil, proven)))
	}},
	{"it is entered without the checkpoint that it shows", "new_view_is_complete", func(c *cluster) {
		c.enters("n2", newView(c.allAsk(2, stable(2, "n1", "n2", "n3"))))
	}},
	{"and with it", "", func(c *cluster) {
		proof := stable(2, "n1", "n2", "n3")
		c.Write("n2", "proof", proof)
		c.enters("n2", newView(c.allAsk(2, proof)))
	}},
	{"what was committed is not shown", "view_change_shows_all", func(c *cluster) {
		c.commits(a, "n1")
		c.asks(ViewChange{View: 1, Signed: by("n1")})
	}},
	{"what was committed is covered", "", func(c *cluster) {
		c.commits(a, "n1")
		c.asks(ViewChange{View: 1, Number: 2, Signed: by("n1")})
	}},
	{"one agrees in a view that it has left", "left_views_stay_left", func(c *cluster) {
		c.proposes(a)
		c.asks(ViewChange{View: 1, Signed: by("n2")})
		c.prepares(a, "n2")
	}},
	{"one asks for a view that is far away", "views_follow_correct_replicas", func(c *cluster) {
		c.asks(ViewChange{View: 2, Signed: by("n2")})
	}},
}

func (m *NewView) value() NewView { return *m }

func TestEachPropertyBreaksForWhatItForbidsAndForNothingElse(t *testing.T) {
	for _, stories := range [][]story{execution, phases, viewChanges} {
		for _, each := range stories {
			c := newCluster()
			each.tell(c)
			c.Check(t, each.says, each.broken)
		}
	}
}

func TestWhereOneLiesTwoCorrectReplicasMayBePartOfAQuorumOfThree(t *testing.T) {
	c := newCluster("n4")
	c.commits(a, "n2", "n3")
	c.executes("n2", 1, put(1))
	if c.Err != nil {
		t.Error(c.Err)
	}
	c = newCluster("n1") // the primary lies, and nobody knows what it has proposed
	c.prepares(a, "n2")
	c.commits(a, "n2")
	c.executes("n2", 1, put(1))
	var broken simkit.Broken
	if errors.As(c.Err, &broken); broken.Invariant != "committed_by_quorum" {
		t.Errorf("one correct replica and a liar are no quorum: %v", c.Err)
	}
}

func TestProgressIsDueToEachClientOnceTheFaultsHaveEnded(t *testing.T) {
	for _, healed := range []int64{-1, 0} {
		c := newCluster()
		c.Healed = healed
		c.commits(a, "n1", "n2", "n3")
		c.executes("n1", 1, put(1))
		c.Tell(simkit.Replied{Node: "c1", Op: 1})
		if err := c.Progress(); (err != nil) != (healed < 0) || c.Err != nil {
			t.Errorf("an answer at a time when the faults have ended at %d: %v, %v", healed, err, c.Err)
		}
	}
}

func TestGoalsAreReachedByWhatTheyName(t *testing.T) {
	goals := map[string]func(c *cluster){
		"request_executed":  func(c *cluster) { c.commits(a, "n1", "n2", "n3"); c.executes("n1", 1, put(1)) },
		"client_answered":   func(c *cluster) { c.Tell(simkit.Replied{Node: "c1", Op: 1}) },
		"view_changed":      func(c *cluster) { c.enters("n2", newView(c.allAsk(0, nil))) },
		"checkpoint_stable": func(c *cluster) { c.Write("n1", "proof", stable(2, "n1", "n2", "n3")) },
	}
	for goal, reach := range goals {
		c := newCluster()
		if c.Reached(goal) {
			t.Errorf("%s is reached before anything has happened", goal)
		}
		reach(c)
		if !c.Reached(goal) {
			t.Errorf("%s is not reached", goal)
		}
	}
}
