package simkit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// Kinds of events and of effects, as they stand on the wire.
const (
	deliver = 0
	timeout = 1
	request = 2
	start   = 4

	Send     = 0
	Write    = 1
	Store    = 2
	Sync     = 3
	SetTimer = 4
	Cancel   = 5
	Apply    = 6
	Reply    = 7
	Refuse   = 8
	Restore  = 9
	Reset    = 10
)

const (
	longestTimer = 1_000_000_000_000 // microseconds
	longestName  = 64
)

// Pair is a field of a disk, and what is written there.
type Pair struct {
	Name    string
	Content any
}

// Effect is what a node asks for. Which fields it has depends on its kind.
type Effect struct {
	Kind    int
	Name    string // Send: to whom. Store, Reset: which log. SetTimer, Cancel: which timer
	Number  int    // Store, Apply, Restore: index. Reset: base. SetTimer: shortest. Reply, Refuse: operation
	Longest int    // SetTimer
	Content any    // Send: the message. Apply: the command. Reply: the result. Restore: the state
	Result  any    // Apply
	Pairs   []Pair // Write
	Entries []any  // Store, Reset

	base int // Store: the log's, when it was written
}

// answer reads a worker's answer to one event: the effects and the names of refused checks. The error is a sentence.
func (p *Protocol) answer(raw []byte) (effects []Effect, refused [][]string, err error) {
	found, err := parse(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("an answer cannot be read: %w", err)
	}
	if sentence, ok := found.(string); ok {
		return nil, nil, fmt.Errorf("%.400q", sentence)
	}
	both, ok := found.([]any)
	if !ok || len(both) != 2 {
		return nil, nil, fmt.Errorf("an answer is a list of effects and a list of refusals")
	}
	list, isList := both[0].([]any)
	if !isList || json.Unmarshal(encode(both[1]), &refused) != nil {
		return nil, nil, fmt.Errorf("an answer is a list of effects and a list of lists of names")
	}
	for _, each := range list {
		effect, err := p.effect(each)
		if err != nil {
			return nil, nil, err
		}
		effects = append(effects, effect)
	}
	return effects, refused, nil
}

// forms of effects by kind: s a name, i a whole number from 0 on, v and x any value, l a log's entries, p pairs.
var forms = map[int]string{
	Send: "sv", Write: "p", Store: "sil", Sync: "", SetTimer: "sij", Cancel: "s", Apply: "ivx", Reply: "iv", Refuse: "i",
	Restore: "iv", Reset: "sil",
}

func (p *Protocol) effect(raw any) (e Effect, err error) {
	list, ok := raw.([]any)
	if !ok || len(list) == 0 {
		return e, fmt.Errorf("%.100s is no effect", spell(raw))
	}
	kind, isNumber := list[0].(json.Number)
	e.Kind, err = strconv.Atoi(string(kind))
	form, known := forms[e.Kind]
	if !isNumber || err != nil || !known || len(form) != len(list)-1 {
		return e, fmt.Errorf("%.100s is no effect", spell(raw))
	}
	for i, field := range form {
		if err := p.setField(&e, field, list[i+1]); err != nil {
			return e, fmt.Errorf("%.200s is no effect: %w", spell(raw), err)
		}
	}
	if e.Kind == Send && (e.Content == nil || reflect.TypeOf(e.Content).Kind() != reflect.Struct) {
		return e, fmt.Errorf("%.200s sends what is no message", spell(raw))
	}
	if e.Kind == SetTimer && (e.Number < 1 || e.Longest < e.Number || e.Longest > longestTimer) {
		return e, fmt.Errorf("a timer is set to a range of %d to %d microseconds", e.Number, e.Longest)
	}
	return e, nil
}

func (p *Protocol) setField(e *Effect, field rune, raw any) (err error) {
	switch field {
	case 's':
		var ok bool
		if e.Name, ok = raw.(string); !ok || len(e.Name) > longestName {
			return fmt.Errorf("%.80s is no name", spell(raw))
		}
	case 'i':
		e.Number, err = p.whole(raw)
	case 'j':
		e.Longest, err = p.whole(raw)
	case 'v':
		e.Content, err = p.any(raw)
	case 'x':
		e.Result, err = p.any(raw)
	case 'l':
		e.Entries, err = p.entries(e.Name, raw)
	case 'p':
		e.Pairs, err = p.pairs(raw)
	}
	return err
}

func (p *Protocol) whole(raw any) (int, error) {
	found, err := p.value(raw, reflect.TypeFor[int](), 0)
	if err == nil && found.Int() < 0 {
		err = fmt.Errorf("%s is below 0", spell(raw))
	}
	return int(found.Int()), err
}

func (p *Protocol) any(raw any) (any, error) {
	found, err := p.value(raw, reflect.TypeFor[any](), 0)
	return found.Interface(), err
}

func (p *Protocol) entries(log string, raw any) (entries []any, err error) {
	entry, ok := p.Logs[log]
	if !ok {
		return nil, fmt.Errorf("the disk has no log %.40q", log)
	}
	found, err := p.value(raw, reflect.SliceOf(reflect.TypeOf(entry)), 0)
	if err != nil {
		return nil, err
	}
	for i := range found.Len() {
		entries = append(entries, found.Index(i).Interface())
	}
	return entries, nil
}

func (p *Protocol) pairs(raw any) (pairs []Pair, err error) {
	list, ok := raw.([]any)
	if !ok || len(list) == 0 || list[0] != "" {
		return nil, fmt.Errorf("%.100s is no list of fields", spell(raw))
	}
	for _, each := range list[1:] {
		pair, ok := each.([]any)
		if !ok || len(pair) != 3 || pair[0] != "" {
			return nil, fmt.Errorf("a field is written as its name and its content")
		}
		name, _ := pair[1].(string)
		zero, ok := p.Fields[name]
		if !ok {
			return nil, fmt.Errorf("the disk has no field %.40q", name)
		}
		kind := reflect.TypeFor[any]()
		if zero != nil {
			kind = reflect.TypeOf(zero)
		}
		content, err := p.value(pair[2], kind, 0)
		if err != nil {
			return nil, fmt.Errorf("the field %s: %w", name, err)
		}
		pairs = append(pairs, Pair{name, content.Interface()})
	}
	return pairs, nil
}
