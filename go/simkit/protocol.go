package simkit

import "fmt"

// Command is what a client asks of the replicated register map: "put" (answers the previous value) or "get".
type Command struct {
	Op    string
	Key   string
	Value int
}

func (c Command) String() string {
	if c.Op == "put" {
		return fmt.Sprintf("put %s %d", c.Key, c.Value)
	}
	return fmt.Sprintf("%s %s", c.Op, c.Key)
}

// PutsAndGets is a workload on two registers; each write's value is unique.
func PutsAndGets(op int, bits uint64) any {
	key := string("xy"[bits&1])
	if bits&2 != 0 {
		return Command{Op: "get", Key: key}
	}
	return Command{"put", key, op}
}

// Protocol is what the kit must know of one, to run it and to judge it. Its types stand here once more, and not in what
// a candidate may edit.
type Protocol struct {
	Name      string
	Values    []any          // a zero of each struct that goes by its name: messages, entries, commands
	Fields    map[string]any // of a disk: what a new one holds; nil for what may be null
	Logs      map[string]any // of a disk: a zero entry
	Workload  func(op int, bits uint64) any
	Registers bool   // whether clients must have seen a register map
	Retries   string // the switch with which clients ask again, perhaps another node; "" for never
	Watch     func(f Facts) Observer
	// Handled and ForClients are what nodes and client nodes handle, a zero of each: liars send nothing else. With
	// ForClients there are client nodes, c1 and c2, and people ask these.
	Handled, ForClients []any
	Liars               func(nodes int) int // how many of so many may lie; nil for none
	// Malformed is what no node that follows the protocol sends, and all must refuse: who sees a message of this kind may
	// make it up. nil for nothing.
	Malformed func(nodes []string, from, to string, m any) []Sent
}

func (p *Protocol) mostLiars(nodes int) int {
	if p.Liars == nil {
		return 0
	}
	return p.Liars(nodes)
}

// Facts is what an observer may believe: it was reconstructed outside of the nodes.
type Facts interface {
	Nodes() []string // client nodes are not among them
	Clients() []string
	Liars() []string
	Switch(name string) any
	Written(node string) Image // with everything that the node wrote, synced or not
	Durable(node string) Image // as a crash that keeps nothing unsynced would leave it
	Up(node string) bool
	Now() int64      // microseconds
	HealedAt() int64 // when the faults ended for good; -1 if they have not
}

// Observer is history variables, and invariants over them. It is told nothing of liars.
type Observer interface {
	// See takes one more fact: a Sent, Wrote, Stored, WasReset, Applied, Restored, Requested, Replied or Restarted. The
	// error is a Broken invariant.
	See(fact any) error
	// Progress is asked at the end of a run whose faults have ended in time.
	Progress() error
	// Reached says whether the run has come to a goal.
	Reached(goal string) bool
}

// The facts. Each holds before the next effect is carried out.
type (
	// Sent: the node handed the message to the network.
	Sent struct {
		From, To string
		Message  any
	}
	// Wrote: fields of its disk, which was like this before.
	Wrote struct {
		Node   string
		Before Image
		Pairs  []Pair
	}
	// Stored: a log changed from position Index (from 0) on.
	Stored struct {
		Node, Log      string
		Index          int
		Removed, Added []any
	}
	// WasReset: a log was replaced as a whole.
	WasReset struct {
		Node, Log     string
		Before, After Log
	}
	// Applied: its application executed the command at Index (from 1).
	Applied struct {
		Node            string
		Index           int
		Command, Result any
	}
	// Restored: its application was set to what the commands up to Index make.
	Restored struct {
		Node  string
		Index int
		State any
	}
	// Requested: a client asks.
	Requested struct {
		Node    string
		Op      int
		Command any
	}
	// Replied: a client got its answer.
	Replied struct {
		Node            string
		Op              int
		Command, Result any
	}
	// Restarted: it is up again, with what its disk had kept.
	Restarted struct{ Node string }
)

// Broken is an invariant that does not hold, with a sentence that says why.
type Broken struct{ Invariant, Sentence string }

func (b Broken) Error() string { return b.Invariant + ": " + b.Sentence }

// Break says that an invariant does not hold.
func Break(invariant, format string, details ...any) error {
	return Broken{invariant, fmt.Sprintf(format, details...)}
}
