package step

import (
	"fmt"
	"slices"
	"strings"
)

// Application is what every replica runs: pure and volatile.
type Application interface {
	Apply(command Value) (result any)
	Snapshot() Value
	Restore(state Value)
}

// Command is what a client asks of the replicated register map: "put" (answers the previous value) or "get".
type Command struct {
	Op    string
	Key   string
	Value int
}

// Register is one of a snapshot's.
type Register struct {
	Key   string
	Value int
}

// KeyValue is the replicated register map.
type KeyValue struct {
	registers map[string]int
}

// Apply executes a Command.
func (kv *KeyValue) Apply(command Value) (result any) {
	c, ok := command.(Command)
	if !ok {
		panic(fmt.Sprintf("a %T is no command of the register map", command))
	}
	if before, found := kv.registers[c.Key]; found {
		result = before
	}
	if c.Op == "put" {
		if kv.registers == nil {
			kv.registers = map[string]int{}
		}
		kv.registers[c.Key] = c.Value
	}
	return result
}

// Snapshot is the registers in the order of their keys, as []Register.
func (kv *KeyValue) Snapshot() Value {
	state := make([]Register, 0, len(kv.registers))
	for key, value := range kv.registers {
		state = append(state, Register{key, value})
	}
	slices.SortFunc(state, func(a, b Register) int { return strings.Compare(a.Key, b.Key) })
	return state
}

// Restore takes what Snapshot gave.
func (kv *KeyValue) Restore(state Value) {
	kv.registers = map[string]int{}
	for _, register := range state.([]Register) {
		kv.registers[register.Key] = register.Value
	}
}
