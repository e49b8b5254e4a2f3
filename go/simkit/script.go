package simkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// script is how far a story has been told.
type script struct {
	position int
	current  *Step
	skipped  int
	sent     map[[2]int][]*message // by link, in order
}

// crashPoint is where the step says that its node crashes.
func (s *script) crashPoint() (cut int, kept []Kept) {
	if s.current == nil || s.current.Cut == nil {
		return -1, nil
	}
	return *s.current.Cut, append([]Kept{}, s.current.Kept...)
}

// nextStep takes steps until one is an event for a node.
func (w *world) nextStep() (bool, error) {
	s := w.script
	for s.position < len(w.Steps) {
		s.current = &w.Steps[s.position]
		s.position++
		w.now += millisecond
		if found, err := w.play(s.current); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// play takes a step if it is enabled. True if a node must handle an event.
func (w *world) play(step *Step) (bool, error) {
	place := w.place(step.Node)
	if place < 0 {
		return false, fmt.Errorf("the story has a step of %q, which is no node", step.Node)
	}
	n := &w.nodes[place]
	_, runs := n.timers[step.Timer]
	switch {
	case w.liars.has(step.Node): // it does not run
	case step.Do == "lie" && n.up:
		return w.hearLie(place, step)
	case step.Do == "deliver" && n.up:
		if m := w.find(place, step); m != nil {
			m.delivered = true
			return w.arrive(m), nil
		}
	case step.Do == "timeout" && runs:
		return w.timeOut(place, step.Timer), nil
	case step.Do == "request" && n.up && (w.retries || !w.knows(step.Op)):
		command, err := w.read(step.Command)
		if err != nil {
			return false, err
		}
		return true, w.ask(place, step.Op, command)
	case step.Do == "crash" && n.up:
		w.crash(place, step.Kept)
		return false, nil
	case step.Do == "reboot" && n.up:
		w.crash(place, step.Kept)
		return true, w.start(place)
	case step.Do == "restart" && !n.up:
		return true, w.start(place)
	}
	w.script.skipped++
	return false, nil
}

// hearLie lets a liar's message arrive, if it holds no signature that its signer has not made.
func (w *world) hearLie(place int, step *Step) (bool, error) {
	content, err := w.lieOf(step)
	if err != nil {
		return false, err
	}
	m := newMessage(w.place(step.From), place, content)
	if sealed := w.notary.sealed(reflect.ValueOf(content), w.liars.names); !bytes.Equal(toWire(sealed.Interface()), m.wire) {
		w.script.skipped++
		return false, nil
	}
	return w.arrive(m), nil
}

// lieOf is the message that a liar sends. The error says that its receiver could not read it.
func (w *world) lieOf(step *Step) (any, error) {
	content, err := w.read(step.Lie)
	known := w.place(step.From) >= 0 && w.place(step.Node) >= 0
	if err != nil || !known || !w.understands(step.Node, content) {
		return nil, fmt.Errorf("the story has %s tell %s what is no message: %.200s", step.From, step.Node, step.Lie)
	}
	return content, nil
}

// find the message that the step means: of its type on its link, by age; or, where an edit has changed what is sent, the
// newest that has not arrived.
func (w *world) find(to int, step *Step) *message {
	var alike []*message
	for _, m := range w.script.sent[[2]int{w.place(step.From), to}] {
		if nameOf(m.content) == step.Message {
			alike = append(alike, m)
		}
	}
	if last := len(alike) - 1; step.Age <= last && (step.Again || !alike[last-step.Age].delivered) {
		return alike[last-step.Age]
	}
	for i := len(alike) - 1; i >= 0; i-- {
		if !alike[i].delivered {
			return alike[i]
		}
	}
	return nil
}

func (w *world) knows(op int) bool { return op < len(w.operations) && w.operations[op] != nil }

func (w *world) read(raw json.RawMessage) (any, error) {
	found, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return w.protocol.any(found)
}
