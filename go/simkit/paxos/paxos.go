// Package paxos judges runs of single-decree Paxos: what the nodes say to each other, and what must hold.
//
// Paper: L. Lamport, "Paxos Made Simple", 2001. § refers to it. Voting.tla and Consensus.tla are those of
// tlaplus/Examples.
package paxos

import (
	"cmp"
	"slices"
	"strings"

	"protosim/simkit"
)

// The messages, and what they hold (Paxos.tla).
type (
	Ballot struct {
		Round    int
		Proposer string
	}
	Proposal struct {
		Ballot Ballot
		Value  int
	}
	Prepare struct{ Ballot Ballot }
	Promise struct {
		Ballot   Ballot
		Accepted any // a Proposal, or nil
	}
	Accept struct {
		Ballot Ballot
		Value  int
	}
	Accepted struct {
		Ballot Ballot
		Value  int
	}
	Nack struct{ Ballot, Promised Ballot }
)

func (b Ballot) compare(other Ballot) int {
	return cmp.Or(cmp.Compare(b.Round, other.Round), cmp.Compare(b.Proposer, other.Proposer))
}

// Protocol is Paxos for one value.
var Protocol = simkit.Protocol{
	Name:     "paxos",
	Values:   []any{Ballot{}, Proposal{}, Prepare{}, Promise{}, Accept{}, Accepted{}, Nack{}},
	Fields:   map[string]any{"round": 0, "promised": Ballot{}, "accepted": nil},
	Workload: func(op int, bits uint64) any { return op }, // everybody proposes something else
	Watch:    func(f simkit.Facts) simkit.Observer { return newVoting(f) },
}

// voting is Voting.tla. A vote is a proposal that an acceptor has written to its disk; a value is chosen when a majority
// has voted for it in one ballot.
type voting struct {
	facts    simkit.Facts
	asked    map[any]bool      // by clients
	begun    map[Ballot]origin // by whom, in which of its lives
	life     map[string]int
	promised map[string]Ballot // the highest that the acceptor has told anyone
	proposed []Proposal        // in the order in which they were first issued
	votes    map[string][]Proposal
	chosen   *Proposal // in the lowest ballot
	learned  *int      // what was applied first
	answered *int      // what clients' answers rest on
	late     bool      // a client got an answer since the faults ended
	reached  map[string]bool
}

type origin struct {
	node string
	life int
}

func newVoting(f simkit.Facts) *voting {
	return &voting{
		facts:    f,
		asked:    map[any]bool{},
		begun:    map[Ballot]origin{},
		life:     map[string]int{},
		promised: map[string]Ballot{},
		votes:    map[string][]Proposal{},
		reached:  map[string]bool{},
	}
}

// See takes one more fact.
func (v *voting) See(fact any) error {
	switch x := fact.(type) {
	case simkit.Requested:
		v.asked[x.Command] = true
	case simkit.Sent:
		return v.sent(x.From, x.Message)
	case simkit.Wrote:
		for _, pair := range x.Pairs {
			if err := v.wrote(x.Node, pair.Name, x.Before.Fields[pair.Name]); err != nil {
				return err
			}
		}
	case simkit.Applied:
		return v.applied(x.Node, x.Command)
	case simkit.Replied:
		return v.replied(x)
	case simkit.Restarted:
		v.life[x.Node]++
		return v.restarted(x.Node)
	}
	return nil
}

func (v *voting) sent(node string, m any) error {
	switch m := m.(type) {
	case Prepare:
		return v.uniqueBallots(node, m.Ballot)
	case Promise:
		if known, ok := v.promised[node]; !ok || m.Ballot.compare(known) > 0 {
			v.promised[node] = m.Ballot
		}
	case Nack:
		v.reached["proposers_duelled"] = true
		if !v.isProposed(m.Ballot) {
			v.reached["prepare_refused"] = true
		}
		return v.refusalsAreTrue(node, m)
	case Accept:
		if err := v.sameAsChosen("p2b", node+" proposes", Proposal(m)); err != nil {
			return err
		}
		v.propose(Proposal(m))
	}
	return nil
}

// uniqueBallots: each ballot has its own number (§2.5).
func (v *voting) uniqueBallots(node string, ballot Ballot) error {
	now := origin{node, v.life[node]}
	if first, ok := v.begun[ballot]; ok && first != now {
		return simkit.Break("unique_ballots", "%s begins ballot %v, which %s has begun before", node, ballot, first.node)
	}
	v.begun[ballot] = now
	return nil
}

// refusalsAreTrue: a refusal tells the promise that forbids to do as asked (§2.2).
func (v *voting) refusalsAreTrue(node string, m Nack) error {
	promised := v.promisedBy(node)
	if m.Promised == promised && m.Ballot.compare(promised) <= 0 {
		return nil
	}
	return simkit.Break("refusals_are_true", "%s refuses ballot %v because of a promise to %v, but has promised %v",
		node, m.Ballot, m.Promised, promised)
}

func (v *voting) isProposed(ballot Ballot) bool {
	return slices.ContainsFunc(v.proposed, func(p Proposal) bool { return p.Ballot == ballot })
}

func (v *voting) propose(m Proposal) {
	for _, p := range v.proposed {
		if p.Ballot.compare(m.Ballot) < 0 && p.Value == m.Value {
			v.reached["value_adopted"] = true
		}
	}
	if !v.isProposed(m.Ballot) {
		v.proposed = append(v.proposed, m)
	}
}

// sameAsChosen: once a value is chosen, higher-numbered proposals have that value (P2a, P2b, §2.2).
func (v *voting) sameAsChosen(invariant, who string, p Proposal) error {
	if c := v.chosen; c != nil && p.Ballot.compare(c.Ballot) > 0 && p.Value != c.Value {
		return simkit.Break(invariant, "%s %d in ballot %v, but %d was chosen in %v", who, p.Value, p.Ballot, c.Value, c.Ballot)
	}
	return nil
}

func (v *voting) wrote(node, field string, before any) error {
	switch field {
	case "promised":
		if promised := v.promisedBy(node); promised.compare(before.(Ballot)) < 0 {
			return simkit.Break("promise_monotonicity", "%s goes back from %v to %v", node, before, promised)
		}
	case "accepted":
		return v.accepted(node, before)
	}
	return nil
}

// accepted: P1a, P2a, P2b, and the highest proposal that an acceptor remembers (§2.2).
func (v *voting) accepted(node string, before any) error {
	accepted, has := v.acceptedBy(v.facts.Written(node))
	if promised, known := v.promised[node]; has && known && accepted.Ballot.compare(promised) < 0 {
		return simkit.Break("p1a", "%s accepted %v after its promise to %v", node, accepted, promised)
	}
	if has {
		v.vote(node, accepted)
		if err := v.sameAsChosen("p2a", node+" accepted", accepted); err != nil {
			return err
		}
		for _, p := range v.proposed { // it may have been there before the value was chosen below it
			if err := v.sameAsChosen("p2b", "somebody proposed", p); err != nil {
				return err
			}
		}
	}
	if known, ok := before.(Proposal); ok && (!has || accepted.Ballot.compare(known.Ballot) < 0) {
		return simkit.Break("highest_accepted_kept", "%s forgets that it has accepted %v, for %v", node, known, accepted)
	}
	return nil
}

func (v *voting) vote(node string, vote Proposal) {
	again := slices.IndexFunc(v.votes[node], func(p Proposal) bool { return p.Ballot == vote.Ballot })
	if again >= 0 {
		v.votes[node][again] = vote
	} else {
		v.votes[node] = append(v.votes[node], vote)
	}
	v.choose(vote)
}

// choose the value, if a majority has voted for it.
func (v *voting) choose(vote Proposal) {
	voters := 0
	for _, node := range v.facts.Nodes() {
		if slices.Contains(v.votes[node], vote) {
			voters++
		}
	}
	if v.isMajority(voters) && (v.chosen == nil || vote.Ballot.compare(v.chosen.Ballot) < 0) {
		v.chosen = &vote
	}
}

// applied: Validity, Agreement, and nothing is learned that has not been chosen (§2.1).
func (v *voting) applied(node string, command any) error {
	value, ok := command.(int)
	switch {
	case !ok || !v.asked[command]:
		return simkit.Break("validity", "%s learned %v, which no client had proposed", node, command)
	case v.learned != nil && *v.learned != value:
		return simkit.Break("agreement", "%s learned %d, but %d has been learned before", node, value, *v.learned)
	case v.chosen == nil || v.chosen.Value != value:
		return simkit.Break("learned_only_chosen", "%s learned %d, which no majority has accepted in one ballot", node, value)
	}
	v.learned = &value
	return nil
}

// replied: what a client was told has been learned, and rests on the disks of a majority (§2.5).
func (v *voting) replied(x simkit.Replied) error {
	v.reached["client_answered"] = true
	v.late = v.late || v.facts.HealedAt() >= 0
	if v.chosen == nil {
		return simkit.Break("durability", "%s answered %v before anything was chosen", x.Node, x.Command)
	}
	v.answered = &v.chosen.Value
	if err := v.kept(x.Node + " answered its client"); err != nil {
		return err
	}
	if v.learned == nil || x.Result != any(*v.learned) {
		return simkit.Break("agreement", "%s answered %v, which is not what has been learned", x.Node, x.Result)
	}
	return nil
}

func (v *voting) restarted(node string) error {
	if promised, known := v.promised[node]; known && v.promisedBy(node).compare(promised) < 0 {
		return simkit.Break("promise_monotonicity", "%s promised %v, and after a restart knows only of %v",
			node, promised, v.promisedBy(node))
	}
	if v.forgetsVotes(node) && v.answered != nil {
		return v.kept(node + " lost what it accepted")
	}
	return nil
}

// forgetsVotes says whether a crash has undone votes. Nobody knew of them, and nothing was chosen by them either.
func (v *voting) forgetsVotes(node string) bool {
	votes := v.votes[node]
	last, has := v.acceptedBy(v.facts.Written(node))
	kept := len(votes)
	for kept > 0 && !(has && votes[kept-1].Ballot == last.Ballot) {
		kept--
	}
	if kept == len(votes) {
		return false
	}
	v.votes[node], v.chosen = votes[:kept], nil
	for _, each := range v.facts.Nodes() {
		for _, vote := range v.votes[each] {
			v.choose(vote)
		}
	}
	return true
}

func (v *voting) kept(event string) error {
	var holders []string
	for _, node := range v.facts.Nodes() {
		if accepted, has := v.acceptedBy(v.facts.Durable(node)); has && accepted.Value == *v.answered {
			holders = append(holders, node)
		}
	}
	if v.isMajority(len(holders)) {
		return nil
	}
	return simkit.Break("durability", "%s, and only the disks of %q hold %d", event, strings.Join(holders, " "), *v.answered)
}

// Progress: once the faults have ended, clients get answers (§2.4).
func (v *voting) Progress() error {
	if v.late {
		return nil
	}
	return simkit.Break("progress_after_heal",
		"no client got an answer between the healing of the faults and the end of the stated bound")
}

// Reached knows the goals of Paxos' recipes.
func (v *voting) Reached(goal string) bool { return v.reached[goal] }

func (v *voting) isMajority(nodes int) bool { return nodes > len(v.facts.Nodes())/2 }

func (v *voting) promisedBy(node string) Ballot {
	return v.facts.Written(node).Fields["promised"].(Ballot)
}

func (v *voting) acceptedBy(image simkit.Image) (Proposal, bool) {
	found, ok := image.Fields["accepted"].(Proposal)
	return found, ok
}
