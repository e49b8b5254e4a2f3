package step

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Kinds of events.
const (
	deliver = 0 // sender, message
	timeout = 1 // timer
	request = 2 // operation, command
	start   = 4 // me, all nodes, switches, disk
)

// Nodes is the nodes of one worker, each of another run, by slot.
type Nodes struct {
	protocol Protocol
	types    *types
	known    map[string]string
	nodes    map[int64]*seat
}

type seat struct {
	machine Machine
	*core
}

// field of a disk or of switches.
type field struct {
	name  string
	value reflect.Value
	coder *coder  // nil for a log
	log   journal // nil for any other
}

// journal is a Log of any type.
type journal interface {
	attach(owner *core, name string)
	load(r *reader, t *types)
}

func (l *Log[T]) attach(owner *core, name string) { l.owner, l.name = owner, name }

func (l *Log[T]) load(r *reader, t *types) {
	r.tag("")
	r.next()
	l.base = int(r.integer())
	item := t.coder(reflect.TypeFor[T]())
	for r.more() {
		var entry T
		item.get(r, reflect.ValueOf(&entry).Elem())
		l.entries = append(l.entries, entry)
	}
}

// NewNodes of a protocol. The error is a sentence about what the protocol says of itself.
func NewNodes(p Protocol) (made *Nodes, err error) {
	defer func() {
		if found := recover(); found != nil {
			err = errors.New(say(found))
		}
	}()
	if p.New == nil {
		return nil, fmt.Errorf("the protocol says nothing of New: there is no node to run")
	}
	made = &Nodes{protocol: p, known: map[string]string{}, nodes: map[int64]*seat{}}
	made.types = newTypes(append(slices.Clone(p.Values), Command{}))
	made.boot()
	return made, nil
}

// Events splits a frame into the events that it holds. The error is a sentence.
func (n *Nodes) Events(frame []byte) (events [][]byte, err error) {
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("a frame is no list of events: %v", found)
		}
	}()
	r := reader{data: frame, known: n.known}
	r.enter()
	if r.peek() == ']' {
		return nil, nil
	}
	for first := true; first || r.more(); first = false {
		r.peek()
		begin := r.at
		r.skip()
		events = append(events, frame[begin:r.at])
	}
	return events, nil
}

// Handle gives an event to its node and appends the answer to buf: effects and refusals, or a sentence that says what
// went wrong.
func (n *Nodes) Handle(buf, event []byte) (answer []byte) {
	length := len(buf)
	defer func() {
		if found := recover(); found != nil {
			answer = appendText(buf[:length], spell(found))
		}
	}()
	node := n.step(&reader{data: event, known: n.known})
	buf = append(buf, '[')
	buf = appendList(buf, node.effects)
	buf = append(buf, ',')
	buf = appendList(buf, node.refused)
	return append(buf, ']')
}

func appendList(buf, items []byte) []byte {
	buf = append(buf, '[')
	buf = append(buf, items...)
	if len(items) > 0 {
		buf = buf[:len(buf)-1] // the comma after the last
	}
	return append(buf, ']')
}

func (n *Nodes) step(r *reader) *seat {
	r.enter()
	slot := r.integer()
	r.next()
	clock := int(r.integer())
	r.next()
	kind := r.integer()
	r.next()
	if kind == start {
		n.nodes[slot] = n.boots(r)
	}
	node := n.nodes[slot]
	if node == nil {
		r.fail("no node has started in slot %d", slot)
	}
	node.Now = clock
	node.effects, node.refused = node.effects[:0], node.refused[:0]
	switch kind {
	case start:
		node.machine.Start()
	case deliver:
		src := NodeID(r.text())
		r.next()
		m := n.types.any(r)
		r.last()
		node.machine.Receive(src, m)
	case timeout:
		timer := Timer(r.text())
		r.last()
		node.machine.Timeout(timer)
	case request:
		op := OpID(r.integer())
		r.next()
		command := n.types.any(r)
		r.last()
		node.machine.Request(op, command)
	default:
		r.fail("there is no event of kind %d", kind)
	}
	return node
}

// boot makes a node that knows nothing yet, with the fields of its disk and of its switches.
func (n *Nodes) boot() (*seat, []field) { return n.bootAs(n.protocol.New) }

func (n *Nodes) bootAs(create func() Machine) (*seat, []field) {
	machine := create()
	core, disk, switches := machine.parts()
	core.types = n.types
	core.application = &KeyValue{}
	if n.protocol.NewApplication != nil {
		core.application = n.protocol.NewApplication()
	}
	core.fields = n.fields(reflect.ValueOf(disk).Elem(), core)
	return &seat{machine, core}, n.fields(reflect.ValueOf(switches).Elem(), core)
}

func (n *Nodes) fields(v reflect.Value, owner *core) (found []field) {
	if v.Kind() != reflect.Struct {
		panic(fmt.Sprintf("a disk and switches are structs, and %s is none", v.Type()))
	}
	for i := range v.NumField() {
		about, value := v.Type().Field(i), v.Field(i)
		if !about.IsExported() {
			panic(fmt.Sprintf("%s.%s must be exported", v.Type(), about.Name))
		}
		name := snake(about.Name)
		if log, ok := value.Addr().Interface().(journal); ok {
			log.attach(owner, name)
			found = append(found, field{name: name, value: value, log: log})
		} else if about.Anonymous {
			found = append(found, n.fields(value, owner)...)
		} else {
			found = append(found, field{name: name, value: value, coder: n.types.fieldCoder(about)})
		}
	}
	return found
}

// boots reads a node's start: me, replicas, switches, disk.
func (n *Nodes) boots(r *reader) *seat {
	me := NodeID(r.text())
	r.next()
	var replicas []NodeID
	n.types.coder(reflect.TypeFor[[]NodeID]()).get(r, reflect.ValueOf(&replicas).Elem())
	create := n.protocol.New
	if n.protocol.NewClient != nil && !slices.Contains(replicas, me) {
		create = n.protocol.NewClient
	}
	node, switches := n.bootAs(create)
	node.Me, node.ClusterSize = me, len(replicas)
	node.Peers = slices.DeleteFunc(replicas, func(id NodeID) bool { return id == me })
	r.next()
	n.load(r, switches, "switch")
	r.next()
	n.load(r, node.fields, "field of a disk")
	r.last()
	return node
}

// load reads ["", ["", name, content], ...] into the fields. Those that are not named stay zero.
func (n *Nodes) load(r *reader, fields []field, what string) {
	r.tag("")
	for r.more() {
		r.tag("")
		r.next()
		name := r.text()
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			r.fail("there is no %s %q", what, name)
		}
		r.next()
		if log := fields[i].log; log != nil {
			log.load(r, n.types)
		} else {
			fields[i].coder.get(r, fields[i].value)
		}
		r.last()
	}
}

// spell says what went wrong, and where in the protocol.
func spell(found any) string {
	if sentence, ok := found.(malformed); ok {
		return "what came in does not fit: " + string(sentence)
	}
	return "panic: " + say(found) + where()
}

// say what a protocol has panicked with, which may panic itself when it is asked.
func say(found any) (sentence string) {
	defer func() {
		if recover() != nil {
			sentence = fmt.Sprintf("a %T, which panics when it is printed", found)
		}
	}()
	sentence = strings.ToValidUTF8(fmt.Sprint(found), "?")
	if runes := []rune(sentence); len(runes) > 300 {
		sentence = string(runes[:300])
	}
	return sentence
}

// where the protocol's code has panicked.
func where() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		frame, more := frames.Next()
		ours := strings.HasPrefix(frame.Function, "protosim/step.") && !strings.HasSuffix(frame.File, "_test.go")
		if frame.Line > 0 && !ours && !strings.HasPrefix(frame.Function, "runtime.") {
			function := strings.ReplaceAll(frame.Function, "[...]", "") // of any types
			function = function[strings.LastIndexByte(function, '.')+1:]
			return fmt.Sprintf(", in %s, %s:%d", function, path.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}
