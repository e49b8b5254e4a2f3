// Package twophasecommit is two-phase commit with presumed abort: every participant of a transaction commits it, or
// none does.
//
// The book is P. Bernstein, V. Hadzilacos and N. Goodman, "Concurrency Control and Recovery in Database Systems", 1987,
// chapter 7 (BHG): AC1 to AC5 are in §7.3; the protocol, whose steps are 1 to 4, and its termination in §7.4. The paper
// is C. Mohan, B. Lindsay and R. Obermarck, "Transaction Management in the R* Distributed Database Management System",
// ACM TODS 11(4), 1986: presumed abort, PA. A handler names the action of TwoPhase.tla (tlaplus/Examples) that it
// refines.
//
// Every node holds some keys and is a participant of the transactions that write these. The node that a client asks
// coordinates: one vote at a time, and any number of commits that wait for acknowledgements. Its own participant hears
// from it as the others do. There are no read-only votes, no trees of coordinators, and no log compaction. Nodes crash
// and recover with a durable log; messages may be lost, duplicated, delayed and reordered. Safety needs no bound on
// delays. While a coordinator is down, participants that voted yes may have to wait for it: 2PC blocks.
//
// Reading order: messages, state, recovery, the coordinator, the participant. Each Check is one that the book demands.
package twophasecommit

import (
	"cmp"
	"slices"

	"protosim/step"
)

// Protocol is what a host needs to know.
var Protocol = step.Protocol{
	Name:   "two_phase_commit",
	Values: []step.Value{Transaction{}, Record{}, Prepare{}, Vote{}, Decision{}, Ack{}, Inquire{}},
	New:    func() step.Machine { return new(TwoPhaseCommit) },
}

type (
	Xid = step.OpID // a transaction has the number of the client's operation; 0 is no transaction's
	Key int         // from 1; each is held by one node, in turn
)

const (
	resend  step.Timer = "resend"
	inquire step.Timer = "inquire"
)

var (
	resendInterval  = step.Range{60 * step.MS, 80 * step.MS}
	inquireInterval = step.Range{80 * step.MS, 120 * step.MS}
)

// Votes. A participant that says wait has not voted: another transaction holds a key, and it wants to be asked again.
const (
	yes  = "yes"
	no   = "no"
	wait = "wait"
)

// Decisions.
const (
	commit = "commit"
	abort  = "abort"
)

// Records: of a coordinator, commit and end; of a participant, the others.
const (
	end       = "end"
	prepared  = "prepared"
	committed = "committed"
	aborted   = "aborted"
)

// -- Messages ---------------------------------------------------------------------------------------------------------

// Transaction is what a client asks for: to write these keys, at all of their holders or at none.
type Transaction struct {
	Keys    []Key
	Refused Key // whose holder finds that it cannot commit this; 0 if none does
}

// Prepare is VOTE-REQ in BHG.
type Prepare struct {
	Xid         Xid
	Transaction Transaction
}

type Vote struct {
	Xid    Xid
	Ballot string
}

type Decision struct {
	Xid      Xid
	Decision string
}

// Ack says that the commit is durable at this participant: it will never ask about the transaction again. PA.
type Ack struct {
	Xid Xid
}

// Inquire is DECISION-REQ in BHG.
type Inquire struct {
	Xid         Xid
	Coordinator step.NodeID // whom the asker voted for: is it you?
}

// -- State ------------------------------------------------------------------------------------------------------------

// Record is an entry of the log.
type Record struct {
	Kind        string
	Xid         Xid
	Transaction Transaction // of commit and prepared
	Coordinator step.NodeID // of prepared
}

type Disk struct {
	Log step.Log[Record] // the DT log, for both roles
}

type Switches struct {
	Cooperative bool // a participant in doubt asks the others too, BHG §7.4
	Patience    int  // after so many intervals a missing vote counts as no
}

type TwoPhaseCommit struct {
	step.Node[Disk, Switches]

	// As the coordinator:
	voting         Xid           // whose votes come in; 0: no vote goes on
	transaction    Transaction   // of voting
	asked          []step.NodeID // its participants
	votes          map[step.NodeID]string
	waited         int                              // intervals, for votes
	unacknowledged step.Ordered[Xid, []step.NodeID] // commits, and who has not acknowledged them

	// As a participant:
	inDoubt  step.Ordered[Xid, Record] // prepared, and the decision is unknown
	outcomes map[Xid]string            // committed or aborted
}

// Start is a restart.
func (c *TwoPhaseCommit) Start() {
	c.forgetVote()
	c.recover()
}

func (c *TwoPhaseCommit) forgetVote() {
	c.voting, c.transaction, c.asked = 0, Transaction{}, nil
	c.votes, c.waited = map[step.NodeID]string{}, 0
}

// recover knows what the log says. A vote that was going on left no record there: it is aborted. PA.
func (c *TwoPhaseCommit) recover() {
	c.outcomes = map[Xid]string{}
	for i := range c.Disk.Log.Len() {
		record := c.Disk.Log.At(i)
		switch record.Kind {
		case commit:
			c.unacknowledged.Set(record.Xid, c.holders(record.Transaction.Keys))
		case end:
			c.unacknowledged.Delete(record.Xid)
		case prepared:
			c.inDoubt.Set(record.Xid, record)
		default:
			c.inDoubt.Delete(record.Xid)
			c.outcomes[record.Xid] = record.Kind
		}
	}
	if c.unacknowledged.Len() > 0 {
		c.SetTimer(resend, resendInterval)
	}
	if c.inDoubt.Len() > 0 {
		c.SetTimer(inquire, inquireInterval)
	}
}

func (c *TwoPhaseCommit) Receive(src step.NodeID, m step.Value) {
	switch m := m.(type) {
	case Prepare:
		c.handlePrepare(src, m)
	case Vote:
		c.recordVote(src, m)
	case Decision:
		c.handleDecision(src, m)
	case Ack:
		c.handleAck(src, m)
	case Inquire:
		c.handleInquire(src, m)
	}
}

func (c *TwoPhaseCommit) Timeout(t step.Timer) {
	switch t {
	case resend:
		c.resend()
	case inquire:
		c.inquire()
	}
}

// holders are the nodes that hold these keys, each once.
func (c *TwoPhaseCommit) holders(keys []Key) (found []step.NodeID) {
	nodes := append([]step.NodeID{c.Me}, c.Peers...)
	slices.SortFunc(nodes, func(a, b step.NodeID) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, key := range keys {
		if node := nodes[int(key-1)%len(nodes)]; !slices.Contains(found, node) {
			found = append(found, node)
		}
	}
	return found
}

// -- The coordinator --------------------------------------------------------------------------------------------------

// Request is step 1: ask all participants for their votes.
func (c *TwoPhaseCommit) Request(op step.OpID, command step.Value) {
	if c.voting != 0 {
		c.Refuse(op)
		return
	}
	c.voting, c.transaction = op, command.(Transaction)
	c.asked = c.holders(c.transaction.Keys)
	for _, participant := range c.asked {
		c.Send(participant, Prepare{c.voting, c.transaction})
	}
	if c.unacknowledged.Len() == 0 { // or else it is set, and must not be put off
		c.SetTimer(resend, resendInterval)
	}
}

// recordVote is TMRcvPrepared. Step 3. Nothing gets into votes but the votes of participants on this transaction.
func (c *TwoPhaseCommit) recordVote(src step.NodeID, m Vote) {
	counted := c.Holds(
		step.Check("vote_on_this_transaction", m.Xid == c.voting),
		step.Check("voter_is_participant", slices.Contains(c.asked, src)),
		step.Check("vote_is_yes_or_no", m.Ballot == yes || m.Ballot == no),
		step.Check("vote_is_not_changed", c.votes[src] == "" || c.votes[src] == m.Ballot),
	)
	if counted {
		c.votes[src] = m.Ballot
		c.tryDecide()
	}
}

// tryDecide is TMCommit, TMAbort. Step 3: commit if all participants voted yes, abort if one voted no.
func (c *TwoPhaseCommit) tryDecide() {
	unanimous := c.Holds(
		step.Check("all_have_voted", len(c.votes) == len(c.asked)), // AC3
		step.Check("nobody_voted_no", !c.somebodyVoted(no)),        // AC3
	)
	if unanimous {
		c.Disk.Log.Append(Record{Kind: commit, Xid: c.voting, Transaction: c.transaction})
		c.Sync() // this commits it; the decision is sent and answered after that
		c.unacknowledged.Set(c.voting, slices.Clone(c.asked))
		c.conclude(commit)
	} else if c.somebodyVoted(no) {
		c.conclude(abort)
	}
}

func (c *TwoPhaseCommit) somebodyVoted(what string) bool {
	for _, ballot := range c.votes {
		if ballot == what {
			return true
		}
	}
	return false
}

// conclude forgets an abort at once: who asks later is told so because there is no record. PA.
func (c *TwoPhaseCommit) conclude(decision string) {
	c.Reply(c.voting, decision)
	for _, participant := range c.asked {
		c.Send(participant, Decision{c.voting, decision})
	}
	c.forgetVote()
}

// resend to whoever has not answered. TMAbort: a vote that does not come counts as no in the end, step 3.
func (c *TwoPhaseCommit) resend() {
	if c.voting != 0 {
		c.waited++
	}
	if c.waited >= c.Switches.Patience {
		c.conclude(abort)
	}
	for _, participant := range c.asked {
		if _, voted := c.votes[participant]; !voted {
			c.Send(participant, Prepare{c.voting, c.transaction})
		}
	}
	for _, xid := range c.unacknowledged.Keys() {
		for _, participant := range c.unacknowledged.At(xid) {
			c.Send(participant, Decision{xid, commit})
		}
	}
	if c.voting != 0 || c.unacknowledged.Len() > 0 {
		c.SetTimer(resend, resendInterval)
	}
}

// handleAck: a commit that all have acknowledged may be forgotten; the record of that needs no sync. PA.
func (c *TwoPhaseCommit) handleAck(src step.NodeID, m Ack) {
	place := slices.Index(c.unacknowledged.At(m.Xid), src)
	awaited := c.Holds(
		step.Check("ack_is_awaited", place >= 0),
	)
	if !awaited {
		return
	}
	waiting := slices.Delete(c.unacknowledged.At(m.Xid), place, place+1)
	c.unacknowledged.Set(m.Xid, waiting)
	ended := c.Holds(
		step.Check("all_have_acknowledged", len(waiting) == 0),
	)
	if ended {
		c.unacknowledged.Delete(m.Xid)
		c.Disk.Log.Append(Record{Kind: end, Xid: m.Xid})
	}
}

// -- The participant --------------------------------------------------------------------------------------------------

// handlePrepare is RMPrepare, RMChooseToAbort. Step 2.
func (c *TwoPhaseCommit) handlePrepare(src step.NodeID, m Prepare) {
	keys := c.heldHere(m.Transaction)
	willing := c.Holds(
		step.Check("not_aborted_before", c.outcomes[m.Xid] != aborted), // AC2
		step.Check("not_refused_here", !slices.Contains(keys, m.Transaction.Refused)),
	)
	if !willing {
		c.abortAlone(m.Xid)
		c.Send(src, Vote{m.Xid, no})
		return
	}
	if c.inDoubt.Has(m.Xid) || c.outcomes[m.Xid] != "" {
		c.Send(src, Vote{m.Xid, yes}) // as before
		return
	}
	free := c.Holds(
		step.Check("keys_are_free", c.areFree(keys)),
	)
	if !free {
		c.Send(src, Vote{m.Xid, wait})
		return
	}
	record := Record{prepared, m.Xid, m.Transaction, src}
	c.Disk.Log.Append(record)
	c.Sync()                  // before the vote
	if c.inDoubt.Len() == 0 { // or else it is set, and must not be put off
		c.SetTimer(inquire, inquireInterval)
	}
	c.inDoubt.Set(m.Xid, record)
	c.Send(src, Vote{m.Xid, yes})
}

// heldHere are those of the transaction's keys that this node holds.
func (c *TwoPhaseCommit) heldHere(transaction Transaction) (keys []Key) {
	for _, key := range transaction.Keys {
		if slices.Contains(c.holders([]Key{key}), c.Me) {
			keys = append(keys, key)
		}
	}
	return keys
}

// areFree says whether no transaction in doubt writes any of these.
func (c *TwoPhaseCommit) areFree(keys []Key) bool {
	for _, record := range c.inDoubt.Values() {
		for _, key := range keys {
			if slices.Contains(record.Transaction.Keys, key) {
				return false
			}
		}
	}
	return true
}

// abortAlone is for who has not voted yes. It may still be asked for its vote, and must know then.
func (c *TwoPhaseCommit) abortAlone(xid Xid) {
	if c.outcomes[xid] == "" {
		c.Disk.Log.Append(Record{Kind: aborted, Xid: xid})
		c.Sync()
		c.outcomes[xid] = aborted
	}
}

// handleDecision is RMRcvCommitMsg, RMRcvAbortMsg. Step 4. A commit that comes again is acknowledged again.
func (c *TwoPhaseCommit) handleDecision(src step.NodeID, m Decision) {
	awaited := c.Holds(
		step.Check("decision_is_awaited", c.inDoubt.Has(m.Xid)),
	)
	if awaited {
		c.inDoubt.Delete(m.Xid)
		c.outcomes[m.Xid] = aborted
		if m.Decision == commit {
			c.outcomes[m.Xid] = committed
		}
		c.Disk.Log.Append(Record{Kind: c.outcomes[m.Xid], Xid: m.Xid})
		if m.Decision == commit {
			c.Sync() // before it is acknowledged; an abort that is lost will be asked for again. PA
		}
	}
	if m.Decision == commit {
		c.Send(src, Ack{m.Xid})
	}
}

// -- The participant in doubt: termination (BHG §7.4) -----------------------------------------------------------------

// inquire of the coordinator; cooperative termination asks the other participants too.
func (c *TwoPhaseCommit) inquire() {
	for _, record := range c.inDoubt.Values() {
		asked := []step.NodeID{record.Coordinator}
		if c.Switches.Cooperative {
			asked = append(asked, c.holders(record.Transaction.Keys)...)
		}
		for i, node := range asked {
			again := slices.Contains(asked[:i], node)
			if !again && (node == record.Coordinator || node != c.Me) {
				c.Send(node, Inquire{record.Xid, record.Coordinator})
			}
		}
	}
	if c.inDoubt.Len() > 0 {
		c.SetTimer(inquire, inquireInterval)
	}
}

func (c *TwoPhaseCommit) handleInquire(src step.NodeID, m Inquire) {
	decision := ""
	if m.Coordinator == c.Me {
		decision = c.decided(m.Xid)
	} else {
		decision = c.learned(m.Xid)
	}
	if decision != "" {
		c.Send(src, Decision{m.Xid, decision})
	}
}

// decided by the coordinator: nothing while votes come in; and abort, unless a record says commit. PA.
func (c *TwoPhaseCommit) decided(xid Xid) string {
	switch {
	case xid == c.voting:
		return ""
	case c.unacknowledged.Has(xid):
		return commit
	default:
		return abort
	}
}

// learned by another participant: nothing where it is in doubt too. If it has not voted, it aborts now.
func (c *TwoPhaseCommit) learned(xid Xid) string {
	certain := c.Holds(
		step.Check("is_certain", !c.inDoubt.Has(xid)),
	)
	if !certain {
		return ""
	}
	c.abortAlone(xid)
	if c.outcomes[xid] == committed {
		return commit
	}
	return abort
}
