// Package twophasecommit judges runs of two-phase commit: what the nodes say to each other, and what must hold.
//
// BHG is P. A. Bernstein, V. Hadzilacos and N. Goodman, "Concurrency Control and Recovery in Database Systems", 1987,
// ch. 7. PA is presumed abort: C. Mohan, B. Lindsay and R. Obermarck, "Transaction Management in the R* Distributed
// Database Management System", 1986.
package twophasecommit

import (
	"fmt"
	"slices"
	"strings"

	"protosim/simkit"
)

// The messages, and what they hold.
type (
	Transaction struct {
		Keys    []int
		Refused int // whose holder finds that it cannot commit this; 0 if none does
	}
	Prepare struct {
		Xid         int
		Transaction Transaction
	}
	Vote struct {
		Xid    int
		Ballot string
	}
	Decision struct {
		Xid      int
		Decision string
	}
	Ack     struct{ Xid int }
	Inquire struct {
		Xid         int
		Coordinator string
	}
	Record struct {
		Kind        string
		Xid         int
		Transaction Transaction
		Coordinator string
	}
)

const (
	yes, no, wait                     = "yes", "no", "wait"
	commit, abort                     = "commit", "abort"
	end, prepared, committed, aborted = "end", "prepared", "committed", "aborted"

	settled = 1_000_000 // microseconds: when nothing fails, a transaction is over within this time
)

// decides says which decision a kind of record is; "" for none.
var decides = map[string]string{commit: commit, committed: commit, aborted: abort}

// Protocol is two-phase commit with presumed abort.
var Protocol = simkit.Protocol{
	Name:      "two_phase_commit",
	Values:    []any{Transaction{}, Prepare{}, Vote{}, Decision{}, Ack{}, Inquire{}, Record{}},
	Logs:      map[string]any{"log": Record{}},
	Workload:  workload,
	Watch:     func(f simkit.Facts) simkit.Observer { return newCommitment(f) },
	Malformed: malformed,
}

// workload is two or three of six keys; one transaction in four is refused at one of them.
func workload(op int, bits uint64) any {
	t := Transaction{Keys: []int{}}
	at, step, keys := bits%6, 1+bits>>8%5, uint64(2)
	if bits>>16&3 == 0 {
		keys = 3
	}
	for i := range keys {
		if key := int(1 + (at+i*step)%6); !slices.Contains(t.Keys, key) {
			t.Keys = append(t.Keys, key)
		}
	}
	if bits>>20&3 == 0 {
		t.Refused = t.Keys[0]
	}
	return t
}

// malformed is what no coordinator may count: a participant's word that is neither yes nor no, and its no after its yes;
// the yes of who is no participant.
func malformed(nodes []string, from, to string, m any) (forged []simkit.Sent) {
	switch m := m.(type) {
	case Prepare:
		forged = append(forged, simkit.Sent{From: to, To: from, Message: Vote{m.Xid, "perhaps"}})
		for _, node := range nodes {
			if !slices.Contains(holders(m.Transaction.Keys, nodes), node) && node != from {
				forged = append(forged, simkit.Sent{From: node, To: from, Message: Vote{m.Xid, yes}})
			}
		}
	case Vote:
		if m.Ballot == yes {
			forged = append(forged, simkit.Sent{From: from, To: to, Message: Vote{m.Xid, no}})
		}
	}
	return forged
}

// holders of these keys, each once.
func holders(keys []int, nodes []string) (found []string) {
	for _, key := range keys {
		if node := nodes[(key-1)%len(nodes)]; !slices.Contains(found, node) {
			found = append(found, node)
		}
	}
	return found
}

// commitment is AC1 to AC5. A process reaches a decision when it writes it, votes no, answers the client, or tells who
// is in doubt; a record that a crash undoes was none.
type commitment struct {
	facts      simkit.Facts
	known      map[int]*transaction
	unsure     map[string][]int         // decided by a record that nobody saw
	inDoubt    map[string]map[int]int64 // -> since when
	unended    map[string]map[int]int64 // commits -> since when
	answered   []int                    // commits that clients know of
	needless   []int                    // aborts without any reason
	commitLate bool                     // something was committed since the faults aborted
	reached    map[string]bool
}

type transaction struct {
	Transaction
	coordinator string // "" until it asks for votes, or answers commit
	asked       int64  // by a client
	undecided   int64  // since when votes go on; -1 if they do not
	ballots     map[string][]string
	decided     map[string]string
}

func newCommitment(f simkit.Facts) *commitment {
	c := &commitment{
		facts:   f,
		known:   map[int]*transaction{},
		unsure:  map[string][]int{},
		inDoubt: map[string]map[int]int64{},
		unended: map[string]map[int]int64{},
		reached: map[string]bool{},
	}
	for _, node := range f.Nodes() {
		c.inDoubt[node], c.unended[node] = map[int]int64{}, map[int]int64{}
	}
	return c
}

func (c *commitment) transaction(xid int) *transaction {
	if c.known[xid] == nil {
		c.known[xid] = &transaction{undecided: -1, ballots: map[string][]string{}, decided: map[string]string{}}
	}
	return c.known[xid]
}

// See takes one more fact.
func (c *commitment) See(fact any) error {
	switch x := fact.(type) {
	case simkit.Requested:
		c.transaction(x.Op).asked = c.facts.Now()
	case simkit.Sent:
		return c.sent(x.From, x.To, x.Message)
	case simkit.Stored:
		return c.stored(x)
	case simkit.WasReset:
		return simkit.Break("ac2_irrevocability", "%s replaced its log", x.Node)
	case simkit.Replied:
		return c.replied(x)
	case simkit.Restarted:
		return c.restarted(x.Node)
	}
	return nil
}

func (c *commitment) sent(node, to string, m any) error {
	switch m := m.(type) {
	case Prepare:
		if t := c.transaction(m.Xid); t.coordinator == "" {
			t.Transaction, t.coordinator, t.undecided = m.Transaction, node, c.facts.Now()
		}
	case Vote:
		t := c.transaction(m.Xid)
		if !slices.Contains(t.ballots[node], m.Ballot) {
			t.ballots[node] = append(t.ballots[node], m.Ballot)
		}
		if m.Ballot == no {
			return c.decides(node, m.Xid, abort, true)
		}
	case Decision:
		// A coordinator that has forgotten may presume what is not so; nobody who is not in doubt will listen.
		if _, doubts := c.inDoubt[to][m.Xid]; doubts {
			return c.decides(node, m.Xid, m.Decision, true)
		}
	}
	return nil
}

// decides: a process cannot reverse its decision (BHG §7.3, AC2), and all reach the same one (AC1). Unless somebody has
// seen a decision, a crash may still undo it.
func (c *commitment) decides(node string, xid int, decision string, sure bool) error {
	t := c.transaction(xid)
	before, known := t.decided[node]
	if !known {
		t.decided[node] = decision
		if !sure {
			c.unsure[node] = append(c.unsure[node], xid)
		}
	} else if before != decision {
		return simkit.Break("ac2_irrevocability", "%s decided %s on transaction %d, and then %s", node, before, xid, decision)
	}
	if sure {
		c.unsure[node] = slices.DeleteFunc(c.unsure[node], func(each int) bool { return each == xid })
	}
	for _, other := range c.facts.Nodes() {
		if theirs, ok := t.decided[other]; ok && theirs != decision {
			return simkit.Break("ac1_agreement", "%s decided %s on transaction %d, and %s decided %s",
				other, theirs, xid, node, decision)
		}
	}
	return nil
}

func (c *commitment) stored(x simkit.Stored) error {
	if len(x.Removed) > 0 {
		return simkit.Break("ac2_irrevocability", "%s removed %v from its log", x.Node, x.Removed[0])
	}
	for _, each := range x.Added {
		if err := c.wrote(x.Node, each.(Record)); err != nil {
			return err
		}
	}
	return nil
}

func (c *commitment) wrote(node string, r Record) error {
	decision := decides[r.Kind]
	if decision != "" {
		if err := c.decides(node, r.Xid, decision, false); err != nil {
			return err
		}
	}
	if decision == commit {
		if err := c.unanimity(node, r.Xid); err != nil {
			return err
		}
	}
	if r.Kind == commit {
		if err := c.onDisks(r.Xid, holders(c.transaction(r.Xid).Keys, c.facts.Nodes())); err != nil {
			return err
		}
	}
	if r.Kind == prepared {
		if err := c.isolation(node, r); err != nil {
			return err
		}
	}
	c.note(node, r)
	return nil
}

func (c *commitment) note(node string, r Record) {
	switch r.Kind {
	case prepared:
		c.inDoubt[node][r.Xid] = c.facts.Now()
	case commit:
		c.unended[node][r.Xid] = c.facts.Now()
	case end:
		delete(c.unended[node], r.Xid)
		c.reached["commit_forgotten"] = true
	default:
		delete(c.inDoubt[node], r.Xid)
	}
}

// unanimity: the decision to commit can only be reached if all processes voted yes (BHG §7.3, AC3).
func (c *commitment) unanimity(node string, xid int) error {
	t := c.transaction(xid)
	for _, participant := range holders(t.Keys, c.facts.Nodes()) {
		ballots := t.ballots[participant]
		if slices.Contains(ballots, no) || !slices.Contains(ballots, yes) {
			return simkit.Break("ac3_unanimity", "%s decided commit on transaction %d, and %s voted %q",
				node, xid, participant, strings.Join(ballots, " and "))
		}
	}
	return nil
}

// isolation: a transaction in doubt keeps its keys to itself (BHG §7.4; PA).
func (c *commitment) isolation(node string, r Record) error {
	for _, other := range simkit.SortedKeys(c.inDoubt[node]) {
		for _, key := range c.transaction(other).Keys {
			if slices.Contains(r.Transaction.Keys, key) && holders([]int{key}, c.facts.Nodes())[0] == node {
				return simkit.Break("isolation", "%s prepared transaction %d while %d is in doubt about key %d",
					node, r.Xid, other, key)
			}
		}
	}
	return nil
}

// onDisks: what is committed is on the disks of all its participants, and what a client knows of stays there (PA).
func (c *commitment) onDisks(xid int, nodes []string) error {
	for _, node := range nodes {
		if found := c.onDisk(node, xid); found != prepared && found != committed {
			return simkit.Break("durability", "transaction %d is committed, and the disk of %s says %q about it", xid, node, found)
		}
	}
	return nil
}

// onDisk is the last that a participant's disk says about a transaction, or nothing.
func (c *commitment) onDisk(node string, xid int) string {
	log := c.facts.Durable(node).Logs["log"].Entries
	for i := len(log) - 1; i >= 0; i-- {
		r := log[i].(Record)
		if r.Xid == xid && (r.Kind == prepared || r.Kind == committed || r.Kind == aborted) {
			return r.Kind
		}
	}
	return ""
}

// revocable is an answered commit that could be presumed to be an abort: no disk of the coordinator knows of it.
func (c *commitment) revocable(xid int) error {
	t := c.transaction(xid)
	for _, each := range c.facts.Durable(t.coordinator).Logs["log"].Entries {
		if r := each.(Record); r.Kind == commit && r.Xid == xid {
			return nil
		}
	}
	for _, node := range holders(t.Keys, c.facts.Nodes()) {
		if c.onDisk(node, xid) != committed {
			return simkit.Break("durability",
				"a client was told that transaction %d is committed, which is not on the disk of its coordinator", xid)
		}
	}
	return nil
}

func (c *commitment) replied(x simkit.Replied) error {
	result, ok := x.Result.(string)
	if !ok || result != commit && result != abort {
		return fmt.Errorf("%s answered %v, which is no decision", x.Node, x.Result)
	}
	if err := c.decides(x.Node, x.Op, result, true); err != nil {
		return err
	}
	t, command := c.transaction(x.Op), x.Command.(Transaction)
	c.reached[map[string]string{commit: "transaction_committed", abort: "transaction_aborted"}[result]] = true
	t.undecided = -1
	if result == commit {
		t.Transaction, t.coordinator = command, x.Node
		c.answered = append(c.answered, x.Op)
		c.commitLate = c.commitLate || c.facts.HealedAt() >= 0
		return c.mayCommit(x.Node, x.Op, command)
	}
	if healed := c.facts.HealedAt(); healed >= 0 && t.asked > healed+settled && !c.hasAReason(t, command) {
		c.needless = append(c.needless, x.Op)
	}
	return nil
}

func (c *commitment) mayCommit(node string, xid int, command Transaction) error {
	if err := c.unanimity(node, xid); err != nil {
		return err
	}
	if slices.Contains(command.Keys, command.Refused) {
		return simkit.Break("validity", "%s answered commit to transaction %d, which the holder of key %d cannot commit",
			node, xid, command.Refused)
	}
	if err := c.onDisks(xid, holders(command.Keys, c.facts.Nodes())); err != nil {
		return err
	}
	return c.revocable(xid)
}

// hasAReason to abort, where nothing fails: somebody cannot commit, or has to wait for another transaction's keys.
func (c *commitment) hasAReason(t *transaction, command Transaction) bool {
	if slices.Contains(command.Keys, command.Refused) {
		return true
	}
	for _, node := range holders(command.Keys, c.facts.Nodes()) {
		if slices.Contains(t.ballots[node], no) || slices.Contains(t.ballots[node], wait) {
			return true
		}
	}
	return false
}

// restarted: votes that went on are over, and what was not synced is as if it had not been.
func (c *commitment) restarted(node string) error {
	for _, xid := range c.answered {
		t := c.transaction(xid)
		if slices.Contains(holders(t.Keys, c.facts.Nodes()), node) {
			if err := c.onDisks(xid, []string{node}); err != nil {
				return err
			}
		}
		if t.coordinator == node {
			if err := c.revocable(xid); err != nil {
				return err
			}
		}
	}
	log := c.facts.Written(node).Logs["log"].Entries
	for _, xid := range c.unsure[node] {
		if !slices.ContainsFunc(log, func(each any) bool {
			return each.(Record).Xid == xid && decides[each.(Record).Kind] != ""
		}) {
			delete(c.transaction(xid).decided, node)
		}
	}
	c.unsure[node], c.inDoubt[node], c.unended[node] = nil, map[int]int64{}, map[int]int64{}
	for _, each := range log {
		c.note(node, each.(Record))
	}
	for _, t := range c.known {
		if t.coordinator == node {
			t.undecided = -1
		}
	}
	return nil
}

// Progress: if there are no failures and all vote yes, the decision is to commit (AC4); when failures are repaired, all
// processes eventually reach a decision (AC5); a commit that all participants know of is forgotten in the end (PA).
func (c *commitment) Progress() error {
	if len(c.needless) > 0 {
		return simkit.Break("ac4_no_needless_abort",
			"transaction %d was aborted, although nobody had objected and nothing had failed", c.needless[0])
	}
	if !c.commitLate {
		return simkit.Break("ac4_no_needless_abort",
			"nothing was committed between the healing of the faults and the end of the stated bound")
	}
	for _, xid := range simkit.SortedKeys(c.known) {
		if t := c.known[xid]; t.undecided >= 0 && c.isOver(t.undecided) {
			return simkit.Break("ac5_termination", "%s has reached no decision on transaction %d", t.coordinator, xid)
		}
	}
	for _, node := range c.facts.Nodes() {
		for _, xid := range simkit.SortedKeys(c.inDoubt[node]) {
			if c.isOver(c.inDoubt[node][xid]) {
				return simkit.Break("ac5_termination", "%s is in doubt about transaction %d, and nobody tells it the decision",
					node, xid)
			}
		}
		for _, xid := range simkit.SortedKeys(c.unended[node]) {
			if c.isOver(c.unended[node][xid]) {
				return simkit.Break("commits_end", "%s still waits for acknowledgements of transaction %d", node, xid)
			}
		}
	}
	return nil
}

// isOver says whether this is longer ago than it may be.
func (c *commitment) isOver(since int64) bool {
	return max(since, c.facts.HealedAt())+settled < c.facts.Now()
}

// Reached knows the goals of two-phase commit's recipes.
func (c *commitment) Reached(goal string) bool { return c.reached[goal] }
