package simkit

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

const (
	mostBoots  = 14      // of all nodes in a run: each needs a worker of its own, so crashes end there
	mostQueued = 1 << 15 // messages and timers on their way: a node that floods has failed
	traced     = 60      // events of a trace
)

// Kinds of entries beside those of events.
const (
	comesBack = iota + 10 // a crashed node
	fault
	heals
)

// entry is something that will happen, if nothing comes in between.
type entry struct {
	due, order int64
	kind       int
	node       int
	message    *message
	name       string // of a timer
	number     int    // which setting of the timer; which operation; which fault
	on         bool   // whether the fault begins
}

type queue []entry

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(entry)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	popped := (*q)[last]
	*q = (*q)[:last]
	return popped
}

// message on its way.
type message struct {
	from, to   int
	content    any
	wire       json.RawMessage
	signatures []signature
	delivered  bool // in a story
}

func newMessage(from, to int, content any) *message {
	wire, signatures := onWire(content)
	return &message{from: from, to: to, content: content, wire: wire, signatures: signatures}
}

// node is the trusted side of one.
type node struct {
	up     bool
	disk   disk
	timers map[string]int // those that run: the number of the setting
}

// operation is what a client asked.
type operation struct {
	asked    []int // nodes: one for each time
	command  any
	invoked  int // event number
	returned int // event number; 0 for never
	result   any
	refusals int
}

// refused says whether it certainly took no effect.
func (o *operation) refused() bool { return o.refusals == len(o.asked) }

// world is one run: the schedule, the network, disks and crashes. What the nodes do is told to it.
type world struct {
	*Scenario
	protocol *Protocol
	observer Observer
	ids      []string
	nodes    []node
	now      int64
	events   int
	boots    int
	sets     int // of timers
	queue    queue
	order    int64

	network    network
	faults     []Fault
	liars      *liars
	notary     *notary
	repeats    map[uint64]uint64
	operations []*operation
	retries    bool
	believed   int // who answered last; -1 for nobody
	answers    int
	healedAt   int64   // -1 for not yet
	script     *script // nil for a random run

	at      int      // whose event it is
	arrived *message // if the event is a delivery
	event   []any    // as on the wire, without slot and clock
	trace   []string
}

func newWorld(p *Protocol, s *Scenario) *world {
	w := &world{Scenario: s, protocol: p, repeats: map[uint64]uint64{}, believed: -1, faults: s.Faults, healedAt: -1}
	w.notary = newNotary()
	w.retries = p.Retries != "" && s.Switches[p.Retries] == true
	for i := range s.Nodes {
		w.ids = append(w.ids, fmt.Sprintf("n%d", i+1))
	}
	if p.ForClients != nil {
		w.ids = append(w.ids, "c1", "c2")
	}
	w.liars = w.liarsOf()
	for i := range w.ids {
		image := Image{Fields: maps.Clone(p.Fields), Logs: map[string]Log{}}
		for log := range p.Logs {
			image.Logs[log] = Log{}
		}
		w.nodes = append(w.nodes, node{disk: disk{written: image, durable: image}})
		if s.Steps == nil || !w.liars.has(w.ids[i]) {
			w.push(entry{kind: comesBack, node: i})
		}
	}
	w.observer = p.Watch(w)
	if s.Steps != nil {
		w.script = &script{sent: map[[2]int][]*message{}}
		return w
	}
	w.network.cut = make([]uint64, len(w.ids))
	w.startFaults()
	w.nextRequest(1)
	if s.Heal > 0 {
		w.push(entry{due: s.Heal, kind: heals})
	}
	return w
}

func (w *world) Nodes() []string { return w.replicas() }

func (w *world) Clients() []string {
	if w.protocol.ForClients == nil {
		return nil
	}
	return w.ids[w.Scenario.Nodes:][:2]
}

func (w *world) Liars() []string { return w.liars.names }

func (w *world) Switch(name string) any { return w.Switches[name] }

func (w *world) replicas() []string { return w.ids[:w.Scenario.Nodes] }

func (w *world) isClient(name string) bool { return w.place(name) >= w.Scenario.Nodes }

// others are the replicas but that at this place.
func (w *world) others(at int) []string {
	return slices.DeleteFunc(slices.Clone(w.replicas()), func(name string) bool { return name == w.ids[at] })
}

// understands says whether a node has a handler for such a message.
func (w *world) understands(node string, m any) bool {
	kinds := w.protocol.Handled
	if w.isClient(node) {
		kinds = w.protocol.ForClients
	}
	return slices.ContainsFunc(kinds, func(zero any) bool { return reflect.TypeOf(zero) == reflect.TypeOf(m) })
}

func (w *world) Written(name string) Image { return w.nodes[w.place(name)].disk.written }

func (w *world) Durable(name string) Image { return w.nodes[w.place(name)].disk.durable }

func (w *world) Up(name string) bool { return w.nodes[w.place(name)].up }

func (w *world) Now() int64 { return w.now }

func (w *world) HealedAt() int64 { return w.healedAt }

func (w *world) place(name string) int { return slices.Index(w.ids, name) }

// bits about something that happens now.
func (w *world) bits(about string, numbers ...uint64) uint64 {
	return draw(w.Seed, about, append(numbers, uint64(w.now))...)
}

func (w *world) push(e entry) {
	w.order++
	e.order = w.order
	heap.Push(&w.queue, e)
}

// next goes on to the next event that a node must handle. False when the run is over.
func (w *world) next() (found bool, err error) {
	if w.script != nil && len(w.queue) == 0 {
		return w.nextStep()
	}
	for len(w.queue) > 0 && (w.script != nil || w.events < w.Events) {
		e := heap.Pop(&w.queue).(entry)
		if w.script == nil && e.due > w.Horizon {
			w.now = w.Horizon
			return false, nil
		}
		w.now = max(w.now, e.due)
		if found, err := w.take(e); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// take says whether the entry is an event for a node.
func (w *world) take(e entry) (found bool, err error) {
	n := &w.nodes[e.node]
	switch e.kind {
	case deliver:
		if n.up && !w.network.cuts(e.message.from, e.node) {
			return w.arrive(e.message), nil
		}
	case timeout:
		if n.up && n.timers[e.name] == e.number {
			return w.timeOut(e.node, e.name), nil
		}
	case request:
		w.nextRequest(e.number + 1)
		if target := w.whom(e.number); w.nodes[target].up {
			return true, w.askSomething(target, e.number)
		}
		w.believed = -1
	case comesBack:
		if !n.up {
			return true, w.start(e.node)
		}
	case fault:
		w.fire(e)
	case heals:
		w.heal()
	}
	return false, nil
}

// happen is one more event, as a person says it and as it stands on the wire.
func (w *world) happen(node int, said string, event ...any) bool {
	w.events++
	w.at, w.event, w.arrived = node, event, nil
	w.note("%6d ms  %s %s", w.now/millisecond, w.ids[node], said)
	return true
}

func (w *world) note(format string, details ...any) {
	if len(w.trace) == traced {
		w.trace = w.trace[1:]
	}
	w.trace = append(w.trace, printable(fmt.Sprintf(format, details...)))
}

func (w *world) arrive(m *message) bool {
	said := fmt.Sprintf("handles %s%+v from %s", nameOf(m.content), m.content, w.ids[m.from])
	if len(m.signatures) > 0 {
		said = fmt.Sprintf("handles %.240s from %s", m.wire, w.ids[m.from])
	}
	w.happen(m.to, said, deliver, w.ids[m.from], m.wire)
	w.arrived = m
	w.notary.receives(w.ids[m.to], m)
	return true
}

func (w *world) timeOut(node int, timer string) bool {
	delete(w.nodes[node].timers, timer)
	return w.happen(node, "has the timeout "+timer, timeout, timer)
}

// ask is a client that asks the node for the command, perhaps once more.
func (w *world) ask(node, op int, command any) error {
	for len(w.operations) <= op {
		w.operations = append(w.operations, nil)
	}
	w.happen(node, fmt.Sprintf("is asked for %v", command), request, op, toWire(command))
	if w.operations[op] == nil {
		w.operations[op] = &operation{command: command, invoked: w.events}
	}
	w.operations[op].asked = append(w.operations[op].asked, node)
	return w.tell(node, Requested{w.ids[node], op, command})
}

// start boots a node with what its disk holds.
func (w *world) start(node int) error {
	n := &w.nodes[node]
	n.up, n.timers = true, map[string]int{}
	w.boots++
	contents := []any{""}
	for _, name := range SortedKeys(n.disk.written.Fields) {
		contents = append(contents, []any{"", name, toWire(n.disk.written.Fields[name])})
	}
	for _, name := range SortedKeys(n.disk.written.Logs) {
		log := n.disk.written.Logs[name]
		entries := []any{"", log.Base}
		for _, each := range log.Entries {
			entries = append(entries, toWire(each))
		}
		contents = append(contents, []any{"", name, entries})
	}
	switches := []any{""}
	for _, name := range SortedKeys(w.Switches) {
		switches = append(switches, []any{"", name, w.Switches[name]})
	}
	w.happen(node, "starts", start, w.ids[node], toWire(w.replicas()), switches, contents)
	return w.tell(node, Restarted{w.ids[node]})
}

// crash stops a node. Its volatile state and the unsynced writes that are not kept are gone.
func (w *world) crash(node int, kept []Kept) {
	w.note("%6d ms  %s crashes; of %d unsynced writes it keeps %v", w.now/millisecond, w.ids[node],
		len(w.nodes[node].disk.unsynced), kept)
	w.nodes[node].up, w.nodes[node].timers = false, nil
	w.nodes[node].disk.crash(kept)
	if w.believed == node {
		w.believed = -1
	}
}

// -- Clients ----------------------------------------------------------------------------------------------------------

func (w *world) nextRequest(op int) {
	gap := around(draw(w.Seed, "gap", uint64(op)), w.Schedule.requestGap())
	w.push(entry{due: w.now + gap, kind: request, number: op})
}

func (w *world) askSomething(node, op int) error {
	bits := draw(w.Seed, "command", uint64(op))
	if again := w.unanswered(draw(w.Seed, "again", uint64(op))); again > 0 {
		return w.ask(node, again, w.operations[again].command)
	}
	return w.ask(node, op, w.protocol.Workload(op, bits))
}

// unanswered is, one time in three, one of the last eight operations, if it has no answer: its client asks again. Else 0.
func (w *world) unanswered(bits uint64) int {
	var latest []int
	for op := len(w.operations) - 1; op > 0 && len(latest) < 8; op-- {
		if w.operations[op] != nil {
			latest = append(latest, op)
		}
	}
	if !w.retries || bits%3 > 0 || len(latest) == 0 {
		return 0
	}
	if op := latest[bits/3%uint64(len(latest))]; w.operations[op].returned == 0 {
		return op
	}
	return 0
}

// whom a client asks: most of the time who answered last.
func (w *world) whom(op int) int {
	bits := draw(w.Seed, "whom", uint64(op))
	if clients := w.Clients(); clients != nil {
		return w.place(clients[bits>>2%uint64(len(clients))])
	}
	if w.believed >= 0 && bits&3 != 0 {
		return w.believed
	}
	return int(bits >> 2 % uint64(len(w.nodes)))
}

// -- Effects ----------------------------------------------------------------------------------------------------------

// resume carries out, in order, what the node asked for; perhaps it crashes on the way. The error is a broken invariant,
// or a sentence about what no node may do.
func (w *world) resume(effects []Effect) error {
	if w.liars.has(w.ids[w.at]) {
		var err error
		if effects, err = w.lie(effects); err != nil {
			return err
		}
	}
	cut, kept := w.crashPoint(effects)
	if cut >= 0 && cut < len(effects) {
		effects = effects[:cut]
	}
	for i := range effects {
		if err := w.carryOut(&effects[i]); err != nil {
			return err
		}
	}
	if len(w.queue) > mostQueued {
		return fmt.Errorf("%d messages and timers are on their way", len(w.queue))
	}
	if cut >= 0 {
		if kept == nil {
			kept = chooseKept(w.nodes[w.at].disk.unsynced, w.bits("kept", uint64(w.at)))
		}
		w.crash(w.at, kept)
		w.comeBack(w.at)
	}
	return nil
}

// lie is what becomes of a liar's effects. Its node is the candidate's, and may not forge signatures either.
func (w *world) lie(effects []Effect) ([]Effect, error) {
	for _, e := range effects {
		if e.Kind == Send {
			if err := w.notary.sends(w.ids[w.at], true, newMessage(w.at, w.place(e.Name), e.Content)); err != nil {
				return nil, err
			}
		}
	}
	return w.liars.twist(w, effects), nil
}

// tell the observer what a node did, unless that lies.
func (w *world) tell(node int, fact any) error {
	if w.liars.has(w.ids[node]) {
		return nil
	}
	return w.observer.See(fact)
}

func (w *world) carryOut(e *Effect) error {
	name, n := w.ids[w.at], &w.nodes[w.at]
	switch e.Kind {
	case Send:
		return w.send(e.Name, e.Content)
	case Write:
		before := n.disk.written
		n.disk.write(*e)
		return w.tell(w.at, Wrote{name, before, e.Pairs})
	case Store:
		log := n.disk.written.Logs[e.Name]
		e.base, e.Number = log.Base, min(e.Number, len(log.Entries))
		n.disk.write(*e)
		return w.tell(w.at, Stored{name, e.Name, e.Number, log.Entries[e.Number:], e.Entries})
	case Reset:
		before := n.disk.written.Logs[e.Name]
		n.disk.write(*e)
		return w.tell(w.at, WasReset{name, e.Name, before, Log{e.Number, e.Entries}})
	case Sync:
		n.disk.sync()
	case SetTimer:
		w.setTimer(e.Name, int64(e.Number), int64(e.Longest))
	case Cancel:
		delete(n.timers, e.Name)
	case Apply:
		return w.tell(w.at, Applied{name, e.Number, e.Content, e.Result})
	case Restore:
		return w.tell(w.at, Restored{name, e.Number, e.Content})
	case Reply:
		return w.reply(e.Number, e.Content)
	case Refuse:
		if o := w.operation(e.Number); o != nil && o.returned == 0 {
			o.refusals = min(o.refusals+1, len(o.asked))
			w.believed = -1
		}
	}
	return nil
}

// operation that the node was asked for; nil for none.
func (w *world) operation(op int) *operation {
	if op < len(w.operations) && w.operations[op] != nil && slices.Contains(w.operations[op].asked, w.at) {
		return w.operations[op]
	}
	return nil
}

func (w *world) reply(op int, result any) error {
	o := w.operation(op)
	if o == nil {
		return fmt.Errorf("%s answered operation %d, which no client asked of it", w.ids[w.at], op)
	}
	if o.returned > 0 || o.refused() {
		return nil
	}
	o.returned, o.result, w.believed = w.events, result, w.at
	w.answers++
	return w.tell(w.at, Replied{w.ids[w.at], op, o.command, result})
}

func (w *world) send(to string, content any) error {
	place := w.place(to)
	m := newMessage(w.at, place, content)
	if !w.liars.has(w.ids[w.at]) {
		if err := w.notary.sends(w.ids[w.at], false, m); err != nil {
			return err
		}
	}
	if err := w.tell(w.at, Sent{w.ids[w.at], to, content}); err != nil {
		return err
	}
	if place < 0 {
		return fmt.Errorf("%s sent a message to %.40q, which is no node", w.ids[w.at], to)
	}
	if w.script != nil {
		link := [2]int{w.at, place}
		w.script.sent[link] = append(w.script.sent[link], m)
		return nil
	}
	w.transmit(m)
	return nil
}

func (w *world) setTimer(timer string, shortest, longest int64) {
	w.sets++
	w.nodes[w.at].timers[timer] = w.sets
	if w.script == nil {
		wait := w.Schedule.wait(w.bits("timer "+timer, uint64(w.at)), shortest, longest)
		w.push(entry{due: w.now + wait, kind: timeout, node: w.at, name: timer, number: w.sets})
	}
}
