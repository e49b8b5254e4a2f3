// Package step is the vocabulary in which a protocol is written.
//
// A node is a state machine: an event comes in (Start, a message, a timeout, a client's request), effects go out (Send,
// Sync, SetTimer, Apply, Reply, ...). It has no goroutines and reads no clock, no random number and no network, so the
// same events always give the same effects. Whoever drives it carries the effects out in order, after the handler has
// returned, and may crash the node between any two of them.
//
// A protocol imports this package and nothing else of ours.
package step

import (
	"fmt"
	"reflect"
	"slices"
)

// NodeID is a node's name: "n1", "n2", ...
type NodeID string

// OpID is a client operation's number, unique in a run.
type OpID int

// Timer is a timer's name.
type Timer string

// Range is shortest and longest, in microseconds; the scheduler draws.
type Range [2]int

// MS is a millisecond.
const MS = 1_000

// Value is a message, a log's entry or a client's command: a struct of exported fields, each an integer, a bool, a
// string, a []byte, another such struct, a slice of these, or a pointer to one that may be nil. A struct that the
// protocol's Values list goes by its name, any other as a tuple of its fields. A string or a number that is tagged
// `wire:"nullable"` is null where it is zero.
type Value = any

// Machine is a protocol's node; it embeds a Node.
type Machine interface {
	// Start runs at the beginning, and again after every crash. All that is not on the disk is zero then.
	Start()
	// Receive handles a message.
	Receive(src NodeID, m Value)
	// Timeout runs when a timer fires; it fires once each time that it is set.
	Timeout(t Timer)
	// Request is a client that asks for a command. Answer by Reply, by Refuse (certainly not done), or never (perhaps
	// done).
	Request(op OpID, command Value)

	parts() (*core, any, any) // of the Node: itself, its disk, its switches
}

// Protocol is everything that a host needs to know; a package names it Protocol.
type Protocol struct {
	Name   string
	Values []Value // a zero of each struct that goes by its name: messages, entries, commands
	New    func() Machine
	// NewClient is what stands between a person's request and the nodes; nil where nothing does.
	NewClient func() Machine
	// NewApplication is what every replica runs; nil for a KeyValue.
	NewApplication func() Application
}

// Node is what a protocol's node embeds: who it is, its disk D, its switches S, and the effects that it may ask for.
//
// A field of D or S is called max_size on the wire where Go calls it MaxSize.
type Node[D, S any] struct {
	core
	Disk     D // durable: what was written to it, once a Sync has covered that
	Switches S // the protocol's options
}

func (n *Node[D, S]) parts() (*core, any, any) { return &n.core, &n.Disk, &n.Switches }

type core struct {
	Me          NodeID
	Peers       []NodeID // without me, and without clients
	ClusterSize int      // without clients
	Now         int      // this node's own clock, in microseconds; it may drift

	application Application
	fields      []field // of the disk
	types       *types
	effects     []byte // as they stand on the wire, each followed by a comma
	refused     []byte
}

// -- Effects ----------------------------------------------------------------------------------------------------------

const (
	send = iota
	write
	store
	syncDisk
	setTimer
	cancel
	apply
	reply
	refuse
	restore
	reset
)

// effect is asked for as a whole or not at all: what cannot travel panics, and a protocol may recover.
func (c *core) effect(kind int, details ...any) {
	buf := appendInt(append(c.effects, '['), kind)
	for _, detail := range details {
		buf = c.types.appendAny(append(buf, ','), detail)
	}
	c.effects = append(buf, ']', ',')
}

// Send hands a message to the network.
func (c *core) Send(to NodeID, m Value) { c.effect(send, to, m) }

// Broadcast sends to all peers.
func (c *core) Broadcast(m Value) {
	for _, peer := range c.Peers {
		c.Send(peer, m)
	}
}

// Write writes these fields of the disk as they are now: n.Write(&n.Disk.Term, &n.Disk.VotedFor). It is one atomic
// write: after a crash all of them are there or none. A Log writes itself.
func (c *core) Write(fields ...any) {
	buf := append(c.effects, `[1,[""`...)
	for _, pointer := range fields {
		field := c.field(pointer)
		buf = appendText(append(buf, `,["",`...), field.name)
		buf = append(field.coder.put(append(buf, ','), field.value), ']')
	}
	c.effects = append(buf, "]],"...)
}

func (c *core) field(pointer any) *field {
	if p := reflect.ValueOf(pointer); p.Kind() == reflect.Pointer {
		for i := range c.fields {
			if field := &c.fields[i]; field.coder != nil && field.value.Addr().Pointer() == p.Pointer() {
				return field
			}
		}
	}
	panic("Write takes pointers to fields of the disk, which are no logs")
}

// Sync makes what was written to the disk so far durable, before the effects that follow.
func (c *core) Sync() { c.effects = append(c.effects, "[3],"...) }

// SetTimer starts a timer, perhaps again; the scheduler draws when, within the range, it fires.
func (c *core) SetTimer(t Timer, within Range) { c.effect(setTimer, t, within[0], within[1]) }

// Cancel stops a timer.
func (c *core) Cancel(t Timer) { c.effect(cancel, t) }

// Apply hands the command at index (from 1) to the application; nil is a no-op. The answer comes at once.
func (c *core) Apply(index int, command Value) (result any) {
	if command != nil {
		result = c.application.Apply(command)
	}
	c.effect(apply, index, command, result)
	return result
}

// Application is what this replica runs, to be asked and not to be changed.
func (c *core) Application() Application { return c.application }

// Snapshot is the application's state, as a value.
func (c *core) Snapshot() Value { return c.application.Snapshot() }

// Restore replaces the application's state by a snapshot of what the commands up to index had made.
func (c *core) Restore(index int, state Value) {
	c.application.Restore(state)
	c.effect(restore, index, state)
}

// Reply answers a client.
func (c *core) Reply(op OpID, result any) { c.effect(reply, op, result) }

// Refuse tells the client that the operation certainly took no effect.
func (c *core) Refuse(op OpID) { c.effect(refuse, op) }

// IsMajority says whether so many different nodes are more than half of the cluster.
func (c *core) IsMajority(nodes int) bool { return nodes > c.ClusterSize/2 }

// -- Checks -----------------------------------------------------------------------------------------------------------

// A Condition is a check with its name and its outcome.
type Condition struct {
	name string
	met  bool
}

// Check names what the paper demands. One check is one line with one name: for the reader, and for the trace ("n2
// refuses RequestVote: vote_once_per_term").
func Check(name string, met bool) Condition { return Condition{name, met} }

// Holds is a conjunction of named checks. All are evaluated, so each must be defined in every state.
func (c *core) Holds(checks ...Condition) bool {
	if !slices.ContainsFunc(checks, Condition.failed) {
		return true
	}
	buf := append(c.refused, '[')
	for _, check := range checks {
		if check.failed() {
			buf = append(appendText(buf, check.name), ',')
		}
	}
	buf[len(buf)-1] = ']'
	c.refused = append(buf, ',')
	return false
}

func (c Condition) failed() bool { return !c.met }

// -- Logs -------------------------------------------------------------------------------------------------------------

// Log is a durable sequence: a field of a disk. It grows at its end and is cut there. Positions begin at 0.
type Log[T any] struct {
	entries []T
	base    int
	owner   *core
	name    string
}

// Len is the number of entries.
func (l *Log[T]) Len() int { return len(l.entries) }

// Base is how many entries Reset has dropped from the front, so that position 0 is the entry after these.
func (l *Log[T]) Base() int { return l.base }

// At is the entry at a position.
func (l *Log[T]) At(i int) T { return l.entries[i] }

// Slice is the entries from position i on and before j. They are not to be changed.
func (l *Log[T]) Slice(i, j int) []T { return l.entries[i:j:j] }

// Append is one write.
func (l *Log[T]) Append(entry T) { l.Store(len(l.entries), []T{entry}) }

// Store replaces what stands at position i and after it: one write. A log has no gaps: beyond its end means at its end.
func (l *Log[T]) Store(i int, entries []T) {
	if i < 0 {
		panic(fmt.Sprintf("a log has no position %d", i))
	}
	l.owner.effect(store, l.name, i, entries)
	if i < len(l.entries) {
		l.entries = l.entries[:i:i] // a slice that was handed out keeps what it has
	}
	l.entries = append(l.entries, entries...)
}

// Reset replaces everything by these entries, which follow the first base: one atomic write, as of a new file that
// takes the old one's place.
func (l *Log[T]) Reset(base int, entries []T) {
	if base < 0 {
		panic(fmt.Sprintf("a log cannot begin at %d", base))
	}
	l.owner.effect(reset, l.name, base, entries)
	l.base, l.entries = base, slices.Clone(entries)
}
