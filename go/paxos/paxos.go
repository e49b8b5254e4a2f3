// Package paxos is Paxos: proposers, acceptors and learners choose one value. Every node is all three.
//
// The paper is L. Lamport, "Paxos Made Simple", 2001; § refers to it. A handler names the action of Paxos.tla
// (tlaplus/Examples) that it refines.
//
// This is a single value (§2), not the state machine (§3). Nodes crash and recover with a durable disk; messages may be
// lost, duplicated, delayed and reordered. Safety needs no bound on delays or clocks; progress needs that one proposer
// is at last left alone for a while (§2.4).
//
// A client proposes a value, and is told which one was chosen: its own, or another's. Each request is a ballot, also
// when a value has been chosen long ago: to issue a proposal is how one finds that out (§2.3).
//
// Reading order: ballots, messages, state, the proposer, the acceptor, the learner (§2.2, §2.3). Each Check is one that
// the paper demands.
package paxos

import (
	"cmp"

	"protosim/step"
)

// Protocol is what a host needs to know.
var Protocol = step.Protocol{
	Name:           "paxos",
	Values:         []step.Value{Ballot{}, Proposal{}, Prepare{}, Promise{}, Accept{}, Accepted{}, Nack{}},
	New:            func() step.Machine { return new(Paxos) },
	NewApplication: func() step.Application { return new(Decision) },
}

const retry step.Timer = "retry"

var (
	patience = step.Range{100 * step.MS, 200 * step.MS} // for a ballot's answers
	backoff  = step.Range{50 * step.MS, 400 * step.MS}  // after a refusal: wide, so that rivals do not meet again, §2.4
)

// -- Ballots ----------------------------------------------------------------------------------------------------------

// Ballot is a proposal's number. No two proposers have one in common, §2.5. Its zero is nobody's, and before all.
type Ballot struct {
	Round    int
	Proposer step.NodeID
}

func (b Ballot) compare(other Ballot) int {
	return cmp.Or(cmp.Compare(b.Round, other.Round), cmp.Compare(b.Proposer, other.Proposer))
}

// highest is the proposal of the highest ballot, or nil. P2c, §2.2.
func highest(proposals []*Proposal) (found *Proposal) {
	for _, proposal := range proposals {
		if proposal != nil && (found == nil || proposal.Ballot.compare(found.Ballot) > 0) {
			found = proposal
		}
	}
	return found
}

// -- Messages (Paxos.tla) ---------------------------------------------------------------------------------------------

type Proposal struct {
	Ballot Ballot
	Value  int
}

// Prepare is 1a.
type Prepare struct {
	Ballot Ballot
}

// Promise is 1b: to accept nothing below Ballot any more. Accepted is what the acceptor has accepted last, or nil.
type Promise struct {
	Ballot   Ballot
	Accepted *Proposal
}

// Accept is 2a.
type Accept struct {
	Ballot Ballot
	Value  int
}

// Accepted is 2b, to all learners.
type Accepted struct {
	Ballot Ballot
	Value  int
}

// Nack is Prepare's or Accept's refusal, an optimisation that does not affect correctness, §2.2: more was promised.
type Nack struct {
	Ballot   Ballot
	Promised Ballot
}

// -- State ------------------------------------------------------------------------------------------------------------

// Disk is what is kept in stable storage, §2.5.
type Disk struct {
	Round    int       // proposer: the highest that it has begun
	Promised Ballot    // acceptor: maxBal
	Accepted *Proposal // acceptor: maxVBal, maxVal
}

type Switches struct{}

type Paxos struct {
	step.Node[Disk, Switches]

	ballot     Ballot                               // proposer: the last one that I began
	value      int                                  // proposer: what I would propose in it
	preparing  bool                                 // proposer: in phase 1
	promises   step.Ordered[step.NodeID, *Proposal] // proposer: who promised my ballot, and what they had accepted
	roundSeen  int                                  // proposer: the highest that I was refused for
	waiting    step.Ordered[step.OpID, int]         // proposer: what clients without an answer want
	acceptedBy map[Ballot]map[step.NodeID]bool      // learner
	chosen     *int                                 // learner
}

// Start is a restart: all but the disk is zero.
func (p *Paxos) Start() {
	p.acceptedBy = map[Ballot]map[step.NodeID]bool{}
}

func (p *Paxos) Receive(src step.NodeID, m step.Value) {
	switch m := m.(type) {
	case Prepare:
		p.handlePrepare(src, m)
	case Promise:
		p.handlePromise(src, m)
	case Accept:
		p.handleAccept(src, m)
	case Nack:
		p.handleNack(m)
	case Accepted:
		p.handleAccepted(src, m)
	}
}

func (p *Paxos) Timeout(t step.Timer) {
	if t == retry {
		p.tryAgain()
	}
}

// tell needs no network where one role tells another in the same node.
func (p *Paxos) tell(to step.NodeID, m step.Value) {
	if to == p.Me {
		p.Receive(p.Me, m)
	} else {
		p.Send(to, m)
	}
}

func (p *Paxos) tellAll(m step.Value) {
	p.Broadcast(m)
	p.Receive(p.Me, m)
}

// -- Phase 1 (§2.2, §2.5) ---------------------------------------------------------------------------------------------

// Request is a client that proposes a value.
func (p *Paxos) Request(op step.OpID, command step.Value) {
	p.waiting.Set(op, command.(int))
	if p.waiting.Len() == 1 { // otherwise the ballot under way answers this one too
		p.prepare()
	}
}

// tryAgain in a higher ballot: this one was refused, or messages were lost.
func (p *Paxos) tryAgain() {
	if p.waiting.Len() > 0 {
		p.prepare()
	}
}

// prepare is Phase1a: begin a ballot above all that I began or know of, also before a crash. §2.5.
func (p *Paxos) prepare() {
	p.ballot = Ballot{max(p.Disk.Round, p.roundSeen) + 1, p.Me}
	p.Disk.Round = p.ballot.Round
	p.Write(&p.Disk.Round)
	p.Sync()
	p.value = p.waiting.Values()[0]
	p.preparing = true
	p.promises = step.Ordered[step.NodeID, *Proposal]{}
	p.SetTimer(retry, patience)
	p.tellAll(Prepare{p.ballot})
}

// handlePrepare is Phase1b: promise to accept nothing below, and tell what is accepted already; or tell what was
// promised.
func (p *Paxos) handlePrepare(src step.NodeID, m Prepare) {
	promised := p.Holds(
		step.Check("prepare_above_promised", m.Ballot.compare(p.Disk.Promised) > 0), // phase 1 (b), §2.2
	)
	if !promised {
		p.tell(src, Nack{m.Ballot, p.Disk.Promised})
		return
	}
	p.Disk.Promised = m.Ballot
	p.Write(&p.Disk.Promised)
	p.Sync()
	p.tell(src, Promise{m.Ballot, p.Disk.Accepted})
}

// handlePromise counts the promises of this ballot.
func (p *Paxos) handlePromise(src step.NodeID, m Promise) {
	counted := p.Holds(
		step.Check("promise_of_my_ballot", m.Ballot == p.ballot), // phase 2 (a): "to its prepare requests (numbered n)"
		step.Check("still_preparing", p.preparing),               // Phase2a: no second 2a in a ballot
	)
	if counted {
		p.promises.Set(src, m.Accepted)
		p.propose()
	}
}

// -- Phase 2 (§2.2) ---------------------------------------------------------------------------------------------------

// propose is Phase2a: propose what the acceptors force me to, or else what I like.
func (p *Paxos) propose() {
	promised := p.Holds(
		step.Check("promised_by_majority", p.IsMajority(p.promises.Len())), // phase 2 (a), §2.2
	)
	if !promised {
		return
	}
	p.preparing = false
	value := p.value
	if accepted := highest(p.promises.Values()); accepted != nil {
		value = accepted.Value // P2c, §2.2
	}
	p.tellAll(Accept{p.ballot, value})
}

// handleAccept is Phase2b: accept, unless a higher ballot has the promise.
func (p *Paxos) handleAccept(src step.NodeID, m Accept) {
	accepted := p.Holds(
		step.Check("accept_not_below_promised", m.Ballot.compare(p.Disk.Promised) >= 0), // P1a; phase 2 (b), §2.2
	)
	if !accepted {
		p.tell(src, Nack{m.Ballot, p.Disk.Promised})
		return
	}
	p.Disk.Promised, p.Disk.Accepted = m.Ballot, &Proposal{m.Ballot, m.Value}
	p.Write(&p.Disk.Promised, &p.Disk.Accepted)
	p.Sync()
	p.tellAll(Accepted{m.Ballot, m.Value})
}

// handleNack abandons the ballot, "a good idea", §2.2, and leaves the rival alone for a while, §2.4.
func (p *Paxos) handleNack(m Nack) {
	overtaken := p.Holds(
		step.Check("nack_of_my_ballot", m.Ballot == p.ballot),
		step.Check("nack_above_my_ballot", m.Promised.compare(p.ballot) > 0), // or it answers a duplicate
	)
	if overtaken {
		p.preparing = false
		p.roundSeen = max(p.roundSeen, m.Promised.Round)
		p.SetTimer(retry, backoff)
	}
}

// -- Learning (§2.3) --------------------------------------------------------------------------------------------------

// handleAccepted: a value is chosen when a majority has accepted it in one ballot.
func (p *Paxos) handleAccepted(src step.NodeID, m Accepted) {
	if p.acceptedBy[m.Ballot] == nil {
		p.acceptedBy[m.Ballot] = map[step.NodeID]bool{}
	}
	p.acceptedBy[m.Ballot][src] = true
	chosen := p.Holds(
		step.Check("accepted_by_majority", p.IsMajority(len(p.acceptedBy[m.Ballot]))), // §2.2, §2.3
	)
	if chosen {
		p.learn(m.Value)
	}
}

func (p *Paxos) learn(value int) {
	if p.chosen == nil {
		p.chosen = &value
		p.Apply(1, value)
	}
	for _, op := range p.waiting.Keys() {
		p.Reply(op, value)
	}
	p.waiting = step.Ordered[step.OpID, int]{}
}

// Decision is the application: it remembers what was chosen.
type Decision struct {
	value int
}

func (d *Decision) Apply(command step.Value) any {
	d.value = command.(int)
	return d.value
}

func (d *Decision) Snapshot() step.Value     { return d.value }
func (d *Decision) Restore(state step.Value) { d.value = state.(int) }
