package simkit

import (
	"slices"
	"strings"
)

// A history of a register map is linearizable (Herlihy & Wing, TOPLAS 1990) when every operation can be given one
// instant between its invocation and its return so that, carried out at these instants, the registers give the same
// results. The search is Wing & Gong's (JPDC 1993) with Lowe's memory of the configurations seen (CCPE 2017). Each key
// is an object of its own.

const mostConfigurations = 200_000

// linearizable is nil, or a Broken invariant, for operations on registers; others are left out.
func linearizable(operations []*operation) error {
	byKey := map[string][]*operation{}
	returned := map[any]bool{}
	for _, o := range operations {
		if o != nil && o.returned > 0 {
			returned[o.result] = true
		}
	}
	for _, o := range operations {
		if o == nil || o.refused() {
			continue
		}
		c, ok := o.command.(Command)
		if !ok {
			continue
		}
		// One without a return may be left out; where nobody has seen what it writes, nothing is lost by that.
		if o.returned > 0 || c.Op == "put" && returned[c.Value] {
			byKey[c.Key] = append(byKey[c.Key], o)
		}
	}
	for _, key := range SortedKeys(byKey) {
		if err := searchOrder(key, byKey[key]); err != nil {
			return err
		}
	}
	return nil
}

// configuration is which operations have been placed, and what the register holds then.
type configuration struct {
	placed string // a byte for each operation, 1 if it is placed
	value  any
}

// searchOrder looks for an order of one key's operations: each returns the value before it.
func searchOrder(key string, operations []*operation) error {
	slices.SortFunc(operations, func(a, b *operation) int { return a.invoked - b.invoked })
	stack := []configuration{{strings.Repeat("\x00", len(operations)), nil}}
	seen := map[configuration]bool{stack[0]: true}
	for len(stack) > 0 {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		successors, done := c.successors(operations)
		if done {
			return nil
		}
		for _, next := range successors {
			if !seen[next] {
				seen[next] = true
				stack = append(stack, next)
			}
		}
		if len(seen) > mostConfigurations {
			return Break("linearizability", "the client history of %s is too tangled to be judged", key)
		}
	}
	return Break("linearizability", "no order explains what clients saw of %s", key)
}

// successors place one more operation. Done, if none that returned is left.
func (c configuration) successors(operations []*operation) (found []configuration, done bool) {
	firstReturn := 0
	for i, o := range operations {
		if c.placed[i] == 0 && o.returned > 0 && (firstReturn == 0 || o.returned < firstReturn) {
			firstReturn = o.returned
		}
	}
	if firstReturn == 0 {
		return nil, true
	}
	for i, o := range operations {
		if c.placed[i] == 1 || o.invoked > firstReturn || o.returned > 0 && o.result != c.value {
			continue
		}
		next := configuration{c.placed[:i] + "\x01" + c.placed[i+1:], c.value}
		command := o.command.(Command)
		if command.Op == "get" {
			return []configuration{next}, false // what changes nothing may as well come at once
		}
		next.value = command.Value
		found = append(found, next)
	}
	return found, false
}
