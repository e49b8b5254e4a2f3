package simkit

import "encoding/json"

// Scenario is everything that decides a run: random, by a seed, a schedule and faults; or scripted, by its steps.
// Times are in microseconds, shares in 1/1000.
type Scenario struct {
	Name     string
	Bug      string // a story: which one it shows
	Nodes    int
	Switches map[string]any // the protocol's, all of them

	Seed     uint64
	Schedule Schedule `json:"scheduler"`
	Faults   []Fault
	Events   int      // at most
	Heal     int64    // the faults end here, and progress is due by the horizon; 0 for never
	Horizon  int64    // at most
	Goals    []string // that the run must reach, or it proves nothing
	Answers  int      // that clients must get, at least

	Steps []Step
}

// Schedule says how long messages and timers take, and how often clients ask.
//
// "walk": all is exponential, messages with a mean of a millisecond, timers of Timer milliseconds whatever range a node
// asks for, clients of Request milliseconds. "uniform": messages take from Shortest to Longest, timers anything in their
// range, and clients wait RequestEvery on average. "fair": the same, where messages take Bound at most.
type Schedule struct {
	Name         string
	Timer        int64
	Request      int64
	Shortest     int64
	Longest      int64
	RequestEvery int64 `json:"request_every"`
	Bound        int64
}

// Fault is a fault by its name, and what that needs of the rest.
//
// "loss" and "duplication" take PerMille of the messages. "reordering" makes PerMille of them Times as slow. With
// "forgery", PerMille of them bring one that nobody sent.
// "partition_one_way", "partition_symmetric" and "isolate_one" come Every so often and last Lasts, on average; the last
// isolates node Node (from 1), or PerMille "leader" of the times who answered last, or anybody. "crash" strikes each
// node Every so often, and Aim of all events between two of their effects; nodes stay down for Down, on average.
// Those that begin with "byzantine_" are ways to lie, until the end: as many as the protocol tolerates lie in all that are
// named, n1 among them if First is not 0. "silence" says nothing in PerMille of the spells that last Lasts; "favours" leaves
// out PerMille of the peers in each; "garbling" changes PerMille of the messages, "equivocation" for Share of the peers,
// "false_replies" for clients; "flattery" says PerMille of what it hears, Others of these to all; "forgery" makes up
// signatures and rewrites PerMille of all; "replay" repeats an old message at PerMille of its events; "twins" has two
// selves, and who speaks with which changes in each spell.
type Fault struct {
	Name     string
	PerMille int `json:"per_mille"`
	Times    int64
	Every    int64
	Lasts    int64
	Node     int
	Leader   int
	Down     int64
	Aim      int
	First    int
	Share    int
	Others   int
}

// Step is one event of a story. It is tolerant: what nothing enables is skipped, and a message is known by its link, its
// type and its age, so that a repair may send others.
type Step struct {
	Do      string // deliver, timeout, request, crash, restart, reboot, lie
	Node    string
	From    string          // deliver, lie
	Message string          // deliver, lie: its type
	Lie     json.RawMessage // lie: the message that a liar sends
	Age     int             // deliver: how many newer ones of its type were sent on this link
	Again   bool            // deliver: although it has arrived before
	Timer   string          // timeout
	Op      int             // request
	Command json.RawMessage // request
	Cut     *int            // the node crashes after so many effects of the event
	Kept    []Kept          // crash, reboot, cut: which unsynced writes are left
}
