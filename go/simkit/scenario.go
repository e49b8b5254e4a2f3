package simkit

import "encoding/json"

// Scenario is everything that decides a run: random, by a seed, a schedule and faults; or scripted, by its steps.
// Times are in microseconds, shares in 1/1000.
type Scenario struct {
	Name     string         `json:"name"`
	Bug      string         `json:"bug,omitempty"` // a story: which one it shows
	Nodes    int            `json:"nodes"`
	Switches map[string]any `json:"switches,omitempty"` // the protocol's, all of them

	Seed     uint64   `json:"seed,omitempty"`
	Schedule Schedule `json:"scheduler,omitzero"`
	Faults   []Fault  `json:"faults,omitempty"`
	Events   int      `json:"events,omitempty"`  // at most
	Heal     int64    `json:"heal,omitempty"`    // the faults end here, and progress is due by the horizon; 0 for never
	Horizon  int64    `json:"horizon,omitempty"` // at most
	Goals    []string `json:"goals,omitempty"`   // that the run must reach, or it proves nothing
	Answers  int      `json:"answers,omitempty"` // that clients must get, at least

	Steps []Step `json:"steps,omitempty"`
}

// Schedule says how long messages and timers take, and how often clients ask.
//
// "walk": all is exponential, messages with a mean of a millisecond, timers of Timer milliseconds whatever range a node
// asks for, clients of Request milliseconds. "uniform": messages take from Shortest to Longest, timers anything in their
// range, and clients wait RequestEvery on average. "fair": the same, where messages take Bound at most.
type Schedule struct {
	Name         string `json:"name"`
	Timer        int64  `json:"timer,omitempty"`
	Request      int64  `json:"request,omitempty"`
	Shortest     int64  `json:"shortest,omitempty"`
	Longest      int64  `json:"longest,omitempty"`
	RequestEvery int64  `json:"request_every,omitempty"`
	Bound        int64  `json:"bound,omitempty"`
}

// Fault is a fault by its name, and what that needs of the rest.
//
// "loss" and "duplication" take PerMille of the messages. "reordering" makes PerMille of them Times as slow.
// "partition_one_way", "partition_symmetric" and "isolate_one" come Every so often and last Lasts, on average; the last
// isolates node Node (from 1), or PerMille "leader" of the times who answered last, or anybody. "crash" strikes each
// node Every so often, and Aim of all events between two of their effects; nodes stay down for Down, on average.
type Fault struct {
	Name     string `json:"name"`
	PerMille int    `json:"per_mille,omitempty"`
	Times    int64  `json:"times,omitempty"`
	Every    int64  `json:"every,omitempty"`
	Lasts    int64  `json:"lasts,omitempty"`
	Node     int    `json:"node,omitempty"`
	Leader   int    `json:"leader,omitempty"`
	Down     int64  `json:"down,omitempty"`
	Aim      int    `json:"aim,omitempty"`
}

// Step is one event of a story. It is tolerant: what nothing enables is skipped, and a message is known by its link, its
// type and its age, so that a repair may send others.
type Step struct {
	Do      string          `json:"do"` // deliver, timeout, request, crash, restart, reboot
	Node    string          `json:"node"`
	From    string          `json:"from,omitempty"`    // deliver
	Message string          `json:"message,omitempty"` // deliver: its type
	Age     int             `json:"age,omitempty"`     // deliver: how many newer ones of its type were sent on this link
	Again   bool            `json:"again,omitempty"`   // deliver: it has arrived before
	Timer   string          `json:"timer,omitempty"`   // timeout
	Op      int             `json:"op,omitempty"`      // request
	Command json.RawMessage `json:"command,omitempty"` // request
	Cut     *int            `json:"cut,omitempty"`     // the node crashes after so many effects of the event
	Kept    []Kept          `json:"kept,omitempty"`    // crash, reboot, cut: which unsynced writes are left
}
