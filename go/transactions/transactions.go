// Package transactions is transactions over shards: two-phase locking in a global order, and two-phase commit.
//
// The book is P. Bernstein, V. Hadzilacos and N. Goodman, "Concurrency Control and Recovery in Database Systems", 1987
// (BHG): two-phase locking §3.2, deadlocks §3.4, strict two-phase locking §3.5, two-phase commit §7.4. Presumed abort
// is of C. Mohan, B. Lindsay and R. Obermarck, "Transaction Management in the R* Distributed Database Management
// System", 1986 (R*), §3. J. Havender, "Avoiding Deadlock in Multitasking Systems", 1968: whoever asks in one order never
// deadlocks. M. Burrows, "The Chubby Lock Service", 2006, §2.4: locks have sequencers, here called tokens.
//
// Every node is a shard, and coordinates what clients ask of it. Accounts are spread over the shards by their names. A
// transaction reads some accounts and moves an amount from the first of them to each other one. All locks are
// exclusive. A shard votes no where an account would be overdrawn, or a lock was lost. Nodes crash and recover with a
// durable disk; messages may be lost, duplicated, delayed and reordered. Safety needs no bound on delays or clocks;
// progress needs that every node comes back.
//
// A lock is in memory until its shard has prepared: a shard that restarts has forgotten who held what, so each lock
// that it grants has a token that no other has, and a transaction prepares only under the tokens that it was given.
// What a shard or a coordinator has no answer to, it says again. A coordinator knows nothing of what it aborted
// (presumed abort): whoever asks about a transaction that it does not know is told to abort it.
//
// Reading order: accounts, messages, state, locks (BHG §3), commitment (BHG §7.4), retransmission. Each Check is one
// that the sources demand.
package transactions

import (
	"cmp"
	"slices"

	"protosim/step"
)

// Protocol is what a host needs to know.
var Protocol = step.Protocol{
	Name: "transactions",
	Values: []step.Value{
		Transaction{}, Cell{}, Held{}, Write{}, Prepared{}, Commit{},
		Lock{}, Granted{}, Unlock{}, Prepare{}, Vote{}, Decision{}, Finished{},
	},
	New: func() step.Machine { return new(Shard) },
}

const retry step.Timer = "retry"

var retryInterval = step.Range{60 * step.MS, 120 * step.MS}

// -- Accounts ---------------------------------------------------------------------------------------------------------

type Account string

var accounts = []Account{"a", "b", "c", "d"}

const opening = 5 // the balance of each account at the beginning

// home has the account.
func home(account Account, ids []step.NodeID) step.NodeID {
	return ids[slices.Index(accounts, account)%len(ids)]
}

// Transaction is to read these accounts, and to move Amount from the first to each of the others; 0 only reads.
type Transaction struct {
	Accounts []Account
	Amount   int
}

// Cell is a balance, and which transaction left it.
type Cell struct {
	Balance int
	Writer  Tid
}

// Written is an account that was written since the beginning.
type Written struct {
	Account Account
	Cell    Cell
}

// -- Messages ---------------------------------------------------------------------------------------------------------

// Tid names a transaction by the operation of its client; 0 is the beginning, in which all accounts were made.
type Tid = step.OpID

// Token of a lock: the shard's boot, and which lock since then.
type Token struct {
	Boot, Number int
}

// Held is a lock as its holder knows it.
type Held struct {
	Account Account
	Token   Token
}

type Write struct {
	Account Account
	Balance int
}

type Lock struct {
	Tid     Tid
	Account Account
}

// Granted is the lock, and what the account holds under it.
type Granted struct {
	Tid  Tid
	Lock Held
	Cell Cell
}

// Unlock says that this lock is of no use: its transaction is over, or has another.
type Unlock struct {
	Tid  Tid
	Lock Held
}

// Prepare is VOTE-REQ: the shard's locks of the transaction, and what it will write.
type Prepare struct {
	Tid    Tid
	Locks  []Held
	Writes []Write
}

type Vote struct {
	Tid   Tid
	Yes   bool
	Locks []Held
}

type Decision struct {
	Tid       Tid
	Committed bool
	Locks     []Held
}

// Finished says that the decision is carried out. Freed are the locks that this released.
type Finished struct {
	Tid   Tid
	Freed []Held
}

// -- State ------------------------------------------------------------------------------------------------------------

// Prepared is a shard's record: it can commit, and waits for the decision.
type Prepared struct {
	Tid         Tid
	Coordinator step.NodeID
	Locks       []Held
	Writes      []Write
}

// Commit is a coordinator's record: the decision, until every shard has carried it out. There is none for an abort.
type Commit struct {
	Tid   Tid
	Locks []Held
}

type Disk struct {
	Boot     int // how often the node has started
	Cells    []Written
	Prepared []Prepared
	Commits  []Commit
}

type Switches struct {
	AtOnce int // how many undecided transactions a coordinator has at most
}

// owner has a lock, or waits for it.
type owner struct {
	tid         Tid
	coordinator step.NodeID
	token       Token
}

// active is a transaction that is not decided, as its coordinator knows it.
type active struct {
	command Transaction
	locks   []Held
	cells   []Cell        // what each lock's account holds
	votes   []step.NodeID // who voted yes
}

func (a *active) holds(account Account) bool {
	return slices.ContainsFunc(a.locks, func(lock Held) bool { return lock.Account == account })
}

func (a *active) read(account Account) Cell {
	return a.cells[slices.IndexFunc(a.locks, func(lock Held) bool { return lock.Account == account })]
}

// effect is what the transaction writes, given what it reads.
func (a *active) effect() (writes []Write) {
	amount := a.command.Amount
	if amount == 0 {
		return nil
	}
	source, targets := a.command.Accounts[0], a.command.Accounts[1:]
	writes = append(writes, Write{source, a.read(source).Balance - amount*len(targets)})
	for _, target := range targets {
		writes = append(writes, Write{target, a.read(target).Balance + amount})
	}
	return writes
}

type Shard struct {
	step.Node[Disk, Switches]

	ids        []step.NodeID
	active     step.Ordered[Tid, *active]   // coordinators
	unfinished map[Tid][]step.NodeID        // coordinators: which shards have yet to carry out a commit, in order
	owners     step.Ordered[Account, owner] // shards
	queues     map[Account][]owner          // shards: who waits, in order of arrival
	granted    int                          // shards: locks, since the start
}

// Start is a restart: the locks of what is prepared are held, and what is committed is told again. BHG §7.4.
func (s *Shard) Start() {
	s.ids = append([]step.NodeID{s.Me}, s.Peers...)
	slices.Sort(s.ids)
	s.Disk.Boot++ // so that no token was ever given before
	s.Write(&s.Disk.Boot)
	s.Sync()
	s.unfinished = map[Tid][]step.NodeID{}
	for _, commit := range s.Disk.Commits {
		s.unfinished[commit.Tid] = s.shards(commit.Locks)
	}
	s.queues = map[Account][]owner{}
	for _, record := range s.Disk.Prepared {
		for _, lock := range record.Locks {
			s.owners.Set(lock.Account, owner{record.Tid, record.Coordinator, lock.Token})
		}
	}
	s.retry()
}

func (s *Shard) Receive(src step.NodeID, m step.Value) {
	switch m := m.(type) {
	case Lock:
		s.handleLock(src, m)
	case Granted:
		s.handleGranted(src, m)
	case Unlock:
		s.handleUnlock(m)
	case Prepare:
		s.handlePrepare(src, m)
	case Vote:
		s.handleVote(src, m)
	case Decision:
		s.handleDecision(src, m)
	case Finished:
		s.handleFinished(src, m)
	}
}

func (s *Shard) Timeout(t step.Timer) {
	if t == retry {
		s.retry()
	}
}

// shards are where the locks are, each once, in order.
func (s *Shard) shards(locks []Held) (found []step.NodeID) {
	for _, lock := range locks {
		found = append(found, home(lock.Account, s.ids))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// at are those of this shard.
func (s *Shard) at(shard step.NodeID, locks []Held) (found []Held) {
	for _, lock := range locks {
		if home(lock.Account, s.ids) == shard {
			found = append(found, lock)
		}
	}
	return found
}

// recordOf the transaction; nil if it is not prepared here.
func (s *Shard) recordOf(tid Tid) *Prepared {
	for i := range s.Disk.Prepared {
		if record := &s.Disk.Prepared[i]; record.Tid == tid {
			return record
		}
	}
	return nil
}

// -- Locks (BHG §3) ---------------------------------------------------------------------------------------------------

func (s *Shard) Request(op step.OpID, command step.Value) {
	if s.active.Len() < s.Switches.AtOnce {
		s.active.Set(op, &active{command: command.(Transaction)})
		s.goOn(op)
	} else {
		s.Refuse(op)
	}
}

// nextAccount is the first without a lock, in the global order; "" if all are locked.
func (s *Shard) nextAccount(tid Tid) Account {
	tx := s.active.At(tid)
	inOrder := slices.Clone(tx.command.Accounts)
	slices.Sort(inOrder)
	for _, account := range inOrder {
		if !tx.holds(account) {
			return account
		}
	}
	return ""
}

// goOn asks for the next lock, or with all of them for the votes: the growing phase is over. BHG §3.2; Havender.
func (s *Shard) goOn(tid Tid) {
	if account := s.nextAccount(tid); account == "" {
		s.prepare(tid)
	} else {
		s.Send(home(account, s.ids), Lock{tid, account})
	}
}

func (s *Shard) handleLock(src step.NodeID, m Lock) {
	if s.owners.Has(m.Account) && s.owners.At(m.Account).tid == m.Tid {
		s.tellGranted(m.Account)
		return
	}
	queue := s.queues[m.Account]
	if !slices.ContainsFunc(queue, func(waiting owner) bool { return waiting.tid == m.Tid }) {
		s.queues[m.Account] = append(queue, owner{tid: m.Tid, coordinator: src})
		s.grant(m.Account)
	}
}

// grant to the first who waits, once nobody has it.
func (s *Shard) grant(account Account) {
	queue := s.queues[account]
	if len(queue) == 0 {
		return
	}
	free := s.Holds(
		step.Check("lock_free", !s.owners.Has(account)),
	)
	if free {
		s.queues[account] = queue[1:]
		s.granted++
		s.owners.Set(account, owner{queue[0].tid, queue[0].coordinator, Token{s.Disk.Boot, s.granted}})
		s.tellGranted(account)
	}
}

func (s *Shard) tellGranted(account Account) {
	owner := s.owners.At(account)
	s.Send(owner.coordinator, Granted{owner.tid, Held{account, owner.token}, s.cell(account)})
}

func (s *Shard) cell(account Account) Cell {
	for _, written := range s.Disk.Cells {
		if written.Account == account {
			return written.Cell
		}
	}
	return Cell{opening, 0}
}

func (s *Shard) handleGranted(src step.NodeID, m Granted) {
	tx := s.active.At(m.Tid)
	if tx != nil && slices.Contains(tx.locks, m.Lock) {
		return
	}
	if tx == nil || m.Lock.Account != s.nextAccount(m.Tid) {
		s.Send(src, Unlock{m.Tid, m.Lock})
		return
	}
	tx.locks, tx.cells = append(tx.locks, m.Lock), append(tx.cells, m.Cell)
	s.goOn(m.Tid)
}

// handleUnlock of a message that may be late: once prepared, only the decision releases. BHG §7.4.
func (s *Shard) handleUnlock(m Unlock) {
	free := s.Holds(
		step.Check("lock_not_prepared", !s.isPrepared(m.Tid, m.Lock)),
	)
	if free {
		s.release(m.Lock)
	}
}

func (s *Shard) isPrepared(tid Tid, lock Held) bool {
	record := s.recordOf(tid)
	return record != nil && slices.Contains(record.Locks, lock)
}

// release exactly once: who comes late finds another token, and changes nothing.
func (s *Shard) release(lock Held) bool {
	released := s.Holds(
		step.Check("token_is_owners", s.owners.Has(lock.Account) && s.owners.At(lock.Account).token == lock.Token),
	)
	if released {
		s.owners.Delete(lock.Account)
		s.grant(lock.Account)
	}
	return released
}

// -- Commitment (BHG §7.4; R* §3) -------------------------------------------------------------------------------------

// prepare is VOTE-REQ, to those that have not voted.
func (s *Shard) prepare(tid Tid) {
	tx := s.active.At(tid)
	writes := tx.effect()
	for _, shard := range s.shards(tx.locks) {
		if !slices.Contains(tx.votes, shard) {
			var own []Write
			for _, write := range writes {
				if home(write.Account, s.ids) == shard {
					own = append(own, write)
				}
			}
			s.Send(shard, Prepare{tid, s.at(shard, tx.locks), own})
		}
	}
}

func (s *Shard) handlePrepare(src step.NodeID, m Prepare) {
	if s.recordOf(m.Tid) == nil {
		canCommit := s.Holds(
			step.Check("locks_still_held", s.holdsLocks(m.Tid, m.Locks)),
			step.Check("nothing_overdrawn", !slices.ContainsFunc(m.Writes, Write.overdraws)),
		)
		if !canCommit {
			s.Send(src, Vote{m.Tid, false, m.Locks})
			return
		}
		s.Disk.Prepared = append(s.Disk.Prepared, Prepared{m.Tid, src, m.Locks, m.Writes})
		s.Write(&s.Disk.Prepared)
		s.Sync()
	}
	s.Send(src, Vote{m.Tid, true, m.Locks})
}

func (w Write) overdraws() bool { return w.Balance < 0 }

// holdsLocks under these tokens, so without a break since they were granted.
func (s *Shard) holdsLocks(tid Tid, locks []Held) bool {
	for _, lock := range locks {
		if owner := s.owners.At(lock.Account); owner.tid != tid || owner.token != lock.Token {
			return false
		}
	}
	return true
}

func (s *Shard) handleVote(src step.NodeID, m Vote) {
	tx := s.active.At(m.Tid)
	if tx == nil {
		s.answerVote(src, m)
		return
	}
	yes := s.Holds(
		step.Check("voted_yes", m.Yes),
	)
	if yes {
		tx.votes = append(tx.votes, src)
		s.decide(m.Tid)
	} else {
		s.abort(m.Tid)
	}
}

// answerVote is the decision, to who asks: commit if there is a record of it, abort if there is none. R* §3.
func (s *Shard) answerVote(src step.NodeID, m Vote) {
	if m.Yes {
		_, committed := s.unfinished[m.Tid]
		s.Send(src, Decision{m.Tid, committed, m.Locks})
	}
}

// decide to commit, if all have voted yes: first on disk, then to client and shards. BHG §7.4.
func (s *Shard) decide(tid Tid) {
	tx := s.active.At(tid)
	unanimous := s.Holds(
		step.Check("all_voted_yes", s.allVoted(tx)),
	)
	if !unanimous {
		return
	}
	s.Disk.Commits = append(s.Disk.Commits, Commit{tid, tx.locks})
	s.Write(&s.Disk.Commits)
	s.Sync()
	s.active.Delete(tid)
	s.unfinished[tid] = s.shards(tx.locks)
	var read []Cell
	for _, account := range tx.command.Accounts {
		read = append(read, tx.read(account))
	}
	s.Reply(tid, read)
	s.tellCommitted(tid, tx.locks)
}

// allVoted yes: every shard where the transaction has a lock.
func (s *Shard) allVoted(tx *active) bool {
	for _, shard := range s.shards(tx.locks) {
		if !slices.Contains(tx.votes, shard) {
			return false
		}
	}
	return true
}

func (s *Shard) tellCommitted(tid Tid, locks []Held) {
	for _, shard := range s.unfinished[tid] {
		s.Send(shard, Decision{tid, true, s.at(shard, locks)})
	}
}

// abort without a record: who was not told will ask. R* §3.
func (s *Shard) abort(tid Tid) {
	tx := s.active.At(tid)
	s.active.Delete(tid)
	s.Reply(tid, nil)
	for _, shard := range s.shards(tx.locks) {
		s.Send(shard, Decision{tid, false, s.at(shard, tx.locks)})
	}
}

// handleDecision carries it out in one write, then releases: the shrinking phase. BHG §3.5, §7.4.
func (s *Shard) handleDecision(src step.NodeID, m Decision) {
	if record := s.recordOf(m.Tid); record != nil {
		cells := s.withWrites(*record)
		s.Disk.Prepared = slices.DeleteFunc(s.Disk.Prepared, func(other Prepared) bool { return other.Tid == m.Tid })
		if m.Committed {
			s.Disk.Cells = cells
			s.Write(&s.Disk.Prepared, &s.Disk.Cells)
		} else {
			s.Write(&s.Disk.Prepared)
		}
		s.Sync()
	}
	var freed []Held
	for _, lock := range m.Locks {
		if s.release(lock) {
			freed = append(freed, lock)
		}
	}
	s.Send(src, Finished{m.Tid, freed})
}

// withWrites are the cells afterwards, in the order of their accounts.
func (s *Shard) withWrites(record Prepared) []Written {
	cells := slices.Clone(s.Disk.Cells)
	for _, write := range record.Writes {
		i, found := slices.BinarySearchFunc(cells, write.Account, Written.compare)
		if !found {
			cells = slices.Insert(cells, i, Written{Account: write.Account})
		}
		cells[i].Cell = Cell{write.Balance, record.Tid}
	}
	return cells
}

func (w Written) compare(account Account) int { return cmp.Compare(w.Account, account) }

// handleFinished is END: with the last of these the decision may be forgotten. R* §3.
func (s *Shard) handleFinished(src step.NodeID, m Finished) {
	left, found := s.unfinished[m.Tid]
	if !found {
		return
	}
	left = slices.DeleteFunc(left, func(shard step.NodeID) bool { return shard == src })
	s.unfinished[m.Tid] = left
	finished := s.Holds(
		step.Check("all_have_finished", len(left) == 0),
	)
	if finished {
		delete(s.unfinished, m.Tid)
		s.Disk.Commits = slices.DeleteFunc(s.Disk.Commits, func(commit Commit) bool { return commit.Tid == m.Tid })
		s.Write(&s.Disk.Commits)
	}
}

// -- Retransmission ---------------------------------------------------------------------------------------------------

// retry says again what has no answer: as coordinator, and as shard.
func (s *Shard) retry() {
	s.SetTimer(retry, retryInterval)
	for _, tid := range s.active.Keys() {
		s.goOn(tid)
	}
	for _, commit := range s.Disk.Commits {
		s.tellCommitted(commit.Tid, commit.Locks)
	}
	for _, record := range s.Disk.Prepared {
		s.Send(record.Coordinator, Vote{record.Tid, true, record.Locks})
	}
	for _, account := range s.owners.Keys() {
		if s.recordOf(s.owners.At(account).tid) == nil {
			s.tellGranted(account)
		}
	}
}
