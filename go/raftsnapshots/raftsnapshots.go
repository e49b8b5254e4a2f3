// Package raftsnapshots is Raft with log compaction, InstallSnapshot and client sessions.
//
// The paper is D. Ongaro and J. Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)",
// 2014; § and Fig. refer to it, thesis § to D. Ongaro, "Consensus: Bridging Theory and Practice", 2014. A handler names
// the action of ongardie/raft.tla that it refines.
//
// With all switches off it is package raft, and assumes what that does; and that to replace a log by its end is one
// atomic write, as to rename a file is. Each server compacts its log by itself (§7); the whole snapshot goes in one
// message, without Fig. 13's offset, data and done. A session is for one command, whose operation is its serial number.
//
// Reading order: sessions, messages, state, the log behind a snapshot, elections (§5.2, §5.4.1), replication (§5.3),
// commitment (§5.4.2), compaction (§7), InstallSnapshot (Fig. 13), clients (§8). A Check is one that the paper demands.
package raftsnapshots

import (
	"cmp"
	"slices"

	"protosim/step"
)

// Protocol is what a host needs to know.
var Protocol = step.Protocol{
	Name: "raft_snapshots",
	Values: []step.Value{
		Entry{}, Proposal{}, Snapshot{}, State{},
		RequestVote{}, Vote{}, AppendEntries{}, Appended{}, InstallSnapshot{},
	},
	New:            func() step.Machine { return new(Raft) },
	NewApplication: func() step.Application { return &SessionStore{answers: map[step.OpID]step.Value{}} },
}

type (
	Term  int
	Index int // of a log entry, from 1 as in the paper; 0 is before the first
)

const (
	election  step.Timer = "election"
	heartbeat step.Timer = "heartbeat"
)

var (
	electionTimeout   = step.Range{150 * step.MS, 300 * step.MS} // §9.3
	heartbeatInterval = step.Range{50 * step.MS, 50 * step.MS}
)

// -- The replicated state machine, with its sessions (thesis §6.3) ----------------------------------------------------

// Proposal is a command that its client may ask for again. Sessions are of one command, so its number names both.
type Proposal struct {
	Operation step.OpID
	Command   step.Value
}

// State is the registers and the answers, each in order.
type State struct {
	Registers []step.Register
	Answers   []Answer
}

type Answer struct {
	Operation step.OpID
	Result    step.Value
}

// SessionStore remembers what it answered: a proposal that comes again gets the first answer, and has no effect.
type SessionStore struct {
	store   step.KeyValue
	answers map[step.OpID]step.Value
}

func (s *SessionStore) Apply(command step.Value) any {
	proposal, ok := command.(Proposal)
	if !ok {
		return s.store.Apply(command)
	}
	if _, again := s.answers[proposal.Operation]; !again {
		s.answers[proposal.Operation] = s.store.Apply(proposal.Command)
	}
	return s.answers[proposal.Operation]
}

func (s *SessionStore) Snapshot() step.Value {
	state := State{Registers: s.store.Snapshot().([]step.Register)}
	for operation, result := range s.answers {
		state.Answers = append(state.Answers, Answer{operation, result})
	}
	slices.SortFunc(state.Answers, func(a, b Answer) int { return cmp.Compare(a.Operation, b.Operation) })
	return state
}

func (s *SessionStore) Restore(state step.Value) {
	s.store.Restore(state.(State).Registers)
	s.answers = map[step.OpID]step.Value{}
	for _, answer := range state.(State).Answers {
		s.answers[answer.Operation] = answer.Result
	}
}

// -- Messages (Fig. 2, Fig. 13) ---------------------------------------------------------------------------------------

type Entry struct {
	Term    Term
	Command step.Value // nil: the no-op of a new leader, §8
}

type RequestVote struct {
	Term         Term
	LastLogIndex Index
	LastLogTerm  Term
}

// Vote is RequestVote's result.
type Vote struct {
	Term    Term
	Granted bool
}

type AppendEntries struct {
	Term         Term
	PrevLogIndex Index
	PrevLogTerm  Term
	Entries      []Entry
	LeaderCommit Index
}

// Appended is AppendEntries' result. Match is raft.tla's mmatchIndex; the paper lets the leader infer it.
type Appended struct {
	Term    Term
	Success bool
	Match   Index
}

// Snapshot is the state machine as the entries up to LastIndex have made it.
type Snapshot struct {
	LastIndex Index
	LastTerm  Term
	State     State
}

// InstallSnapshot (Fig. 13) is answered by Appended, whose Match says how far the follower has come.
type InstallSnapshot struct {
	Term     Term
	Snapshot Snapshot
}

type message interface{ term() Term }

func (m RequestVote) term() Term     { return m.Term }
func (m Vote) term() Term            { return m.Term }
func (m AppendEntries) term() Term   { return m.Term }
func (m Appended) term() Term        { return m.Term }
func (m InstallSnapshot) term() Term { return m.Term }

// -- State (Fig. 2) ---------------------------------------------------------------------------------------------------

type role int

const (
	follower role = iota
	candidate
	leader
)

// Disk is persistent state on all servers, "updated on stable storage before responding to RPCs". The log begins after
// its base; what came before that is in the snapshot.
type Disk struct {
	Term     Term
	VotedFor step.NodeID `wire:"nullable"` // in Term; "" is nobody
	Log      step.Log[Entry]
	Snapshot *Snapshot
}

type Switches struct {
	NoOp       bool // a new leader appends a no-op entry, §8
	Batch      int  // the most entries in one AppendEntries
	Compaction int  // compact the log when it has more applied entries than this; 0: never, §7
	Sessions   bool // clients ask again, and a command takes effect once, thesis §6.3
}

type Raft struct {
	step.Node[Disk, Switches]

	role        role
	commitIndex Index
	lastApplied Index
	votes       map[step.NodeID]bool  // candidates: who voted for me in this term
	nextIndex   map[step.NodeID]Index // leaders
	matchIndex  map[step.NodeID]Index // leaders
	waiting     map[Index]step.OpID   // leaders: whose command stands there
	pending     map[step.NodeID]Index // leaders: up to where the snapshot reaches that a follower was sent
}

// Start is Restart.
func (r *Raft) Start() {
	r.becomeFollower()
	r.SetTimer(election, electionTimeout)
	if r.Disk.Snapshot != nil {
		if r.Disk.Snapshot.LastIndex > r.base() {
			r.cutLog() // a crash came before it
		}
		r.useSnapshot()
	}
}

func (r *Raft) becomeFollower() {
	r.role = follower
	r.votes = map[step.NodeID]bool{}
	r.nextIndex = map[step.NodeID]Index{}
	r.matchIndex = map[step.NodeID]Index{}
	r.waiting = map[Index]step.OpID{} // those clients will not hear from me: an indefinite result
	r.pending = map[step.NodeID]Index{}
}

func (r *Raft) Receive(src step.NodeID, m step.Value) {
	if term := m.(message).term(); term > r.Disk.Term {
		r.updateTerm(term)
	}
	switch m := m.(type) {
	case RequestVote:
		r.handleRequestVote(src, m)
	case Vote:
		r.handleVoteResponse(src, m)
	case AppendEntries:
		r.handleAppendEntries(src, m)
	case Appended:
		r.handleAppendResponse(src, m)
	case InstallSnapshot:
		r.handleInstallSnapshot(src, m)
	}
}

func (r *Raft) Timeout(t step.Timer) {
	switch t {
	case election:
		r.startElection()
	case heartbeat:
		r.sendHeartbeats()
	}
}

// updateTerm is UpdateTerm: a higher term makes anyone a follower, with a fresh vote. All servers, §5.1.
func (r *Raft) updateTerm(term Term) {
	r.Disk.Term, r.Disk.VotedFor = term, ""
	r.Write(&r.Disk.Term, &r.Disk.VotedFor)
	r.Sync()
	if r.role != follower {
		r.becomeFollower()
		r.SetTimer(election, electionTimeout)
	}
}

// -- The log behind a snapshot ----------------------------------------------------------------------------------------

// base is the index of the last entry that the log has dropped.
func (r *Raft) base() Index { return Index(r.Disk.Log.Base()) }

func (r *Raft) lastIndex() Index {
	return r.base() + Index(r.Disk.Log.Len())
}

func (r *Raft) entry(index Index) Entry {
	return r.Disk.Log.At(int(index-r.base()) - 1)
}

// termAt is the term of the entry at index; 0 before entry 1, -1 where there is none or it is known no more.
func (r *Raft) termAt(index Index) Term {
	switch snapshot := r.Disk.Snapshot; {
	case index == 0:
		return 0
	case r.base() < index && index <= r.lastIndex():
		return r.entry(index).Term
	case snapshot != nil && snapshot.LastIndex == index:
		return snapshot.LastTerm
	default:
		return -1
	}
}

func (r *Raft) entriesAfter(index Index, most int) []Entry {
	length := r.Disk.Log.Len()
	first := min(int(index-r.base()), length)
	return r.Disk.Log.Slice(first, min(first+most, length))
}

// -- Elections (§5.2, §5.4.1) -----------------------------------------------------------------------------------------

// startElection is Timeout, RequestVote. Candidates 1, §5.2.
func (r *Raft) startElection() {
	if r.role == leader {
		return
	}
	r.role = candidate
	r.Disk.Term, r.Disk.VotedFor = r.Disk.Term+1, r.Me
	r.Write(&r.Disk.Term, &r.Disk.VotedFor)
	r.Sync()
	r.votes = map[step.NodeID]bool{r.Me: true}
	r.SetTimer(election, electionTimeout)
	r.Broadcast(RequestVote{r.Disk.Term, r.lastIndex(), r.termAt(r.lastIndex())})
	r.countVotes() // a cluster of one is its own majority
}

// handleRequestVote is HandleRequestVoteRequest.
func (r *Raft) handleRequestVote(src step.NodeID, m RequestVote) {
	granted := r.Holds(
		step.Check("request_vote_current", m.Term == r.Disk.Term),                         // receiver 1, §5.1
		step.Check("vote_once_per_term", r.Disk.VotedFor == "" || r.Disk.VotedFor == src), // receiver 2, §5.2
	) && r.mayElect(m)
	if granted {
		r.Disk.VotedFor = src
		r.Write(&r.Disk.VotedFor)
		r.Sync()
		r.SetTimer(election, electionTimeout) // followers 2, §5.2
	}
	r.Send(src, Vote{r.Disk.Term, granted})
}

// mayElect is the election restriction, §5.4.1: only who holds all committed entries can start an election that wins.
func (r *Raft) mayElect(m RequestVote) bool {
	return r.Holds(
		step.Check("log_up_to_date", r.compareWithMyLog(m.LastLogTerm, m.LastLogIndex) >= 0), // receiver 2, §5.4.1
	)
}

// compareWithMyLog is §5.4.1's: by the last entry's term, then by its index.
func (r *Raft) compareWithMyLog(term Term, index Index) int {
	return cmp.Or(cmp.Compare(term, r.termAt(r.lastIndex())), cmp.Compare(index, r.lastIndex()))
}

// handleVoteResponse is HandleRequestVoteResponse.
func (r *Raft) handleVoteResponse(src step.NodeID, m Vote) {
	counted := r.Holds(
		step.Check("vote_response_current", m.Term == r.Disk.Term), // DropStaleResponse
		step.Check("still_candidate", r.role == candidate),
		step.Check("vote_granted", m.Granted),
	)
	if counted {
		r.votes[src] = true
		r.countVotes()
	}
}

// countVotes is BecomeLeader. Candidates 2, §5.2.
func (r *Raft) countVotes() {
	elected := r.Holds(
		step.Check("votes_from_majority", r.IsMajority(len(r.votes))),
	)
	if !elected {
		return
	}
	r.role = leader
	for _, peer := range r.Peers {
		r.nextIndex[peer] = r.lastIndex() + 1
		r.matchIndex[peer] = 0
	}
	r.Cancel(election)
	if r.Switches.NoOp {
		r.appendEntry(Entry{r.Disk.Term, nil})
	}
	r.sendHeartbeats()
}

// -- Replication (§5.3) -----------------------------------------------------------------------------------------------

// sendHeartbeats is AppendEntries to everyone, empty where there is nothing to send. Leaders 1 and 3, §5.2, §5.3.
func (r *Raft) sendHeartbeats() {
	if r.role == leader {
		r.SetTimer(heartbeat, heartbeatInterval)
		for _, peer := range r.Peers {
			r.replicate(peer)
		}
	}
}

// appendEntry is leaders 2, §5.3.
func (r *Raft) appendEntry(entry Entry) {
	r.Disk.Log.Append(entry)
	r.Sync()
}

// replicate is AppendEntries; to a follower that misses what the log has dropped, the snapshot, again with each
// heartbeat until it came.
func (r *Raft) replicate(peer step.NodeID) {
	if r.pending[peer] > 0 || r.nextIndex[peer] <= r.base() {
		r.pending[peer] = cmp.Or(r.pending[peer], r.Disk.Snapshot.LastIndex)
		r.Send(peer, InstallSnapshot{r.Disk.Term, *r.Disk.Snapshot})
		return
	}
	prev := r.nextIndex[peer] - 1
	entries := r.entriesAfter(prev, r.Switches.Batch)
	r.Send(peer, AppendEntries{r.Disk.Term, prev, r.termAt(prev), entries, r.commitIndex})
}

// handleAppendEntries is HandleAppendEntriesRequest.
func (r *Raft) handleAppendEntries(src step.NodeID, m AppendEntries) {
	current := r.Holds(
		step.Check("append_entries_current", m.Term == r.Disk.Term), // receiver 1, §5.1
	)
	if !current {
		r.Send(src, Appended{r.Disk.Term, false, 0})
		return
	}
	if r.role == candidate {
		r.becomeFollower() // candidates 3, §5.2
	}
	r.SetTimer(election, electionTimeout) // followers 2, §5.2
	m = r.afterSnapshot(m)
	accepted := r.Holds(
		step.Check("prev_log_matches", r.termAt(m.PrevLogIndex) == m.PrevLogTerm), // receiver 2, §5.3
	)
	if !accepted {
		r.Send(src, Appended{r.Disk.Term, false, min(r.lastIndex(), m.PrevLogIndex-1)})
		return
	}
	r.storeEntries(m.PrevLogIndex, m.Entries)
	match := m.PrevLogIndex + Index(len(m.Entries))
	if m.LeaderCommit > r.commitIndex {
		r.commitIndex = max(r.commitIndex, min(m.LeaderCommit, match)) // receiver 5
		r.applyCommitted()
	}
	r.Send(src, Appended{r.Disk.Term, true, match})
}

// storeEntries is receiver 3 and 4, §5.3: cut at the first conflict, and only there, then append.
func (r *Raft) storeEntries(prev Index, entries []Entry) {
	for i, entry := range entries {
		if index := prev + Index(i) + 1; r.termAt(index) != entry.Term {
			r.Disk.Log.Store(int(index-r.base())-1, entries[i:])
			r.Sync()
			return
		}
	}
}

// afterSnapshot is m without what the snapshot stands for: that is committed, so the leader's entries are the same.
func (r *Raft) afterSnapshot(m AppendEntries) AppendEntries {
	known := int(r.base() - m.PrevLogIndex)
	if known <= 0 {
		return m
	}
	rest := m.Entries[min(known, len(m.Entries)):]
	return AppendEntries{m.Term, r.base(), r.termAt(r.base()), rest, m.LeaderCommit}
}

// handleAppendResponse is HandleAppendEntriesResponse. Leaders 3, §5.3. A follower that was sent a snapshot is sent
// nothing else until it says that it has come as far.
func (r *Raft) handleAppendResponse(src step.NodeID, m Appended) {
	arrived := r.Holds(
		step.Check("snapshot_arrived", r.pending[src] == 0 || m.Success && m.Match >= r.pending[src]),
	)
	if !arrived {
		return
	}
	delete(r.pending, src)
	relevant := r.Holds(
		step.Check("append_response_current", m.Term == r.Disk.Term), // DropStaleResponse
		step.Check("still_leader", r.role == leader),
	)
	if !relevant {
		return
	}
	if m.Success {
		r.matchIndex[src] = max(r.matchIndex[src], m.Match)
		r.nextIndex[src] = r.matchIndex[src] + 1
		r.advanceCommitIndex()
	} else {
		r.nextIndex[src] = max(r.matchIndex[src]+1, min(r.nextIndex[src]-1, m.Match+1))
	}
	if r.nextIndex[src] <= r.lastIndex() {
		r.replicate(src)
	}
}

// -- Commitment (§5.3, §5.4.2) ----------------------------------------------------------------------------------------

// advanceCommitIndex is AdvanceCommitIndex. Leaders 4, §5.3, §5.4.
func (r *Raft) advanceCommitIndex() {
	for index := r.lastIndex(); index > r.commitIndex; index-- {
		committed := r.Holds(
			step.Check("replicated_on_majority", r.IsMajority(r.holders(index))), // §5.3
			step.Check("commit_current_term", r.termAt(index) == r.Disk.Term),    // §5.4.2, Fig. 8
		)
		if committed {
			r.commitIndex = index
			r.applyCommitted()
			return
		}
	}
}

// holders is how many are known to hold the entry, me among them.
func (r *Raft) holders(index Index) int {
	count := 1
	for _, peer := range r.Peers {
		if r.matchIndex[peer] >= index {
			count++
		}
	}
	return count
}

// applyCommitted is all servers 1, §5.3; then what is applied may be dropped.
func (r *Raft) applyCommitted() {
	for r.lastApplied < min(r.commitIndex, r.lastIndex()) {
		r.lastApplied++
		result := r.Apply(int(r.lastApplied), r.entry(r.lastApplied).Command)
		if op, ok := r.waiting[r.lastApplied]; ok {
			delete(r.waiting, r.lastApplied)
			r.Reply(op, result)
		}
	}
	if most := r.Switches.Compaction; most > 0 && int(r.lastApplied-r.base()) > most {
		r.compact()
	}
}

// -- Compaction (§7) --------------------------------------------------------------------------------------------------

// compact makes the snapshot durable before the entries are gone that it stands for.
func (r *Raft) compact() {
	r.Disk.Snapshot = &Snapshot{r.lastApplied, r.termAt(r.lastApplied), r.Snapshot().(State)}
	r.Write(&r.Disk.Snapshot)
	r.Sync()
	r.cutLog()
}

// cutLog drops what the snapshot stands for, and what does not follow it. Fig. 13, receiver 6 and 7.
func (r *Raft) cutLog() {
	last := r.Disk.Snapshot
	follows := r.Holds(
		step.Check("suffix_follows_snapshot", r.termAt(last.LastIndex) == last.LastTerm), // receiver 6
	)
	var kept []Entry
	if follows {
		kept = r.entriesAfter(last.LastIndex, r.Disk.Log.Len())
	}
	r.Disk.Log.Reset(int(last.LastIndex), kept)
	r.Sync()
}

// -- InstallSnapshot (§7, Fig. 13) ------------------------------------------------------------------------------------

func (r *Raft) handleInstallSnapshot(src step.NodeID, m InstallSnapshot) {
	current := r.Holds(
		step.Check("install_snapshot_current", m.Term == r.Disk.Term), // receiver 1
	)
	if !current {
		r.Send(src, Appended{r.Disk.Term, false, 0})
		return
	}
	if r.role == candidate {
		r.becomeFollower()
	}
	r.SetTimer(election, electionTimeout)
	ahead := r.Holds(
		step.Check("snapshot_is_ahead", m.Snapshot.LastIndex > r.commitIndex), // what is committed here is as good
	)
	if ahead {
		r.Disk.Snapshot = &m.Snapshot // receiver 5 to 8
		r.Write(&r.Disk.Snapshot)
		r.Sync()
		r.cutLog()
		r.useSnapshot()
	}
	r.Send(src, Appended{r.Disk.Term, true, r.commitIndex})
}

// useSnapshot resets the state machine. Receiver 8; after a restart, thesis §5.1.
func (r *Raft) useSnapshot() {
	snapshot := r.Disk.Snapshot
	r.Restore(int(snapshot.LastIndex), snapshot.State)
	r.lastApplied = snapshot.LastIndex
	r.commitIndex = snapshot.LastIndex
}

// -- Clients (§8, thesis §6.3) ----------------------------------------------------------------------------------------

// Request is ClientRequest. Reads go through the log too. The client's number travels with its command, so that every
// server can tell when it comes again.
func (r *Raft) Request(op step.OpID, command step.Value) {
	asked := r.Holds(
		step.Check("request_to_leader", r.role == leader),
	)
	if !asked {
		r.Refuse(op)
		return
	}
	if r.Switches.Sessions {
		command = Proposal{op, command}
	}
	r.appendEntry(Entry{r.Disk.Term, command})
	r.waiting[r.lastIndex()] = op
	for _, peer := range r.Peers {
		if r.nextIndex[peer] == r.lastIndex() { // others will ask for what they miss first
			r.replicate(peer)
		}
	}
	r.advanceCommitIndex() // a cluster of one is its own majority
}
