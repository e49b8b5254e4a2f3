// Package pbft judges runs of PBFT: what replicas and clients say to each other, and what must hold while some replicas lie.
//
// Paper: M. Castro and B. Liskov, "Practical Byzantine Fault Tolerance", OSDI 1999. § refers to it.
package pbft

import (
	"cmp"

	"protosim/simkit"
	"protosim/step"
)

// The messages, and what they hold (§4).
type (
	Request struct {
		Command   simkit.Command
		Timestamp int
		simkit.Signed
	}
	Reply struct {
		View, Timestamp int
		Client          string
		Result          simkit.Number
		simkit.Signed
	}
	// Slot is what pre-prepares, prepares and commits must agree on to count together.
	Slot struct {
		View, Number int
		Digest       simkit.Digest
	}
	PrePrepare struct {
		Slot
		simkit.Signed
	}
	Proposal struct {
		PrePrepare PrePrepare
		Request    Request
	}
	Prepare struct {
		Slot
		simkit.Signed
	}
	Commit struct {
		Slot
		simkit.Signed
	}
	Checkpoint struct {
		Number int
		Digest simkit.Digest
		simkit.Signed
	}
	// Prepared is a certificate.
	Prepared struct {
		PrePrepare PrePrepare
		Prepares   []Prepare
	}
	ViewChange struct {
		View, Number int
		Proof        []Checkpoint
		Prepared     []Prepared
		simkit.Signed
	}
	NewView struct {
		View        int
		ViewChanges []ViewChange
		PrePrepares []PrePrepare
		simkit.Signed
	}
	State struct {
		Registers []Register
		Replies   []LastReply
	}
	Register = struct {
		Key   string
		Value int
	}
	LastReply = struct {
		Client    string
		Timestamp int
		Result    simkit.Number
	}
	Snapshot struct {
		Number int
		State  State
	}
	FetchState   struct{ Number int }
	FetchedState struct {
		Snapshot Snapshot
		Proof    []Checkpoint
	}
	FetchRequest   struct{ Digest simkit.Digest }
	FetchedRequest struct{ Request Request }
)

// Protocol is PBFT with its clients.
var Protocol = simkit.Protocol{
	Name: "pbft",
	Values: []any{
		Request{}, Reply{}, PrePrepare{}, Proposal{}, Prepare{}, Commit{}, Checkpoint{}, Prepared{}, ViewChange{}, NewView{},
		State{}, Snapshot{}, FetchState{}, FetchedState{}, FetchRequest{}, FetchedRequest{},
	},
	Fields: map[string]any{
		"view": 0, "new_view": (*NewView)(nil), "proof": []Checkpoint{}, "snapshots": []Snapshot{},
	},
	Logs:      map[string]any{"pre_prepares": PrePrepare{}, "prepared": Prepared{}, "requests": Request{}},
	Workload:  simkit.PutsAndGets,
	Registers: true,
	Watch:     func(f simkit.Facts) simkit.Observer { return NewSection4(f) },
	Handled: []any{
		Request{}, Proposal{}, Prepare{}, Commit{}, Checkpoint{}, ViewChange{}, NewView{},
		FetchState{}, FetchedState{}, FetchRequest{}, FetchedRequest{},
	},
	ForClients: []any{Reply{}},
	Liars:      MostLiars,
}

// MostLiars is f, of so many replicas.
func MostLiars(replicas int) int { return (replicas - 1) / 3 }

// DigestOf is D(x), of what the messages hold.
var DigestOf = step.Digests([]step.Value{
	simkit.Command{}, Request{}, PrePrepare{}, Prepare{}, Checkpoint{}, Prepared{}, ViewChange{}, NewView{}, State{},
	Snapshot{},
})

var null = DigestOf(nil) // of the null request, whose execution is a no-op: §4.4

// Section4 is what correct replicas and clients do, by what they send, store and execute. That so many correct replicas
// signed something proves a certificate possible if they are a quorum together with all liars, who may sign anything.
type Section4 struct {
	Facts    simkit.Facts
	Asked    map[int]simkit.Requested // by operation
	Executed map[string]int           // by replica: the last number
	Place    map[int]int              // where an operation was executed
	// Read says whether a correct replica has given this result without executing the operation; nil for never.
	Read func(op int, result any) bool

	executedAt  map[int]any // the request at a number; nil: the null request
	results     map[int]any // of what was executed, by operation
	states      map[int]simkit.Digest
	preparedAt  map[at]simkit.Digest
	agreed      map[agreement]simkit.Digest // by PRE-PREPARE or PREPARE
	offers      map[Slot]bool               // by correct primaries
	prepares    map[Slot][]string           // who agreed so
	commits     map[Slot][]string
	viewChanges map[int][]string // who asked for a view
	certain     map[int][]Slot   // may be committed-local somewhere, by number
	proposed    map[int][]Slot   // a correct replica agreed to it
	shown       map[string]map[int]int
	left        map[string]int  // the latest view in which a replica was, or for which it has asked
	highest     int             // of these
	answered    map[string]bool // clients, since the healing
	reached     map[string]bool
}

type (
	at        struct{ view, number int }
	agreement struct {
		node string
		at
	}
)

// NewSection4 watches a run.
func NewSection4(f simkit.Facts) *Section4 {
	return &Section4{
		Facts:       f,
		Asked:       map[int]simkit.Requested{},
		Executed:    map[string]int{},
		Place:       map[int]int{},
		executedAt:  map[int]any{},
		results:     map[int]any{},
		states:      map[int]simkit.Digest{},
		preparedAt:  map[at]simkit.Digest{},
		agreed:      map[agreement]simkit.Digest{},
		offers:      map[Slot]bool{},
		prepares:    map[Slot][]string{},
		commits:     map[Slot][]string{},
		viewChanges: map[int][]string{},
		certain:     map[int][]Slot{},
		proposed:    map[int][]Slot{},
		shown:       map[string]map[int]int{},
		left:        map[string]int{},
		answered:    map[string]bool{},
		reached:     map[string]bool{},
	}
}

// See takes one more fact.
func (s *Section4) See(fact any) error {
	switch x := fact.(type) {
	case simkit.Requested:
		s.Asked[x.Op] = x
	case simkit.Restarted:
		s.Executed[x.Node] = 0 // the service is volatile
	case simkit.Applied:
		s.reached["request_executed"] = s.reached["request_executed"] || x.Command != nil
		return cmp.Or(s.agreement(x), s.order(x), s.validity(x), s.integrity(x), s.committedByQuorum(x))
	case simkit.Restored:
		return cmp.Or(s.stateGoesForward(x), s.sameState(x))
	case simkit.Replied:
		s.reached["client_answered"] = true
		s.answered[x.Node] = s.answered[x.Node] || s.Facts.HealedAt() >= 0
		return s.resultsAreTrue(x)
	case simkit.Stored:
		if x.Log == "prepared" {
			return s.certificates(x)
		}
	case simkit.Wrote:
		return s.wrote(x)
	case simkit.Sent:
		return s.sent(x.From, x.Message)
	}
	return nil
}

func (s *Section4) sent(node string, message any) error {
	switch m := message.(type) {
	case Checkpoint:
		return s.checkpointAgreement(node, m)
	case Proposal:
		return s.agrees(node, true, m.PrePrepare)
	case NewView:
		return s.agrees(node, true, m.PrePrepares...)
	case Prepare:
		err := cmp.Or(s.agrees(node, false, PrePrepare(m)), s.proposedByThePrimary(node, m))
		return cmp.Or(err, s.leftViewsStayLeft(node, m.Signed, m.Slot))
	case Commit:
		return cmp.Or(s.commitsOnce(node, m), s.leftViewsStayLeft(node, m.Signed, m.Slot))
	case ViewChange:
		return cmp.Or(s.viewChangeShowsAll(node, m), s.viewsFollow(node, m))
	}
	return nil
}

func (s *Section4) wrote(x simkit.Wrote) error {
	var all []error
	for _, pair := range x.Pairs {
		switch content := pair.Content.(type) {
		case []Checkpoint:
			all = append(all, s.stableByQuorum(x.Node, content))
		case *NewView:
			s.reached["view_changed"] = true
			all = append(all, s.newViewByQuorum(x.Node, content), s.newViewIsComplete(x.Node, content))
		}
	}
	return cmp.Or(all...)
}

func (s *Section4) quorum() int { return 2*MostLiars(len(s.Facts.Nodes())) + 1 }

func (s *Section4) canBeQuorum(correct []string) bool {
	return len(correct)+len(s.Facts.Liars()) >= s.quorum()
}

func (s *Section4) primaryOf(view int) string {
	replicas := s.Facts.Nodes()
	return replicas[(view%len(replicas)+len(replicas))%len(replicas)]
}

// -- Execution --------------------------------------------------------------------------------------------------------

// agreement: correct replicas execute the same request at each sequence number (§4.2, committed-local).
func (s *Section4) agreement(x simkit.Applied) error {
	first, known := s.executedAt[x.Index]
	if known && first != x.Command {
		return simkit.Break("agreement", "%s executed %v as number %d, where %v was executed", x.Node, x.Command, x.Index, first)
	}
	s.executedAt[x.Index] = x.Command
	return nil
}

// order: replicas execute requests in the order of their sequence numbers (§4.2).
func (s *Section4) order(x simkit.Applied) error {
	before := s.Executed[x.Node]
	s.Executed[x.Node] = x.Index
	if x.Index != before+1 {
		return simkit.Break("order_of_execution", "%s executed number %d right after number %d", x.Node, x.Index, before)
	}
	return nil
}

func (s *Section4) stateGoesForward(x simkit.Restored) error {
	before := s.Executed[x.Node]
	s.Executed[x.Node] = x.Index
	if x.Index <= before {
		return simkit.Break("order_of_execution", "%s took over the state of number %d after it had executed %d",
			x.Node, x.Index, before)
	}
	return nil
}

// validity: what is executed was asked for by its client (§4.1).
func (s *Section4) validity(x simkit.Applied) error {
	if x.Command == nil {
		return nil
	}
	m, isRequest := x.Command.(Request)
	asked := s.Asked[m.Timestamp]
	if !isRequest || asked.Node != m.Signer || asked.Command != any(m.Command) {
		return simkit.Break("validity", "%s executed %v, which %.40s never asked for", x.Node, x.Command, m.Signer)
	}
	return nil
}

// integrity: no request is executed twice (§4.1, exactly-once semantics).
func (s *Section4) integrity(x simkit.Applied) error {
	m, isRequest := x.Command.(Request)
	if !isRequest {
		return nil
	}
	first, known := s.Place[m.Timestamp]
	if known && first != x.Index {
		return simkit.Break("integrity", "%s executed %v as number %d, and it is number %d", x.Node, m, x.Index, first)
	}
	if !known {
		s.Place[m.Timestamp], s.results[m.Timestamp] = x.Index, x.Result
	}
	return nil
}

// resultsAreTrue: a client accepts a result that a correct replica got by executing its request (§4.1).
func (s *Section4) resultsAreTrue(x simkit.Replied) error {
	const name = "results_are_true"
	if s.Read != nil && s.Read(x.Op, x.Result) {
		return nil
	}
	result, known := s.results[x.Op]
	if !known {
		return simkit.Break(name, "%s accepted %v for %v, which no correct replica has executed", x.Node, x.Result, x.Command)
	}
	if result != x.Result {
		return simkit.Break(name, "%s accepted %v for %v, whose result is %v", x.Node, x.Result, x.Command, result)
	}
	return nil
}

// committedByQuorum: what is executed is committed by 2f + 1 replicas (§4.2, committed-local).
func (s *Section4) committedByQuorum(x simkit.Applied) error {
	if _, isRequest := x.Command.(Request); !isRequest && x.Command != nil {
		return nil // validity knows what to say
	}
	digest := DigestOf(x.Command)
	for _, slot := range s.certain[x.Index] {
		if slot.Digest == digest || x.Command == nil {
			return nil
		}
	}
	return simkit.Break("committed_by_quorum", "%s executed %v as number %d, and that cannot be committed yet",
		x.Node, x.Command, x.Index)
}

// -- At the end -------------------------------------------------------------------------------------------------------

// Progress: once the faults have ended, each client gets answers, whatever the liars do (§4.5.2).
func (s *Section4) Progress() error {
	for _, client := range s.Facts.Clients() {
		if !s.answered[client] {
			return simkit.Break("progress_after_heal",
				"%s got no answer between the healing of the faults and the end of the stated bound", client)
		}
	}
	return nil
}

// Reached knows the goals of PBFT's recipes.
func (s *Section4) Reached(goal string) bool { return s.reached[goal] }
