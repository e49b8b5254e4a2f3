// Package raft judges runs of Raft: what the nodes say to each other, and what must hold.
//
// Paper: D. Ongaro and J. Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", 2014. § and
// Fig. refer to it.
package raft

import (
	"strings"

	"protosim/simkit"
)

// The messages, and what they hold (Fig. 2).
type (
	Entry struct {
		Term    int
		Command any // nil: the no-op of a new leader
	}
	RequestVote struct{ Term, LastLogIndex, LastLogTerm int }
	Vote        struct {
		Term    int
		Granted bool
	}
	AppendEntries struct {
		Term, PrevLogIndex, PrevLogTerm int
		Entries                         []Entry
		LeaderCommit                    int
	}
	Appended struct {
		Term    int
		Success bool
		Match   int
	}
)

// Protocol is Raft's core: elections, replication, commitment.
var Protocol = simkit.Protocol{
	Name:      "raft",
	Values:    []any{Entry{}, RequestVote{}, Vote{}, AppendEntries{}, Appended{}},
	Fields:    map[string]any{"term": 0, "voted_for": nil},
	Logs:      map[string]any{"log": Entry{}},
	Workload:  simkit.PutsAndGets,
	Registers: true,
	Watch:     func(f simkit.Facts) simkit.Observer { return NewFigure3(f, core{}) },
}

// View is how a disk is read: an extension of the core has a view of its own.
type View interface {
	// Before is the term and the index of the entry before the first in the log.
	Before(image simkit.Image) (term, index int)
	// Entry at an index, if it is there.
	Entry(image simkit.Image, index int) (Entry, bool)
	// Whole is all entries, from index 1 on.
	Whole(image simkit.Image) []Entry
	// Asks says whether the entry holds what the client asks by this operation.
	Asks(entry Entry, op int, command any) bool
}

type core struct{}

func (core) Before(simkit.Image) (term, index int) { return 0, 0 }

func (core) Entry(image simkit.Image, index int) (Entry, bool) {
	if log := Log(image); index <= len(log) {
		return log[index-1].(Entry), true
	}
	return Entry{}, false
}

func (core) Whole(image simkit.Image) (all []Entry) {
	for _, each := range Log(image) {
		all = append(all, each.(Entry))
	}
	return all
}

func (core) Asks(entry Entry, op int, command any) bool { return entry.Command == command }

// Log is what lies in the log of a disk.
func Log(image simkit.Image) []any { return image.Logs["log"].Entries }

// Figure3 is the paper's properties. Leadership is known by AppendEntries, commitment by the first time that an entry is
// applied.
type Figure3 struct {
	Facts     simkit.Facts
	Committed []Commitment // by index - 1
	AppliedBy map[string]int

	view         View
	leaderOf     map[int]string     // by term
	reigns       []reign            // in the order in which they began
	entryAt      map[place]ancestry // everywhere and ever
	acknowledged int                // the last index whose client has its answer
	asked        string             // since the faults ended, as the leader
	answered     bool               // a client got an answer
	answeredLate bool               // since the faults ended
}

// Commitment is an entry, and the term in which it was first applied.
type Commitment struct {
	Entry Entry
	Term  int
}

type (
	reign struct {
		term   int
		leader string
		log    []Entry // when it first led
	}
	place    struct{ index, term int }
	ancestry struct {
		before  int // the term of the entry before it
		command any
	}
)

// NewFigure3 watches a run.
func NewFigure3(f simkit.Facts, view View) *Figure3 {
	return &Figure3{
		Facts:     f,
		AppliedBy: map[string]int{},
		view:      view,
		leaderOf:  map[int]string{},
		entryAt:   map[place]ancestry{},
	}
}

// See takes one more fact.
func (f *Figure3) See(fact any) error {
	switch x := fact.(type) {
	case simkit.Sent:
		if m, ok := x.Message.(AppendEntries); ok {
			return f.leads(x.From, m.Term)
		}
	case simkit.Stored:
		if err := f.leaderAppendOnly(x); err != nil {
			return err
		}
		return f.LogMatching(x.Node, x.Index)
	case simkit.Applied:
		return f.stateMachineSafety(x)
	case simkit.Replied:
		return f.durability(x)
	case simkit.Requested:
		if f.Facts.HealedAt() >= 0 && x.Node == f.leaderOf[f.newestTerm()] {
			f.asked = x.Node
		}
	case simkit.Restarted:
		f.AppliedBy[x.Node] = 0 // the application is volatile: it applies again from the start
		if err := f.LogMatching(x.Node, 0); err != nil || f.acknowledged == 0 {
			return err
		}
		return f.onMajority(f.acknowledged, x.Node+" restarted")
	}
	return nil
}

// leads: Election Safety (§5.2) and Leader Completeness (§5.4).
func (f *Figure3) leads(node string, term int) error {
	if leader, known := f.leaderOf[term]; known {
		if leader != node {
			return simkit.Break("election_safety", "%s and %s both lead term %d", leader, node, term)
		}
		return nil
	}
	log := f.view.Whole(f.Facts.Written(node))
	f.leaderOf[term], f.reigns = node, append(f.reigns, reign{term, node, log})
	for i, c := range f.Committed {
		if c.Term < term && !holds(log, i+1, c.Entry) {
			return simkit.Break("leader_completeness", "%s leads term %d without entry %d, %v, committed in term %d",
				node, term, i+1, c.Entry, c.Term)
		}
	}
	return nil
}

// leaderAppendOnly: a leader never overwrites or deletes entries in its log (§5.3).
func (f *Figure3) leaderAppendOnly(x simkit.Stored) error {
	if len(x.Removed) > 0 && f.Leads(x.Node) {
		_, dropped := f.view.Before(f.Facts.Written(x.Node))
		return simkit.Break("leader_append_only", "%s leads term %d and removed entry %d, %v, from its own log",
			x.Node, f.term(x.Node), dropped+x.Index+1, x.Removed[0])
	}
	return nil
}

// LogMatching: logs that agree on an entry's index and term agree on all entries up to it (§5.3). It looks at what comes
// after the first so many.
func (f *Figure3) LogMatching(node string, index int) error {
	log := Log(f.Facts.Written(node))
	before, dropped := f.view.Before(f.Facts.Written(node))
	if index > 0 {
		before = log[index-1].(Entry).Term
	}
	for i, each := range log[index:] {
		entry := each.(Entry)
		here, at := ancestry{before, entry.Command}, place{dropped + index + i + 1, entry.Term}
		if known, ok := f.entryAt[at]; ok && known != here {
			return simkit.Break("log_matching", "entry %d of term %d at %s is %v after term %d, elsewhere %v after term %d",
				at.index, at.term, node, here.command, here.before, known.command, known.before)
		}
		f.entryAt[at] = here
		before = entry.Term
	}
	return nil
}

// stateMachineSafety: if a server applied an entry at an index, no server ever applies another there (§5.4.3).
func (f *Figure3) stateMachineSafety(x simkit.Applied) error {
	const name = "state_machine_safety"
	if last := f.AppliedBy[x.Node]; last+1 != x.Index {
		return simkit.Break(name, "%s applied entry %d right after entry %d", x.Node, x.Index, last)
	}
	f.AppliedBy[x.Node] = x.Index
	entry, found := f.view.Entry(f.Facts.Written(x.Node), x.Index)
	if !found || entry.Command != x.Command {
		return simkit.Break(name, "%s applied %v as entry %d, which its log does not hold", x.Node, x.Command, x.Index)
	}
	if x.Index <= len(f.Committed) {
		if first := f.Committed[x.Index-1].Entry; first != entry {
			return simkit.Break(name, "%s applied %v at index %d, where %v was applied", x.Node, entry, x.Index, first)
		}
		return nil
	}
	f.Committed = append(f.Committed, Commitment{entry, f.term(x.Node)})
	return f.laterLeaders(x.Node)
}

// laterLeaders is Leader Completeness where the later leader was there before the entry was committed.
func (f *Figure3) laterLeaders(node string) error {
	index := len(f.Committed)
	c := f.Committed[index-1]
	for _, later := range f.reigns {
		if later.term > c.Term && !holds(later.log, index, c.Entry) {
			return simkit.Break("leader_completeness", "%s applied entry %d, %v, in term %d, but %s led term %d without it",
				node, index, c.Entry, c.Term, later.leader, later.term)
		}
	}
	return nil
}

// durability: a command whose client has its answer is on the disks of a majority (§8; Fig. 2, persistent state).
func (f *Figure3) durability(x simkit.Replied) error {
	f.answered = true
	f.answeredLate = f.answeredLate || f.Facts.HealedAt() >= 0
	if command, ok := x.Command.(simkit.Command); ok && command.Op == "get" {
		return nil // it changed nothing that could be lost
	}
	for index := f.AppliedBy[x.Node]; index > 0; index-- {
		if f.view.Asks(f.Committed[index-1].Entry, x.Op, x.Command) {
			f.acknowledged = max(f.acknowledged, index)
			return f.onMajority(index, x.Node+" answered its client")
		}
	}
	return simkit.Break("durability", "%s answered %v without having applied it", x.Node, x.Command)
}

func (f *Figure3) onMajority(index int, event string) error {
	wanted := f.Committed[index-1].Entry
	var holders []string
	for _, node := range f.Facts.Nodes() {
		if entry, found := f.view.Entry(f.Facts.Durable(node), index); found && entry == wanted {
			holders = append(holders, node)
		}
	}
	if len(holders) > len(f.Facts.Nodes())/2 {
		return nil
	}
	return simkit.Break("durability", "%s, but only the disks of %q hold entry %d, %v",
		event, strings.Join(holders, " "), index, wanted)
}

// Progress: once the faults have ended, a leader is elected and commits what clients ask (§5.6; thesis §3.9). Clients
// that try any server may miss the leader for long; but there should be one.
func (f *Figure3) Progress() error {
	leader, elected := f.leaderOf[f.newestTerm()]
	if f.answeredLate || elected && f.asked != leader {
		return nil
	}
	return simkit.Break("progress_after_heal",
		"no client got an answer between the healing of the faults and the end of the stated bound")
}

// Reached knows the goals of Raft's recipes.
func (f *Figure3) Reached(goal string) bool {
	switch goal {
	case "leader_elected":
		return len(f.leaderOf) > 0
	case "leader_changed":
		return len(f.leaderOf) > 1
	case "command_committed":
		return f.answered
	}
	return false
}

func (f *Figure3) newestTerm() (newest int) {
	for _, node := range f.Facts.Nodes() {
		newest = max(newest, f.term(node))
	}
	return newest
}

func (f *Figure3) term(node string) int { return f.Facts.Written(node).Fields["term"].(int) }

// Leads says whether the node is the leader of the term that it is in.
func (f *Figure3) Leads(node string) bool { return f.leaderOf[f.term(node)] == node }

func holds(log []Entry, index int, entry Entry) bool {
	return index <= len(log) && log[index-1] == entry
}
