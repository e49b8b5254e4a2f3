// Package pbft judges runs of PBFT: what replicas and clients say to each other, and what must hold while some replicas lie.
//
// Paper: M. Castro and B. Liskov, "Practical Byzantine Fault Tolerance", OSDI 1999. § refers to it.
package pbft

import (
	"cmp"
	"slices"

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
	simkit.Command{}, Request{}, PrePrepare{}, Prepare{}, Checkpoint{}, Prepared{}, ViewChange{}, NewView{}, State{}, Snapshot{},
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
		return cmp.Or(s.agrees(node, false, PrePrepare(m)), s.proposedByThePrimary(node, m), s.leftViewsStayLeft(node, m.Signed, m.Slot))
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

// -- Checkpoints ------------------------------------------------------------------------------------------------------

// checkpointAgreement: correct replicas have the same state at the same sequence number (§4.3).
func (s *Section4) checkpointAgreement(node string, m Checkpoint) error {
	if m.Signer != node || s.isState(m.Number, m.Digest) {
		return nil
	}
	return simkit.Break("checkpoint_agreement", "%s has another state at checkpoint %d than others have", node, m.Number)
}

func (s *Section4) sameState(x simkit.Restored) error {
	if state, isState := x.State.(State); isState && s.isState(x.Index, DigestOf(state)) {
		return nil
	}
	return simkit.Break("checkpoint_agreement", "%s took over another state for checkpoint %d than others have", x.Node, x.Index)
}

func (s *Section4) isState(number int, digest simkit.Digest) bool {
	if known, ok := s.states[number]; ok {
		return known == digest
	}
	s.states[number] = digest
	return true
}

// stableByQuorum: a stable checkpoint has the signatures of 2f + 1 replicas (§4.3).
func (s *Section4) stableByQuorum(node string, proof []Checkpoint) error {
	s.reached["checkpoint_stable"] = s.reached["checkpoint_stable"] || len(proof) > 0
	if len(proof) == 0 || s.provesStable(proof, proof[0].Number) {
		return nil
	}
	return simkit.Break("stable_by_quorum", "%s takes checkpoint %d for stable, and %v proves nothing", node, proof[0].Number, proof)
}

// provesStable says whether it has the signatures of 2f + 1 replicas for one state, and nothing else; or none is needed.
func (s *Section4) provesStable(proof []Checkpoint, number int) bool {
	if len(proof) == 0 {
		return number == 0
	}
	signers := map[string]bool{}
	for _, m := range proof {
		if !m.Valid || m.Number != number || m.Digest != proof[0].Digest {
			return false
		}
		signers[m.Signer] = true
	}
	return len(signers) >= s.quorum()
}

// -- Three phases -----------------------------------------------------------------------------------------------------

// certificates: one has the signatures of 2f + 1 replicas, and no two correct replicas prepare different requests in one
// view and sequence number (§4.2, prepared).
func (s *Section4) certificates(x simkit.Stored) error {
	for _, each := range x.Added {
		c := each.(Prepared)
		p := at{c.PrePrepare.View, c.PrePrepare.Number}
		if digest, known := s.preparedAt[p]; known && digest != c.PrePrepare.Digest {
			return simkit.Break("prepared_agreement", "%s prepared another digest in view %d and number %d than others",
				x.Node, p.view, p.number)
		}
		s.preparedAt[p] = c.PrePrepare.Digest
		if !s.provesPrepared(c) {
			return simkit.Break("prepared_by_quorum", "%s stores %+v, which proves nothing", x.Node, c)
		}
	}
	return nil
}

// provesPrepared says whether it has the signatures of the primary and of 2f backups, and nothing else.
func (s *Section4) provesPrepared(c Prepared) bool {
	primary := s.primaryOf(c.PrePrepare.View)
	signers := map[string]bool{primary: true}
	for _, m := range c.Prepares {
		if !m.Valid || m.Slot != c.PrePrepare.Slot {
			return false
		}
		signers[m.Signer] = true
	}
	return c.PrePrepare.Valid && c.PrePrepare.Signer == primary && len(signers) >= s.quorum()
}

// agrees is a primary by its pre-prepares, or a backup by its prepare.
func (s *Section4) agrees(node string, offers bool, votes ...PrePrepare) error {
	for _, vote := range votes {
		if vote.Signer != node {
			continue
		}
		if offers {
			s.offers[vote.Slot] = true
		}
		if err := cmp.Or(s.oneDigestInView(node, vote.Slot), s.laterViewsAgree(node, vote.Slot)); err != nil {
			return err
		}
	}
	return nil
}

// oneDigestInView: a correct replica agrees to one digest in a view and sequence number (§4.2).
func (s *Section4) oneDigestInView(node string, slot Slot) error {
	which := agreement{node, at{slot.View, slot.Number}}
	if digest, known := s.agreed[which]; known && digest != slot.Digest {
		return simkit.Break("one_digest_in_view", "%s agreed to two digests in view %d and number %d", node, slot.View, slot.Number)
	}
	s.agreed[which] = slot.Digest
	return nil
}

// laterViewsAgree: what may be committed-local in a view is what correct replicas agree to in every later one (§4.4;
// §4.5.1, across views).
func (s *Section4) laterViewsAgree(node string, slot Slot) error {
	if slices.Contains(s.prepares[slot], node) {
		return nil
	}
	s.prepares[slot] = append(s.prepares[slot], node)
	if !slices.Contains(s.proposed[slot.Number], slot) {
		s.proposed[slot.Number] = append(s.proposed[slot.Number], slot)
	}
	for _, certain := range s.certain[slot.Number] {
		if certain.View < slot.View && certain.Digest != slot.Digest {
			return simkit.Break("agreement_across_views",
				"%s agrees to a digest for number %d in view %d, and another may be committed in view %d",
				node, slot.Number, slot.View, certain.View)
		}
	}
	return nil
}

func (s *Section4) commitsOnce(node string, m Commit) error {
	if m.Signer != node || slices.Contains(s.commits[m.Slot], node) {
		return nil
	}
	s.commits[m.Slot] = append(s.commits[m.Slot], node)
	if s.shown[node] == nil {
		s.shown[node] = map[int]int{}
	}
	s.shown[node][m.Number] = m.View
	if slices.Contains(s.certain[m.Number], m.Slot) || !s.canBeQuorum(s.commits[m.Slot]) {
		return nil
	}
	s.certain[m.Number] = append(s.certain[m.Number], m.Slot)
	for _, later := range s.proposed[m.Number] {
		if later.View > m.View && later.Digest != m.Digest {
			return simkit.Break("agreement_across_views", "number %d may be committed in view %d, and had another digest in view %d",
				m.Number, m.View, later.View)
		}
	}
	return nil
}

// proposedByThePrimary: a backup agrees to what the primary has proposed (§4.2, pre-prepare).
func (s *Section4) proposedByThePrimary(node string, m Prepare) error {
	primary := s.primaryOf(m.View)
	if slices.Contains(s.Facts.Liars(), primary) || s.offers[m.Slot] {
		return nil
	}
	return simkit.Break("proposed_by_the_primary", "%s agrees to number %d in view %d, which %s never proposed so",
		node, m.Number, m.View, primary)
}

// leftViewsStayLeft: who has asked for a view, or agreed in it, agrees to nothing in earlier ones (§4.2, §4.4).
func (s *Section4) leftViewsStayLeft(node string, by simkit.Signed, slot Slot) error {
	if by.Signer != node {
		return nil
	}
	before := s.left[node]
	s.left[node] = max(before, slot.View)
	if slot.View < before {
		return simkit.Break("left_views_stay_left", "%s agrees in view %d, and was in view %d, or has asked for it",
			node, slot.View, before)
	}
	return nil
}

// -- View changes -----------------------------------------------------------------------------------------------------

// viewChangeShowsAll: it shows all that the replica has committed since its stable checkpoint (§4.4, P).
func (s *Section4) viewChangeShowsAll(node string, m ViewChange) error {
	if m.Signer != node {
		return nil
	}
	if !slices.Contains(s.viewChanges[m.View], node) {
		s.viewChanges[m.View] = append(s.viewChanges[m.View], node)
	}
	s.left[node] = max(s.left[node], m.View)
	shown := map[int]int{}
	for _, c := range m.Prepared {
		shown[c.PrePrepare.Number] = c.PrePrepare.View
	}
	for _, number := range simkit.SortedKeys(s.shown[node]) {
		view, isShown := shown[number]
		if committed := s.shown[node][number]; number > m.Number && (!isShown || view < committed) {
			return simkit.Break("view_change_shows_all", "%s asks for view %d and does not show number %d, committed in view %d",
				node, m.View, number, committed)
		}
	}
	return nil
}

// viewsFollow: faulty replicas alone cannot make a correct one change views (§4.5.2).
func (s *Section4) viewsFollow(node string, m ViewChange) error {
	before := s.highest
	if m.Signer == node {
		s.highest = max(before, m.View)
	}
	if s.highest > before+1 {
		return simkit.Break("views_follow_correct_replicas", "%s asks for view %d, and nobody is beyond %d", node, m.View, before)
	}
	return nil
}

// newViewByQuorum: a new view begins when 2f + 1 replicas ask for it, by its primary (§4.4).
func (s *Section4) newViewByQuorum(node string, m *NewView) error {
	const name = "new_view_by_quorum"
	if m == nil {
		return simkit.Break(name, "%s forgets the view that it has entered", node)
	}
	if asking := s.viewChanges[m.View]; !s.canBeQuorum(asking) {
		return simkit.Break(name, "%s enters view %d, which only %q asked for", node, m.View, asking)
	}
	for _, x := range m.ViewChanges {
		if x.View != m.View || !s.provesViewChange(x) {
			return simkit.Break(name, "%s enters view %d by %+v, which proves nothing", node, m.View, x)
		}
	}
	if !m.Valid || m.Signer != s.primaryOf(m.View) {
		return simkit.Break(name, "%s enters view %d, and its primary never began it", node, m.View)
	}
	return nil
}

func (s *Section4) provesViewChange(m ViewChange) bool {
	for _, c := range m.Prepared {
		if c.PrePrepare.Number <= m.Number || c.PrePrepare.View >= m.View || !s.provesPrepared(c) {
			return false
		}
	}
	return m.Valid && s.provesStable(m.Proof, m.Number)
}

// newViewIsComplete: it carries over what its view changes show (§4.4, O).
func (s *Section4) newViewIsComplete(node string, m *NewView) error {
	const name = "new_view_is_complete"
	if m == nil {
		return nil
	}
	latest, last, stable := map[int]Slot{}, 0, 0
	for _, x := range m.ViewChanges {
		stable = max(stable, x.Number)
		for _, c := range x.Prepared {
			p := c.PrePrepare.Slot
			if known, ok := latest[p.Number]; !ok || cmp.Or(known.View-p.View, cmp.Compare(known.Digest, p.Digest)) < 0 {
				latest[p.Number] = p
			}
			last = max(last, p.Number)
		}
	}
	for _, p := range m.PrePrepares {
		shown, ok := latest[p.Number]
		if !ok {
			shown.Digest = null
		}
		if p.Digest != shown.Digest {
			return simkit.Break(name, "%s enters view %d with another digest for number %d than its view changes show",
				node, m.View, p.Number)
		}
	}
	if proof := s.Facts.Written(node).Fields["proof"].([]Checkpoint); stable > 0 && (len(proof) == 0 || stable > proof[0].Number) {
		return simkit.Break(name, "%s enters view %d without checkpoint %d, which a view change shows", node, m.View, stable)
	}
	if last > stable+len(m.PrePrepares) {
		return simkit.Break(name, "%s enters view %d without number %d, which a view change shows", node, m.View, last)
	}
	return nil
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
