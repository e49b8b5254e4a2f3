// Package transactions judges runs of distributed transactions under locks: what the nodes say to each other, and what
// must hold.
//
// BHG is P. A. Bernstein, V. Hadzilacos and N. Goodman, "Concurrency Control and Recovery in Database Systems", 1987.
package transactions

import (
	"slices"

	"protosim/simkit"
)

// The messages, and what they hold.
type (
	// Transaction reads these accounts, and moves Amount from the first to each of the others; 0 only reads.
	Transaction struct {
		Accounts []string
		Amount   int
	}
	Cell struct{ Balance, Writer int }
	// Held is a lock as its holder knows it.
	Held struct {
		Account string
		Token   [2]int
	}
	Write struct {
		Account string
		Balance int
	}
	Lock struct {
		Tid     int
		Account string
	}
	Granted struct {
		Tid  int
		Lock Held
		Cell Cell
	}
	Unlock struct {
		Tid  int
		Lock Held
	}
	Prepare struct {
		Tid    int
		Locks  []Held
		Writes []Write
	}
	Vote struct {
		Tid   int
		Yes   bool
		Locks []Held
	}
	Decision struct {
		Tid       int
		Committed bool
		Locks     []Held
	}
	Finished struct {
		Tid   int
		Freed []Held
	}
	Prepared struct {
		Tid         int
		Coordinator string
		Locks       []Held
		Writes      []Write
	}
	Commit struct {
		Tid   int
		Locks []Held
	}
)

const total = 20 // in all accounts, always

var accounts = []string{"a", "b", "c", "d"}

// Protocol is two-phase locking and two-phase commit over accounts.
var Protocol = simkit.Protocol{
	Name: "transactions",
	Values: []any{
		Transaction{}, Cell{}, Held{}, Write{}, Lock{}, Granted{}, Unlock{}, Prepare{}, Vote{}, Decision{}, Finished{},
		Prepared{}, Commit{},
	},
	Fields:   map[string]any{"boot": 0, "cells": []any{}, "prepared": []any{}, "commits": []any{}},
	Workload: workload,
	Watch: func(f simkit.Facts) simkit.Observer {
		return &both{newLocks(f), newOutcomes(f)}
	},
}

// workload is mostly transfers between two accounts, some from one to two others, and one in four reads everything.
func workload(op int, bits uint64) any {
	if bits&7 < 2 {
		return Transaction{accounts, 0}
	}
	first := bits >> 3 & 3
	second := (first + 1 + bits>>5%3) % 4
	chosen := []string{accounts[first], accounts[second]}
	if bits&7 > 2 {
		return Transaction{chosen, 1 + int(bits>>8&3)}
	}
	for _, account := range accounts {
		if !slices.Contains(chosen, account) {
			return Transaction{append(chosen, account), 1}
		}
	}
	return nil
}

// home is who has the account.
func home(account string, nodes []string) string {
	return nodes[slices.Index(accounts, account)%len(nodes)]
}

// both observers, one after the other.
type both struct {
	*locks
	*outcomes
}

func (b *both) See(fact any) error {
	if err := b.locks.See(fact); err != nil {
		return err
	}
	return b.outcomes.See(fact)
}

// -- What lies on a disk ----------------------------------------------------------------------------------------------

// list is a field of a disk that holds so many of one kind; what is of another kind is left out.
func list[T any](image simkit.Image, field string) (found []T) {
	for _, each := range image.Fields[field].([]any) {
		if item, ok := each.(T); ok {
			found = append(found, item)
		}
	}
	return found
}

type entry struct {
	account string
	cell    Cell
}

// cells of a shard that were ever written.
func cells(image simkit.Image) (found []entry) {
	for _, pair := range list[[]any](image, "cells") {
		if len(pair) == 2 {
			account, _ := pair[0].(string)
			cell, _ := pair[1].(Cell)
			found = append(found, entry{account, cell})
		}
	}
	return found
}

// writer is who left the account as it is; 0 for nobody.
func writer(image simkit.Image, account string) int {
	for _, each := range cells(image) {
		if each.account == account {
			return each.cell.Writer
		}
	}
	return 0
}

func isPrepared(image simkit.Image, tid int) bool {
	return slices.ContainsFunc(list[Prepared](image, "prepared"), func(r Prepared) bool { return r.Tid == tid })
}

// -- Locks ------------------------------------------------------------------------------------------------------------

// locks is who holds and who waits, as messages tell it: a lock is held from Granted until its coordinator sends what
// releases it (a decision, an Unlock), or its shard forgets it in a crash.
type locks struct {
	facts       simkit.Facts
	holder      map[string]holding
	givenUp     map[Held]bool // what may be released
	ownerOf     map[Held]int
	freed       map[Held]bool
	waits       map[int]string
	coordinator map[int]string
}

type holding struct {
	tid   int
	token [2]int
}

func newLocks(f simkit.Facts) *locks {
	return &locks{
		facts:       f,
		holder:      map[string]holding{},
		givenUp:     map[Held]bool{},
		ownerOf:     map[Held]int{},
		freed:       map[Held]bool{},
		waits:       map[int]string{},
		coordinator: map[int]string{},
	}
}

func (l *locks) See(fact any) error {
	switch x := fact.(type) {
	case simkit.Sent:
		return l.sent(x.From, x.Message)
	case simkit.Restarted:
		l.restarted(x.Node)
	}
	return nil
}

func (l *locks) sent(node string, m any) error {
	switch m := m.(type) {
	case Granted:
		return l.mutualExclusion(node, m)
	case Unlock:
		l.giveUp(m.Lock)
	case Decision:
		for _, lock := range m.Locks {
			l.giveUp(lock)
		}
	case Finished:
		return l.releasedOnce(node, m)
	case Lock:
		l.coordinator[m.Tid], l.waits[m.Tid] = node, m.Account
		return l.deadlockFreedom(m.Tid)
	}
	return nil
}

// mutualExclusion: a lock has one holder at a time (BHG §3.2, rule 1).
func (l *locks) mutualExclusion(node string, m Granted) error {
	account := m.Lock.Account
	if l.waits[m.Tid] == account {
		delete(l.waits, m.Tid)
	}
	if l.givenUp[m.Lock] {
		return nil // said before it heard that it may release
	}
	l.ownerOf[m.Lock] = m.Tid
	before, held := l.holder[account]
	l.holder[account] = holding{m.Tid, m.Lock.Token}
	if held && before.tid != m.Tid {
		return simkit.Break("mutual_exclusion", "%s gave the lock of %s to %d while %d had it", node, account, m.Tid, before.tid)
	}
	return nil
}

func (l *locks) giveUp(lock Held) {
	l.givenUp[lock] = true
	if held, ok := l.holder[lock.Account]; ok && held.token == lock.Token {
		delete(l.holder, lock.Account)
	}
}

// releasedOnce: a lock is released once, by the transaction that holds it (BHG §3.2, rule 2; Chubby §2.4).
func (l *locks) releasedOnce(node string, m Finished) error {
	for _, lock := range m.Freed {
		if l.freed[lock] {
			return simkit.Break("released_exactly_once", "%s released %v for %d, and had released it before", node, lock, m.Tid)
		}
		l.freed[lock] = true
		if owner := l.ownerOf[lock]; owner != m.Tid {
			return simkit.Break("released_exactly_once", "%s released %v for %d, but it was granted to %d",
				node, lock, m.Tid, owner)
		}
	}
	return nil
}

// deadlockFreedom: transactions never wait for each other in a circle (BHG §3.4; Havender 1968).
func (l *locks) deadlockFreedom(tid int) error {
	circle := []int{tid}
	for {
		next := l.holder[l.waits[circle[len(circle)-1]]].tid
		if next == tid && len(circle) > 1 {
			return simkit.Break("deadlock_freedom", "each waits for the next, and the last for the first: %v", circle)
		}
		if next == 0 || slices.Contains(circle, next) || !l.facts.Up(l.coordinator[next]) {
			return nil
		}
		circle = append(circle, next)
	}
}

// restarted: the shard has forgotten its locks but those of prepared transactions; the coordinator what it waits for.
func (l *locks) restarted(node string) {
	var kept []string
	for _, record := range list[Prepared](l.facts.Written(node), "prepared") {
		for _, lock := range record.Locks {
			kept = append(kept, lock.Account)
		}
	}
	for _, account := range accounts {
		if home(account, l.facts.Nodes()) == node && !slices.Contains(kept, account) {
			delete(l.holder, account)
		}
	}
	for tid := range l.waits {
		if l.coordinator[tid] == node {
			delete(l.waits, tid)
		}
	}
}
