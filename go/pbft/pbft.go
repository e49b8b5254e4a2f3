// Package pbft is PBFT: state machine replication where up to f of n = 3f + 1 replicas are Byzantine.
//
// The paper is M. Castro and B. Liskov, "Practical Byzantine Fault Tolerance", OSDI 1999; § refers to it. See also their
// "Practical Byzantine Fault Tolerance and Proactive Recovery", ACM TOCS 2002.
//
// This is all of §4: three phases, garbage collection, view changes, clients, state transfer. There is no batching, there
// are no MACs instead of signatures, and none of the other optimisations (§5). At most f replicas lie, who cannot sign for
// others; messages may be lost, duplicated, delayed and reordered. Progress needs delays that do not grow for ever. The
// paper's correct replicas never stop; these crash and restart.
//
// What a replica has signed must bind it after a restart as well. So this is synced before the message leaves: the view
// (VIEW-CHANGE: nothing of earlier views is accepted any more), the NEW-VIEW that made it mine (with O), each pre-prepare
// accepted (PREPARE: no other digest in that view and number), each prepared certificate (COMMIT: the next VIEW-CHANGE
// shows it), each checkpoint's state (CHECKPOINT: others may need it), and the last stable checkpoint's certificate before
// what it covers is discarded. What is committed is found again by the next view change or checkpoint.
//
// Reading order: messages, the service, state, requests (§4.1), normal case (§4.2), checkpoints (§4.3), view changes (§4.4,
// §4.5.2), state transfer, clients (§4.1). Each Check is one that the paper demands.
package pbft

import (
	"cmp"
	"maps"
	"slices"

	"protosim/step"
)

// Protocol is what a host needs to know.
var Protocol = step.Protocol{
	Name: "pbft",
	Values: []step.Value{
		Request{}, Reply{}, PrePrepare{}, Proposal{}, Prepare{}, Commit{}, Checkpoint{}, Prepared{}, ViewChange{}, NewView{},
		State{}, Snapshot{}, FetchState{}, FetchedState{}, FetchRequest{}, FetchedRequest{},
	},
	New:            func() step.Machine { return new(Replica) },
	NewClient:      func() step.Machine { return new(Client) },
	NewApplication: func() step.Application { return &Service{replies: map[step.NodeID]LastReply{}} },
}

type (
	View      int
	Number    int         // the sequence number of a request, from 1
	Timestamp = step.OpID // of a client's request; a later one has a greater
)

const (
	tick   step.Timer = "tick"
	resend step.Timer = "resend"
)

var (
	tickInterval   = step.Range{40 * step.MS, 50 * step.MS}
	resendInterval = step.Range{150 * step.MS, 200 * step.MS}
)

const (
	mostDoublings = 2  // of the view-change timeout: delays are bounded here, so it may be
	mostEarly     = 64 // messages of later views that are kept from each sender
)

// -- Messages ---------------------------------------------------------------------------------------------------------

// Request is ⟨REQUEST, o, t, c⟩: the client asks for an operation. It has one request at a time, §4.1.
type Request struct {
	Command   step.Command
	Timestamp Timestamp
	step.Signed
}

// Reply is ⟨REPLY, v, t, c, i, r⟩.
type Reply struct {
	View      View
	Timestamp Timestamp
	Client    step.NodeID
	Result    step.Value
	step.Signed
}

// Slot is what a pre-prepare, prepares and commits must agree on to count together.
type Slot struct {
	View   View
	Number Number
	Digest step.Digest
}

// PrePrepare is ⟨PRE-PREPARE, v, n, d⟩: the primary assigns a number to a request. It is small, as proofs are made of it.
type PrePrepare struct {
	Slot
	step.Signed
}

// Proposal is a PRE-PREPARE with the request piggybacked.
type Proposal struct {
	PrePrepare PrePrepare
	Request    Request
}

// Prepare is ⟨PREPARE, v, n, d, i⟩: a backup agrees to the number in this view.
type Prepare struct {
	Slot
	step.Signed
}

// Commit is ⟨COMMIT, v, n, D(m), i⟩: the replica has a prepared certificate, and so shows it in every later view change.
type Commit struct {
	Slot
	step.Signed
}

// Checkpoint is ⟨CHECKPOINT, n, d, i⟩: the digest of the state that the requests up to n have made.
type Checkpoint struct {
	Number Number
	Digest step.Digest
	step.Signed
}

// Prepared is a prepared certificate: a pre-prepare and 2f matching prepares of different backups.
type Prepared struct {
	PrePrepare PrePrepare
	Prepares   []Prepare
}

// ViewChange is ⟨VIEW-CHANGE, v+1, n, C, P, i⟩.
type ViewChange struct {
	View     View
	Number   Number       // of the last stable checkpoint that i knows
	Proof    []Checkpoint // C: its certificate; nothing for the initial state
	Prepared []Prepared   // P: for each number above that prepared at i, of the latest view in which it did
	step.Signed
}

// NewView is ⟨NEW-VIEW, v+1, V, O⟩.
type NewView struct {
	View        View
	ViewChanges []ViewChange // V
	PrePrepares []PrePrepare // O
	step.Signed
}

// State is the service's: what a checkpoint is taken of.
type State struct {
	Registers []step.Register
	Replies   []LastReply // to each client
}

type LastReply struct {
	Client    step.NodeID
	Timestamp Timestamp
	Result    step.Value
}

// Snapshot is the state that the requests up to Number have made.
type Snapshot struct {
	Number Number
	State  State
}

// FetchState says that a replica lacks the state of a stable checkpoint.
type FetchState struct {
	Number Number
}

// FetchedState is a stable checkpoint that the sender has, and its certificate.
type FetchedState struct {
	Snapshot Snapshot
	Proof    []Checkpoint
}

// FetchRequest says that a replica lacks a request: in NEW-VIEWs there are digests only.
type FetchRequest struct {
	Digest step.Digest
}

type FetchedRequest struct {
	Request Request
}

// ofView is what a replica handles in the message's view alone.
type ofView interface{ view() View }

func (m Proposal) view() View { return m.PrePrepare.View }
func (m Prepare) view() View  { return m.View }
func (m Commit) view() View   { return m.View }

// -- The service ------------------------------------------------------------------------------------------------------

// Service is the key-value store, and the last reply to each client, which is state that all replicas agree on.
type Service struct {
	store   step.KeyValue
	replies map[step.NodeID]LastReply
}

func (s *Service) lastTimestamp(client step.NodeID) Timestamp { return s.replies[client].Timestamp }

// Apply executes a request.
func (s *Service) Apply(command step.Value) any {
	m := command.(Request)
	result := s.store.Apply(m.Command)
	s.replies[m.Signer] = LastReply{m.Signer, m.Timestamp, result}
	return result
}

func (s *Service) Snapshot() step.Value {
	return State{s.store.Snapshot().([]step.Register), inOrder(s.replies)}
}

func (s *Service) Restore(state step.Value) {
	s.store.Restore(state.(State).Registers)
	s.replies = map[step.NodeID]LastReply{}
	for _, reply := range state.(State).Replies {
		s.replies[reply.Client] = reply
	}
}

// -- State ------------------------------------------------------------------------------------------------------------

type Disk struct {
	View        View
	NewView     *NewView             // the last that I entered a view by
	Proof       []Checkpoint         // C: of the last stable checkpoint; nothing for the initial state
	Snapshots   []Snapshot           // that checkpoint's, if I have its state, and later ones
	PrePrepares step.Log[PrePrepare] // accepted, but for those in NEW-VIEWs
	Prepared    step.Log[Prepared]   // of each number the last one counts
	Requests    step.Log[Request]
}

type Switches struct {
	Interval int // requests from one checkpoint to the next, §4.3; the log holds twice as many
	Patience int // ticks that a replica waits before its first view change, §4.4
}

// participant is what replicas and clients know of the cluster.
type participant struct {
	step.Node[Disk, Switches]

	replicas []step.NodeID
}

func (p *participant) join(replicas []step.NodeID) {
	p.replicas = slices.Clone(replicas)
	slices.Sort(p.replicas)
}

// f is how many replicas may lie.
func (p *participant) f() int { return (p.ClusterSize - 1) / 3 }

// primaryOf a view is p = v mod |R|, §4.
func (p *participant) primaryOf(view View) step.NodeID {
	size := View(p.ClusterSize)
	return p.replicas[(view%size+size)%size] // a liar's view may be negative
}

// isQuorum says whether so many different replicas are 2f + 1: any two quorums have a correct replica in common.
func (p *participant) isQuorum(signers int) bool {
	return signers >= 2*p.f()+1
}

// hasACorrect says whether they are f + 1: one of them at least is no liar.
func (p *participant) hasACorrect(signers int) bool {
	return signers >= p.f()+1
}

// null is the digest of the null request, whose execution is a no-op: §4.4.
func (p *participant) null() step.Digest { return p.DigestOf(nil) }

type proof = map[step.NodeID]Checkpoint

// checkpoint is what CHECKPOINTs must agree on to count together.
type checkpoint struct {
	number Number
	digest step.Digest
}

type Replica struct {
	participant

	active      bool                             // in its view; else it waits for the NEW-VIEW
	accepted    step.Ordered[Number, PrePrepare] // in this view
	last        Number                           // the highest of these
	prepares    map[Slot]map[step.NodeID]Prepare
	prepared    step.Ordered[Number, Prepared] // of the latest view in which the number prepared
	commits     map[Slot]map[step.NodeID]Commit
	committed   map[Number]step.Digest // committed-local, in any view
	executed    Number                 // all up to here
	requests    step.Ordered[step.Digest, *Request]
	pending     step.Ordered[step.NodeID, Request] // of each client what is not executed yet
	checkpoints map[checkpoint]proof               // above the last stable one
	viewChanges map[step.NodeID]ViewChange         // the latest of each replica
	early       map[step.NodeID][]step.Value       // by sender, what came before the view that it is of
	ticking     bool                               // the timer is set
	ticks       int                                // for so long I have waited for what a view change would bring
	failures    int                                // view changes since a request was executed
}

// Start is a restart: what I have signed still binds me.
func (r *Replica) Start() {
	r.join(append([]step.NodeID{r.Me}, r.Peers...))
	r.forget()
	disk := &r.Disk
	carried, entered := []PrePrepare(nil), View(0)
	if disk.NewView != nil {
		carried, entered = disk.NewView.PrePrepares, disk.NewView.View
	}
	r.active = disk.View == entered
	if r.active {
		r.acceptAgain(carried)
	}
	logged := disk.PrePrepares.Slice(0, disk.PrePrepares.Len())
	r.acceptAgain(filter(logged, func(p PrePrepare) bool { return p.View == disk.View }))
	for _, certificate := range disk.Prepared.Slice(0, disk.Prepared.Len()) {
		if p := certificate.PrePrepare; p.Number > r.low() {
			r.prepared.Set(p.Number, certificate)
		}
	}
	for _, m := range disk.Requests.Slice(0, disk.Requests.Len()) {
		r.requests.Set(r.DigestOf(m), &m)
	}
	if kept := len(disk.Snapshots); kept > 0 {
		r.executed = disk.Snapshots[kept-1].Number
		r.Restore(int(r.executed), disk.Snapshots[kept-1].State)
	}
	r.askAgain()
}

func (r *Replica) forget() {
	r.prepares = map[Slot]map[step.NodeID]Prepare{}
	r.commits = map[Slot]map[step.NodeID]Commit{}
	r.committed = map[Number]step.Digest{}
	r.checkpoints = map[checkpoint]proof{}
	r.viewChanges = map[step.NodeID]ViewChange{}
	r.early = map[step.NodeID][]step.Value{}
}

// acceptAgain what is on disk already.
func (r *Replica) acceptAgain(agreed []PrePrepare) {
	for _, p := range agreed {
		if p.Number > r.low() {
			r.accepted.Set(p.Number, p)
		}
	}
	r.last = slices.Max(append(r.accepted.Keys(), r.low()))
}

func (r *Replica) primary() step.NodeID { return r.primaryOf(r.Disk.View) }

func (r *Replica) service() *Service { return r.Application().(*Service) }

// low is the low water mark h: the number of the last stable checkpoint. §4.2, §4.3
func (r *Replica) low() Number { return numberOf(r.Disk.Proof) }

func numberOf(proof []Checkpoint) Number {
	if len(proof) == 0 {
		return 0
	}
	return proof[0].Number
}

// window is L, the size of the log: a small multiple of the checkpoints' interval. §4.3
func (r *Replica) window() Number { return Number(2 * r.Switches.Interval) }

// high is the high water mark H = h + L.
func (r *Replica) high() Number { return r.low() + r.window() }

// isCurrent says whether I am in that view; who changes views accepts nothing in the meantime. §4.4
func (r *Replica) isCurrent(view View) bool {
	return r.active && view == r.Disk.View
}

// Receive puts off what is of a view that has not begun here: the network keeps no order, and may deliver it before the
// NEW-VIEW that it needs.
func (r *Replica) Receive(src step.NodeID, m step.Value) {
	if m, ok := m.(ofView); ok && (m.view() > r.Disk.View || m.view() == r.Disk.View && !r.active) {
		early := append(r.early[src], m)
		r.early[src] = early[max(0, len(early)-mostEarly):]
		return
	}
	switch m := m.(type) {
	case Request:
		r.handleRequest(src, m)
	case Proposal:
		r.handlePrePrepare(src, m)
	case Prepare:
		r.handlePrepare(src, m)
	case Commit:
		r.handleCommit(src, m)
	case Checkpoint:
		r.handleCheckpoint(src, m)
	case ViewChange:
		r.handleViewChange(src, m)
	case NewView:
		r.handleNewView(src, m)
	case FetchState:
		r.handleFetchState(src, m)
	case FetchedState:
		r.handleFetchedState(src, m)
	case FetchRequest:
		r.handleFetchRequest(src, m)
	case FetchedRequest:
		r.handleFetchedRequest(src, m)
	}
}

func (r *Replica) Timeout(t step.Timer) {
	if t == tick {
		r.tick()
	}
}

// Request is for clients, which ask by a message.
func (r *Replica) Request(step.OpID, step.Value) {}

// -- Requests (§4.1) --------------------------------------------------------------------------------------------------

// handleRequest answers again what is executed; else it has the primary assign a number, and waits for that. §4.1
func (r *Replica) handleRequest(src step.NodeID, m Request) {
	if !r.isValidRequest(m) {
		return
	}
	switch last := r.service().lastTimestamp(m.Signer); {
	case 0 < m.Timestamp && m.Timestamp == last:
		r.replyTo(m.Signer)
	case m.Timestamp > last:
		known := r.pending.Has(m.Signer) && r.pending.At(m.Signer) == m
		r.awaitExecution(m)
		if r.Me == r.primary() {
			r.assignNumbers()
		} else if src == m.Signer && !known {
			r.Send(r.primary(), m)
		}
	}
}

func (r *Replica) isValidRequest(m Request) bool {
	return r.Holds(
		step.Check("request_signature_verifies", step.Verify(m)),                  // §4.2
		step.Check("request_from_client", !slices.Contains(r.replicas, m.Signer)), // §2
	)
}

// awaitExecution: a client has one request at a time, so a later one says that it no longer waits for the earlier.
func (r *Replica) awaitExecution(m Request) {
	newest := r.service().lastTimestamp(m.Signer)
	if r.pending.Has(m.Signer) {
		newest = r.pending.At(m.Signer).Timestamp
	}
	if m.Timestamp > newest {
		r.pending.Set(m.Signer, m)
	}
	r.watch()
}

func (r *Replica) replyTo(client step.NodeID) {
	last := r.service().replies[client]
	r.Send(client, Reply{r.Disk.View, last.Timestamp, client, last.Result, r.Sign()})
}

// -- Normal case: three phases (§4.2) ---------------------------------------------------------------------------------

// assignNumbers is pre-prepare, at the primary: a number to each request that has none in this view.
func (r *Replica) assignNumbers() {
	if !r.active || r.Me != r.primary() {
		return
	}
	numbered := map[step.Digest]bool{}
	for _, p := range r.accepted.Values() {
		numbered[p.Digest] = true
	}
	for _, request := range r.pending.Values() {
		digest := r.DigestOf(request)
		assigned := r.Holds(
			step.Check("one_number_a_request", !numbered[digest]),
			step.Check("number_below_high_water_mark", r.last < r.high()),
		)
		if assigned {
			p := PrePrepare{Slot{r.Disk.View, r.last + 1, digest}, r.Sign()}
			r.accept(p, request)
			r.Broadcast(Proposal{p, request})
			r.checkPrepared(p)
		}
	}
}

// handlePrePrepare is pre-prepare, at a backup, and so prepare.
func (r *Replica) handlePrePrepare(src step.NodeID, m Proposal) {
	p := m.PrePrepare
	accepted := r.isValidRequest(m.Request) && r.Holds(
		step.Check("pre_prepare_signature_verifies", step.Verify(p)),
		step.Check("digest_of_the_request", p.Digest == r.DigestOf(m.Request)),
		step.Check("pre_prepare_in_view", r.isCurrent(p.View)),
		step.Check("pre_prepare_from_primary", p.Signer == r.primaryOf(p.View)),
		step.Check("one_digest_a_number", !r.accepted.Has(p.Number)),
		step.Check("pre_prepare_within_water_marks", r.low() < p.Number && p.Number <= r.high()),
	)
	if accepted {
		r.accept(p, m.Request)
		r.awaitExecution(m.Request)
		r.prepare(p)
	}
}

// accept into the log: from now on no other digest in this view and number.
func (r *Replica) accept(p PrePrepare, request Request) {
	r.accepted.Set(p.Number, p)
	r.last = max(r.last, p.Number)
	r.requests.Set(p.Digest, &request)
	r.Disk.Requests.Append(request)
	r.Disk.PrePrepares.Append(p)
	r.Sync()
}

func (r *Replica) prepare(p PrePrepare) {
	m := Prepare{p.Slot, r.Sign()}
	r.Broadcast(m)
	r.countPrepare(m)
}

// handlePrepare is prepare.
func (r *Replica) handlePrepare(src step.NodeID, m Prepare) {
	counted := r.Holds(
		step.Check("prepare_signature_verifies", step.Verify(m)),
		step.Check("prepare_in_view", r.isCurrent(m.View)),
		step.Check("prepare_from_backup", m.Signer != r.primaryOf(m.View)),
		step.Check("prepare_within_water_marks", r.low() < m.Number && m.Number <= r.high()),
	)
	if counted {
		r.countPrepare(m)
	}
}

func (r *Replica) countPrepare(m Prepare) {
	put(r.prepares, m.Slot, m.Signer, m)
	if r.accepted.Has(m.Number) {
		r.checkPrepared(r.accepted.At(m.Number))
	}
}

// checkPrepared is prepared(m, v, n, i): the pre-prepare, and 2f prepares of different backups that match it. Then commit.
func (r *Replica) checkPrepared(p PrePrepare) {
	if r.prepared.Has(p.Number) && r.prepared.At(p.Number).PrePrepare.View == p.View {
		return
	}
	prepares := r.prepares[p.Slot]
	prepared := r.Holds(
		step.Check("prepared_by_two_f_backups", len(prepares) >= 2*r.f()),
	)
	if !prepared {
		return
	}
	certificate := Prepared{p, inOrder(prepares)}
	r.prepared.Set(p.Number, certificate)
	r.Disk.Prepared.Append(certificate)
	r.Sync()
	m := Commit{p.Slot, r.Sign()}
	r.Broadcast(m)
	r.countCommit(m)
}

// handleCommit is commit.
func (r *Replica) handleCommit(src step.NodeID, m Commit) {
	counted := r.Holds(
		step.Check("commit_signature_verifies", step.Verify(m)),
		step.Check("commit_in_view", r.isCurrent(m.View)),
		step.Check("commit_within_water_marks", r.low() < m.Number && m.Number <= r.high()),
	)
	if counted {
		r.countCommit(m)
	}
}

// countCommit is committed-local(m, v, n, i): prepared(m, v, n, i), and 2f + 1 commits that match the pre-prepare.
func (r *Replica) countCommit(m Commit) {
	put(r.commits, m.Slot, m.Signer, m)
	if !r.prepared.Has(m.Number) {
		return
	}
	p := r.prepared.At(m.Number).PrePrepare
	committed := r.Holds(
		step.Check("committed_by_quorum", r.isQuorum(len(r.commits[p.Slot]))),
	)
	if committed {
		r.committed[p.Number] = p.Digest
		r.execute()
	}
}

// execute in the order of the numbers, as far as all are committed-local.
func (r *Replica) execute() {
	for {
		digest, committed := r.committed[r.executed+1]
		if !committed {
			break
		}
		if !r.requests.Has(digest) && digest != r.null() {
			r.Broadcast(FetchRequest{digest})
			break
		}
		r.executed++
		r.executeRequest(r.requests.At(digest))
		if int(r.executed)%r.Switches.Interval == 0 {
			r.takeCheckpoint()
		}
	}
	r.watch()
}

// executeRequest once, whatever a faulty primary assigns to it; nil is the null request. §4.1, §4.4
func (r *Replica) executeRequest(m *Request) {
	if m == nil {
		r.Apply(int(r.executed), nil)
		return
	}
	fresh := r.Holds(
		step.Check("executed_once", m.Timestamp > r.service().lastTimestamp(m.Signer)), // §4.1
	)
	if fresh {
		r.Apply(int(r.executed), *m)
		r.ticks, r.failures = 0, 0 // the timer starts anew if I wait for another, §4.4
		r.replyTo(m.Signer)
	} else {
		r.Apply(int(r.executed), nil)
	}
	r.forgetExecuted()
}

func (r *Replica) forgetExecuted() {
	r.pending.DeleteFunc(func(client step.NodeID, m Request) bool {
		return m.Timestamp <= r.service().lastTimestamp(client)
	})
}

// -- Checkpoints and garbage collection (§4.3) ------------------------------------------------------------------------

func (r *Replica) takeCheckpoint() {
	snapshot := Snapshot{r.executed, r.Snapshot().(State)}
	r.Disk.Snapshots = append(r.Disk.Snapshots, snapshot)
	r.Write(&r.Disk.Snapshots)
	r.Sync()
	r.announce(snapshot)
}

func (r *Replica) announce(snapshot Snapshot) {
	m := Checkpoint{snapshot.Number, r.DigestOf(snapshot.State), r.Sign()}
	r.Broadcast(m)
	r.countCheckpoint(m)
}

func (r *Replica) handleCheckpoint(src step.NodeID, m Checkpoint) {
	counted := r.Holds(
		step.Check("checkpoint_signature_verifies", step.Verify(m)),
	)
	if counted && m.Number > r.low() {
		r.countCheckpoint(m)
	}
}

// countCheckpoint: 2f + 1 with the same number and digest are a proof, and the checkpoint is stable.
func (r *Replica) countCheckpoint(m Checkpoint) {
	which := checkpoint{m.Number, m.Digest}
	put(r.checkpoints, which, m.Signer, m)
	proof := r.checkpoints[which]
	stable := r.Holds(
		step.Check("stable_by_quorum", r.isQuorum(len(proof))),
	)
	if stable {
		r.stabilize(inOrder(proof))
	}
}

// stabilize discards what the proven checkpoint covers, and advances the water marks. Who lacks its state asks for it.
func (r *Replica) stabilize(proof []Checkpoint) {
	number := numberOf(proof)
	if number <= r.low() {
		return
	}
	r.Disk.Proof = proof
	r.Disk.Snapshots = filter(r.Disk.Snapshots, func(s Snapshot) bool { return s.Number >= number })
	r.Write(&r.Disk.Proof, &r.Disk.Snapshots)
	r.Sync()
	r.discard(number)
	if r.executed < number {
		r.Broadcast(FetchState{r.low()})
	}
	r.assignNumbers()
}

// discard all pre-prepare, prepare, commit and checkpoint messages up to the stable checkpoint.
func (r *Replica) discard(stable Number) {
	r.accepted.DeleteFunc(func(number Number, _ PrePrepare) bool { return number <= stable })
	r.last = max(r.last, stable)
	maps.DeleteFunc(r.prepares, func(slot Slot, _ map[step.NodeID]Prepare) bool { return slot.Number <= stable })
	r.prepared.DeleteFunc(func(number Number, _ Prepared) bool { return number <= stable })
	maps.DeleteFunc(r.commits, func(slot Slot, _ map[step.NodeID]Commit) bool { return slot.Number <= stable })
	maps.DeleteFunc(r.committed, func(number Number, _ step.Digest) bool { return number <= stable })
	maps.DeleteFunc(r.checkpoints, func(which checkpoint, _ proof) bool { return which.number <= stable })
	logged := r.Disk.PrePrepares.Slice(0, r.Disk.PrePrepares.Len())
	kept := filter(logged, func(p PrePrepare) bool { return p.Number > stable })
	r.Disk.PrePrepares.Reset(0, kept)
	r.Disk.Prepared.Reset(0, r.prepared.Values())
	used := map[step.Digest]bool{}
	for _, p := range append(kept, r.accepted.Values()...) {
		used[p.Digest] = true
	}
	for _, certificate := range r.prepared.Values() {
		used[certificate.PrePrepare.Digest] = true
	}
	r.requests.DeleteFunc(func(digest step.Digest, _ *Request) bool { return !used[digest] })
	var requests []Request
	for _, m := range r.requests.Values() {
		requests = append(requests, *m)
	}
	r.Disk.Requests.Reset(0, requests)
}

// -- View changes (§4.4, §4.5.2) --------------------------------------------------------------------------------------

// watch ticks as long as I lack something.
func (r *Replica) watch() {
	_, committed := r.committed[r.executed+1]
	lacking := r.executed < r.low() || committed
	if !r.ticking && (r.pending.Len() > 0 || lacking || !r.active) {
		r.ticking = true
		r.SetTimer(tick, tickInterval)
	}
}

// tick is the view-change timer, which runs while a replica waits to execute a request; the primary's too, which may be
// the last to know that others have left its view. Who changes views starts it when 2f + 1 have left the earlier view as
// well, not to start the next view change too soon.
func (r *Replica) tick() {
	r.ticking = false
	left := 0
	for _, m := range r.viewChanges {
		if m.View >= r.Disk.View {
			left++
		}
	}
	waits := r.isQuorum(left)
	if r.active {
		waits = r.pending.Len() > 0
	}
	if waits {
		r.ticks++
	} else {
		r.ticks = 0
	}
	if r.ticks >= r.Switches.Patience<<min(r.failures, mostDoublings) {
		r.startViewChange(r.Disk.View + 1)
	} else {
		r.askAgain()
	}
	r.watch()
}

// askAgain: what I lack, others have; and the network may have lost what I said.
func (r *Replica) askAgain() {
	if !r.active {
		r.askForView()
	}
	for _, p := range r.accepted.Values() {
		if r.active && p.Number > r.executed {
			r.sayAgain(p)
		}
	}
	if r.executed < r.low() {
		r.Broadcast(FetchState{r.low()})
	} else {
		r.execute()
	}
	for _, snapshot := range r.Disk.Snapshots {
		if snapshot.Number > r.low() { // the log stays full until it is stable
			r.announce(snapshot)
		}
	}
}

func (r *Replica) sayAgain(p PrePrepare) {
	if r.Me != r.primary() {
		r.Broadcast(Prepare{p.Slot, r.Sign()})
	} else if request := r.requests.At(p.Digest); request != nil {
		r.Broadcast(Proposal{p, *request})
	}
	if r.prepared.Has(p.Number) && r.prepared.At(p.Number).PrePrepare == p {
		r.Broadcast(Commit{p.Slot, r.Sign()})
	}
}

// startViewChange leaves my view: I accept nothing but CHECKPOINT, VIEW-CHANGE and NEW-VIEW until the next begins.
func (r *Replica) startViewChange(view View) {
	r.Disk.View = view
	r.Write(&r.Disk.View)
	r.Sync()
	r.active = false
	r.ticks = 0
	r.failures++
	r.askForView()
}

// askForView is VIEW-CHANGE, until the view begins.
func (r *Replica) askForView() {
	var certificates []Prepared
	numbers := r.prepared.Keys()
	slices.Sort(numbers)
	for _, number := range numbers {
		certificates = append(certificates, r.prepared.At(number))
	}
	m := ViewChange{r.Disk.View, r.low(), r.Disk.Proof, certificates, r.Sign()}
	r.viewChanges[r.Me] = m
	r.Broadcast(m)
	r.beginNewView()
	r.watch()
}

func (r *Replica) handleViewChange(src step.NodeID, m ViewChange) {
	if !r.isValidViewChange(m) {
		return
	}
	if m.View < r.Disk.View || r.isCurrent(m.View) { // who sends it has missed the NEW-VIEW
		if r.Disk.NewView != nil && r.Disk.NewView.View >= m.View {
			r.Send(src, *r.Disk.NewView)
		}
		return
	}
	if known, ok := r.viewChanges[m.Signer]; !ok || known.View <= m.View {
		r.viewChanges[m.Signer] = m
	}
	r.joinViewChange()
	r.beginNewView()
	r.watch()
}

func (r *Replica) isValidViewChange(m ViewChange) bool {
	return r.Holds(
		step.Check("view_change_signature_verifies", step.Verify(m)),
		step.Check("view_change_from_stable", r.isStable(m.Proof, m.Number)),
		step.Check("view_change_certificates_valid", every(m.Prepared, func(c Prepared) bool { return r.isCertificate(c, m) })),
	)
}

// isStable says whether this proves that the checkpoint is stable: 2f + 1 with one digest. The initial one needs no proof.
func (r *Replica) isStable(proof []Checkpoint, number Number) bool {
	digests := map[step.Digest]bool{}
	for _, m := range proof {
		digests[m.Digest] = true
	}
	return len(proof) == 0 && number == 0 || r.Holds(
		step.Check("proof_signatures_verify", step.Verify(proof...)),
		step.Check("proof_of_the_checkpoint", every(proof, func(m Checkpoint) bool { return m.Number == number })),
		step.Check("proof_of_one_digest", len(digests) == 1),
		step.Check("proof_by_quorum", r.isQuorum(len(step.Signers(proof)))),
	)
}

// isCertificate says whether this proves that a request prepared in an earlier view, above the view change's checkpoint.
func (r *Replica) isCertificate(c Prepared, m ViewChange) bool {
	p := c.PrePrepare
	backups := step.Signers(c.Prepares)
	delete(backups, p.Signer)
	return r.Holds(
		step.Check("certificate_pre_prepare_verifies", step.Verify(p)),
		step.Check("certificate_prepares_verify", step.Verify(c.Prepares...)),
		step.Check("certificate_prepares_match", every(c.Prepares, func(x Prepare) bool { return x.Slot == p.Slot })),
		step.Check("certificate_from_primary", p.Signer == r.primaryOf(p.View)),
		step.Check("certificate_by_two_f_backups", len(backups) >= 2*r.f()),
		step.Check("certificate_of_earlier_view", p.View < m.View),
		step.Check("certificate_within_water_marks", m.Number < p.Number && p.Number <= m.Number+r.window()),
	)
}

// joinViewChange: f + 1 others are in later views, so a correct one is. Go to the smallest, timer or not. §4.5.2
func (r *Replica) joinViewChange() {
	var later []View
	for _, m := range r.viewChanges {
		if m.View > r.Disk.View {
			later = append(later, m.View)
		}
	}
	joined := r.Holds(
		step.Check("joined_by_a_correct_replica", r.hasACorrect(len(later))),
	)
	if len(later) > 0 && joined {
		r.startViewChange(slices.Min(later))
	}
}

// beginNewView is NEW-VIEW, at the primary of the view that 2f + 1 ask for.
func (r *Replica) beginNewView() {
	if r.active || r.Me != r.primary() {
		return
	}
	view := r.Disk.View
	asking := filter(inOrder(r.viewChanges), func(m ViewChange) bool { return m.View == view })
	begun := r.Holds(
		step.Check("new_view_asked_by_quorum", r.isQuorum(len(asking))),
	)
	if begun {
		r.enter(NewView{view, asking, r.carriedOver(view, asking), r.Sign()})
	}
}

// latestStable is min-s, and what proves it.
func (r *Replica) latestStable(viewChanges []ViewChange) (Number, []Checkpoint) {
	if len(viewChanges) == 0 {
		return 0, nil
	}
	latest := slices.MaxFunc(viewChanges, func(a, b ViewChange) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), slices.CompareFunc(a.Proof, b.Proof, compareCheckpoints))
	})
	return latest.Number, latest.Proof
}

func compareCheckpoints(a, b Checkpoint) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.Signer, b.Signer))
}

// carriedOver is O: for each number from the latest stable checkpoint (min-s) to the highest prepared one (max-s), the
// digest that prepared in the latest view, or the null request where none did.
func (r *Replica) carriedOver(view View, viewChanges []ViewChange) (carried []PrePrepare) {
	stable, _ := r.latestStable(viewChanges)
	highest := stable
	latest := map[Number]PrePrepare{}
	for _, m := range viewChanges {
		for _, certificate := range m.Prepared {
			p := certificate.PrePrepare
			if known, ok := latest[p.Number]; !ok || known.View < p.View {
				latest[p.Number] = p
			}
			highest = max(highest, p.Number)
		}
	}
	for number := stable + 1; number <= highest; number++ {
		digest := r.null()
		if p, ok := latest[number]; ok {
			digest = p.Digest
		}
		signature := step.Signed{Signer: r.primaryOf(view), Valid: true}
		carried = append(carried, PrePrepare{Slot{view, number, digest}, signature})
	}
	return carried
}

// handleNewView accepts O only if it is what V demands.
func (r *Replica) handleNewView(src step.NodeID, m NewView) {
	proven := r.Holds(
		step.Check("new_view_signature_verifies", step.Verify(m)),
		step.Check("new_view_from_its_primary", m.Signer == r.primaryOf(m.View)),
		step.Check("new_view_not_left", m.View > r.Disk.View || m.View == r.Disk.View && !r.active),
		step.Check("new_view_by_quorum", r.isQuorum(len(step.Signers(m.ViewChanges)))),
		step.Check("new_view_of_its_view_changes", every(m.ViewChanges, func(x ViewChange) bool { return x.View == m.View })),
		step.Check("new_view_changes_valid", every(m.ViewChanges, r.isValidViewChange)),
	)
	if !proven {
		return
	}
	correct := r.Holds(
		step.Check("new_view_carries_over", slices.Equal(m.PrePrepares, r.carriedOver(m.View, m.ViewChanges))),
	)
	if correct {
		r.enter(m)
	}
}

// enter the view: it begins with the latest stable checkpoint of V, and the pre-prepares of O as if just received.
func (r *Replica) enter(m NewView) {
	r.active = false // until all of O is accepted
	_, proof := r.latestStable(m.ViewChanges)
	r.stabilize(proof) // O says nothing of what it covers
	r.Disk.View, r.Disk.NewView = m.View, &m
	r.Write(&r.Disk.View, &r.Disk.NewView)
	r.Sync()
	r.accepted = step.Ordered[Number, PrePrepare]{}
	r.acceptAgain(m.PrePrepares)
	r.active = true
	if m.Signer == r.Me {
		r.Broadcast(m)
	}
	for _, p := range m.PrePrepares {
		if r.accepted.Has(p.Number) && m.Signer != r.Me {
			r.prepare(p)
		}
	}
	r.takeUpEarly()
	r.assignNumbers()
	r.watch()
}

func (r *Replica) takeUpEarly() {
	early := r.early
	r.early = map[step.NodeID][]step.Value{}
	for _, src := range r.replicas {
		for _, m := range early[src] {
			r.Receive(src, m)
		}
	}
}

// -- What a replica has missed (§4.4) ---------------------------------------------------------------------------------

func (r *Replica) handleFetchState(src step.NodeID, m FetchState) {
	for _, snapshot := range r.Disk.Snapshots {
		if m.Number <= snapshot.Number && snapshot.Number == r.low() {
			r.Send(src, FetchedState{snapshot, r.Disk.Proof})
		}
	}
}

// handleFetchedState: the certificate says which state it must be, whoever sends it.
func (r *Replica) handleFetchedState(src step.NodeID, m FetchedState) {
	number := m.Snapshot.Number
	usable := r.Holds(
		step.Check("fetched_state_stable", r.isStable(m.Proof, number)),
		step.Check("fetched_state_of_the_proof", r.isProven(m.Snapshot.State, m.Proof)),
	)
	if !usable || number <= r.executed || number < r.low() {
		return
	}
	r.Disk.Snapshots, r.Disk.Proof = []Snapshot{m.Snapshot}, m.Proof
	r.Write(&r.Disk.Snapshots, &r.Disk.Proof)
	r.Sync()
	r.executed = number
	r.Restore(int(number), m.Snapshot.State)
	r.discard(number)
	r.forgetExecuted()
	r.execute()
}

// isProven says whether the checkpoints are of this state.
func (r *Replica) isProven(state State, proof []Checkpoint) bool {
	digest := r.DigestOf(state)
	return slices.ContainsFunc(proof, func(m Checkpoint) bool { return m.Digest == digest })
}

func (r *Replica) handleFetchRequest(src step.NodeID, m FetchRequest) {
	if request := r.requests.At(m.Digest); request != nil {
		r.Send(src, FetchedRequest{*request})
	}
}

// handleFetchedRequest: the digest says which request it must be, whoever sends it.
func (r *Replica) handleFetchedRequest(src step.NodeID, m FetchedRequest) {
	lacking, committed := r.committed[r.executed+1]
	wanted := r.Holds(
		step.Check("fetched_request_of_the_digest", r.DigestOf(m.Request) == lacking),
	)
	if wanted && committed {
		r.requests.Set(lacking, &m.Request)
		r.Disk.Requests.Append(m.Request)
		r.Sync()
		r.execute()
	}
}

// -- Clients (§4.1) ---------------------------------------------------------------------------------------------------

// Client stands between a person and the replicas. It has one request at a time.
type Client struct {
	participant

	asking  *Request
	replies map[step.NodeID]Reply // to what it asks now
	view    View                  // in which it believes the replicas to be
}

func (c *Client) Start() {
	c.join(c.Peers)
	c.replies = map[step.NodeID]Reply{}
}

func (c *Client) Receive(src step.NodeID, m step.Value) {
	if m, ok := m.(Reply); ok {
		c.handleReply(src, m)
	}
}

func (c *Client) Timeout(step.Timer) { c.askAll() }

// Request goes to the primary that I know.
func (c *Client) Request(op step.OpID, command step.Value) {
	if c.asking != nil {
		c.Refuse(op)
		return
	}
	c.asking = &Request{command.(step.Command), op, c.Sign()}
	c.replies = map[step.NodeID]Reply{}
	c.Send(c.primaryOf(c.view), *c.asking)
	c.SetTimer(resend, resendInterval)
}

// askAll: replies do not come soon enough, so the primary may be faulty.
func (c *Client) askAll() {
	if c.asking != nil {
		c.Broadcast(*c.asking)
		c.SetTimer(resend, resendInterval)
	}
}

func (c *Client) handleReply(src step.NodeID, m Reply) {
	counted := c.Holds(
		step.Check("reply_signature_verifies", step.Verify(m)),
		step.Check("reply_to_this_request", c.asking != nil && m.Timestamp == c.asking.Timestamp),
	)
	if counted {
		c.replies[m.Signer] = m
		c.acceptResult(m.Result)
	}
}

// acceptResult that f + 1 replicas say, so a correct one does.
func (c *Client) acceptResult(result step.Value) {
	matching := filter(inOrder(c.replies), func(m Reply) bool { return m.Result == result })
	accepted := c.Holds(
		step.Check("result_by_a_correct_replica", c.hasACorrect(len(matching))),
	)
	if accepted && c.asking != nil {
		earliest := slices.MinFunc(matching, func(a, b Reply) int { return cmp.Compare(a.View, b.View) })
		c.view = earliest.View
		c.Reply(c.asking.Timestamp, result)
		c.asking = nil
		c.Cancel(resend)
	}
}

// -- Messages by their signers ----------------------------------------------------------------------------------------

// put a message among those that it counts with.
func put[K comparable, M any](all map[K]map[step.NodeID]M, with K, signer step.NodeID, m M) {
	if all[with] == nil {
		all[with] = map[step.NodeID]M{}
	}
	all[with][signer] = m
}

// inOrder of their signers.
func inOrder[M any](messages map[step.NodeID]M) []M {
	signers := make([]step.NodeID, 0, len(messages))
	for signer := range messages {
		signers = append(signers, signer)
	}
	slices.Sort(signers)
	found := make([]M, 0, len(messages))
	for _, signer := range signers {
		found = append(found, messages[signer])
	}
	return found
}

// filter is those for which keep says so.
func filter[M any](messages []M, keep func(M) bool) (kept []M) {
	for _, m := range messages {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

// every says whether all are valid, and asks about each.
func every[M any](messages []M, valid func(M) bool) bool {
	return len(filter(messages, valid)) == len(messages)
}
