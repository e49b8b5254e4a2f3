// Package raft is Raft: leader election and log replication.
//
// The paper is D. Ongaro and J. Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", 2014;
// § and Fig. refer to it. A handler names the action of ongardie/raft.tla that it refines.
//
// This is the core: elections, replication, commitment; reads go through the log. There are no snapshots (§7), membership
// changes (§6) and client sessions (§8). Servers crash and recover with a durable disk; messages may be lost, duplicated,
// delayed and reordered. Safety needs no bound on delays or clocks; progress needs broadcast time << election timeout
// (§5.6).
//
// Reading order: messages, state, elections (§5.2, §5.4.1), replication (§5.3), commitment (§5.4.2), clients (§8). Each
// Check is one that the paper demands.
package raft

import (
	"cmp"

	"protosim/step"
)

// Protocol is what a host needs to know.
var Protocol = step.Protocol{
	Name:   "raft",
	Values: []step.Value{Entry{}, RequestVote{}, Vote{}, AppendEntries{}, Appended{}},
	New:    func() step.Machine { return new(Raft) },
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

// -- Messages (Fig. 2) ------------------------------------------------------------------------------------------------

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

type message interface{ term() Term }

func (m RequestVote) term() Term   { return m.Term }
func (m Vote) term() Term          { return m.Term }
func (m AppendEntries) term() Term { return m.Term }
func (m Appended) term() Term      { return m.Term }

// -- State (Fig. 2) ---------------------------------------------------------------------------------------------------

type role int

const (
	follower role = iota
	candidate
	leader
)

// Disk is persistent state on all servers, "updated on stable storage before responding to RPCs".
type Disk struct {
	Term     Term
	VotedFor step.NodeID `wire:"nullable"` // in Term; "" is nobody
	Log      step.Log[Entry]
}

type Switches struct {
	NoOp  bool // a new leader appends a no-op entry, §8
	Batch int  // the most entries in one AppendEntries
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
}

// Start is Restart.
func (r *Raft) Start() {
	r.commitIndex = 0
	r.lastApplied = 0
	r.becomeFollower()
	r.SetTimer(election, electionTimeout)
}

func (r *Raft) becomeFollower() {
	r.role = follower
	r.votes = map[step.NodeID]bool{}
	r.nextIndex = map[step.NodeID]Index{}
	r.matchIndex = map[step.NodeID]Index{}
	r.waiting = map[Index]step.OpID{} // those clients will not hear from me: an indefinite result
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

func (r *Raft) lastIndex() Index { return Index(r.Disk.Log.Len()) }

// termAt is the term of the entry at index; 0 before the log, -1 after it: no entry has these.
func (r *Raft) termAt(index Index) Term {
	switch {
	case index == 0:
		return 0
	case index > r.lastIndex():
		return -1
	default:
		return r.Disk.Log.At(int(index) - 1).Term
	}
}

func (r *Raft) entriesAfter(index Index, most int) []Entry {
	length := r.Disk.Log.Len()
	return r.Disk.Log.Slice(min(int(index), length), min(int(index)+most, length))
}

// position of the end of a log; compared as §5.4.1 compares logs: by term, then by index.
type position struct {
	term  Term
	index Index
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.term, q.term), cmp.Compare(p.index, q.index))
}

func (r *Raft) lastPosition() position {
	return position{r.termAt(r.lastIndex()), r.lastIndex()}
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
	) && r.mayElect(position{m.LastLogTerm, m.LastLogIndex})
	if granted {
		r.Disk.VotedFor = src
		r.Write(&r.Disk.VotedFor)
		r.Sync()
		r.SetTimer(election, electionTimeout) // followers 2, §5.2
	}
	r.Send(src, Vote{r.Disk.Term, granted})
}

// mayElect is the election restriction, §5.4.1: only who holds all committed entries can start an election that wins.
func (r *Raft) mayElect(candidate position) bool {
	return r.Holds(
		step.Check("log_up_to_date", candidate.compare(r.lastPosition()) >= 0), // receiver 2, §5.4.1
	)
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

// replicate is AppendEntries.
func (r *Raft) replicate(peer step.NodeID) {
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

// storeEntries is receiver 3 and 4, §5.3: cut at the first conflict, then append; what conflicts with nothing cuts
// nothing.
func (r *Raft) storeEntries(prev Index, entries []Entry) {
	for i, entry := range entries {
		if at := int(prev) + i; r.termAt(Index(at+1)) != entry.Term {
			r.Disk.Log.Store(at, entries[i:])
			r.Sync()
			return
		}
	}
}

// handleAppendResponse is HandleAppendEntriesResponse. Leaders 3, §5.3.
func (r *Raft) handleAppendResponse(src step.NodeID, m Appended) {
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

// applyCommitted is all servers 1, §5.3.
func (r *Raft) applyCommitted() {
	for r.lastApplied < min(r.commitIndex, r.lastIndex()) {
		r.lastApplied++
		result := r.Apply(int(r.lastApplied), r.Disk.Log.At(int(r.lastApplied)-1).Command)
		if op, ok := r.waiting[r.lastApplied]; ok {
			delete(r.waiting, r.lastApplied)
			r.Reply(op, result)
		}
	}
}

// -- Clients (§8) -----------------------------------------------------------------------------------------------------

// Request is ClientRequest. Reads go through the log too.
func (r *Raft) Request(op step.OpID, command step.Value) {
	asked := r.Holds(
		step.Check("request_to_leader", r.role == leader),
	)
	if !asked {
		r.Refuse(op)
		return
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
