package transactions

import (
	"errors"
	"testing"

	"protosim/simkit"
	"protosim/simkit/byhand"
)

// cluster is two shards, a and c at n1, b and d at n2, and what is seen of them, by hand. What is written is durable at
// once.
type cluster struct {
	*byhand.Cluster
	*both
}

func newCluster() *cluster {
	c := &cluster{Cluster: byhand.New(2, empty())}
	c.Healed = 10
	c.both = &both{newLocks(c), newOutcomes(c)}
	c.Observer = c.both
	return c
}

func empty() simkit.Image {
	return simkit.Image{Fields: map[string]any{"boot": 0, "cells": []any{}, "prepared": []any{}, "commits": []any{}}}
}

func (c *cluster) sends(node string, m any) { c.Tell(simkit.Sent{From: node, To: "n1", Message: m}) }

func (c *cluster) writes(node, field string, items ...any) {
	c.Write(node, field, append([]any{}, items...))
}

// leaves lets a transaction write an account.
func (c *cluster) leaves(tid int, account string, balance int) {
	node := home(account, c.Nodes())
	items := []any{[]any{account, Cell{balance, tid}}}
	for _, each := range cells(c.Disks[node]) {
		if each.account != account {
			items = append(items, []any{each.account, each.cell})
		}
	}
	c.writes(node, "cells", items...)
}

func (c *cluster) answers(tid int, command Transaction, cells ...any) {
	var result any
	if cells != nil {
		result = cells
	}
	c.Tell(simkit.Replied{Node: "n1", Op: tid, Command: command, Result: result})
}

func prepared(tid int, account string) Prepared {
	return Prepared{tid, "n1", []Held{{account, [2]int{1, tid}}}, []Write{{account, 5}}}
}

var (
	move    = Transaction{[]string{"a", "b"}, 1}
	readAll = Transaction{accounts, 0}
	lockA   = Held{"a", [2]int{1, 1}}
)

func TestEachPropertyBreaksForWhatItForbidsAndForNothingElse(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		story        func(c *cluster)
	}{
		{"one after the other", "", func(c *cluster) {
			c.sends("n1", Lock{1, "a"})
			c.sends("n1", Granted{1, lockA, Cell{5, 0}})
			c.leaves(1, "a", 4)
			c.leaves(1, "b", 6)
			c.sends("n1", Decision{1, true, []Held{lockA}})
			c.sends("n1", Finished{1, []Held{lockA}})
			c.answers(1, move, Cell{5, 0}, Cell{5, 0})
			c.sends("n2", Lock{2, "a"})
			c.answers(2, readAll, Cell{4, 1}, Cell{6, 1}, Cell{5, 0}, Cell{5, 0})
		}},
		{"two hold a lock", "mutual_exclusion", func(c *cluster) {
			c.sends("n1", Granted{1, lockA, Cell{5, 0}})
			c.sends("n1", Granted{2, Held{"a", [2]int{1, 2}}, Cell{5, 0}})
		}},
		{"two hold a lock after a crash", "", func(c *cluster) {
			c.sends("n1", Granted{1, lockA, Cell{5, 0}})
			c.Tell(simkit.Restarted{Node: "n1"})
			c.sends("n1", Granted{2, Held{"a", [2]int{2, 1}}, Cell{5, 0}})
		}},
		{"a lock is released twice", "released_exactly_once", func(c *cluster) {
			c.sends("n1", Granted{1, lockA, Cell{5, 0}})
			c.sends("n1", Finished{1, []Held{lockA}})
			c.sends("n1", Finished{1, []Held{lockA}})
		}},
		{"a lock is released for another", "released_exactly_once", func(c *cluster) {
			c.sends("n1", Granted{1, lockA, Cell{5, 0}})
			c.sends("n1", Finished{2, []Held{lockA}})
		}},
		{"two wait for each other", "deadlock_freedom", func(c *cluster) {
			c.sends("n1", Lock{1, "a"})
			c.sends("n1", Granted{1, lockA, Cell{5, 0}})
			c.sends("n2", Lock{2, "b"})
			c.sends("n2", Granted{2, Held{"b", [2]int{1, 1}}, Cell{5, 0}})
			c.sends("n1", Lock{1, "b"})
			c.sends("n2", Lock{2, "a"})
		}},
		{"a shard commits what another aborts", "atomicity", func(c *cluster) {
			c.writes("n1", "prepared", prepared(1, "a"))
			c.writes("n2", "prepared", prepared(1, "b"))
			c.leaves(1, "a", 5)
			c.writes("n1", "prepared")
			c.writes("n2", "prepared")
		}},
		{"a client hears the contrary", "atomicity", func(c *cluster) {
			c.writes("n1", "prepared", prepared(1, "a"))
			c.leaves(1, "a", 5)
			c.writes("n1", "prepared")
			c.answers(1, move)
		}},
		{"a client hears of what no disk knows", "durability", func(c *cluster) {
			c.answers(1, move, Cell{5, 0}, Cell{5, 0})
		}},
		{"shards are prepared for what a client heard, and nobody has the decision", "durability", func(c *cluster) {
			c.writes("n1", "prepared", prepared(1, "a"))
			c.writes("n2", "prepared", prepared(1, "b"))
			c.answers(1, move, Cell{5, 0}, Cell{5, 0})
		}},
		{"shards are prepared, and the decision is on a disk", "", func(c *cluster) {
			c.writes("n1", "prepared", prepared(1, "a"))
			c.writes("n2", "prepared", prepared(1, "b"))
			c.writes("n1", "commits", Commit{Tid: 1})
			c.answers(1, move, Cell{5, 0}, Cell{5, 0})
		}},
		{"an account is overdrawn", "nothing_overdrawn", func(c *cluster) { c.leaves(1, "a", -1) }},
		{"the sum of all accounts is another", "conserved_sum", func(c *cluster) {
			c.answers(2, readAll, Cell{6, 0}, Cell{5, 0}, Cell{5, 0}, Cell{5, 0})
		}},
		{"a version is read that there never was", "strict_serializability", func(c *cluster) {
			c.answers(2, readAll, Cell{5, 9}, Cell{5, 0}, Cell{5, 0}, Cell{5, 0})
		}},
		{"two write two accounts in different orders", "strict_serializability", func(c *cluster) {
			c.leaves(1, "a", 5)
			c.leaves(2, "a", 5)
			c.leaves(2, "b", 5)
			c.leaves(1, "b", 5)
		}},
		{"a transaction does not see what was over before it began", "strict_serializability", func(c *cluster) {
			c.sends("n1", Lock{1, "a"})
			c.leaves(1, "a", 4)
			c.leaves(1, "b", 6)
			c.answers(1, move, Cell{5, 0}, Cell{5, 0})
			c.sends("n1", Lock{2, "a"})
			c.answers(2, readAll, Cell{5, 0}, Cell{5, 0}, Cell{5, 0}, Cell{5, 0})
		}},
	} {
		c := newCluster()
		each.story(c)
		c.Check(t, each.says, each.broken)
	}
}

func TestProgressIsDueOnceTheFaultsHaveEnded(t *testing.T) {
	for _, each := range []struct {
		says, broken string
		story        func(c *cluster)
	}{
		{"nothing was committed", "progress_after_heal", func(c *cluster) {}},
		{"something was committed", "", func(c *cluster) { c.leaves(1, "a", 5) }},
		{"a client has no answer", "every_transaction_ends", func(c *cluster) { c.sends("n1", Lock{1, "a"}) }},
		{"a client asked a coordinator that crashed", "progress_after_heal", func(c *cluster) {
			c.sends("n1", Lock{1, "a"})
			c.Tell(simkit.Restarted{Node: "n1"})
		}},
		{"a shard is still prepared", "every_transaction_ends", func(c *cluster) { c.writes("n1", "prepared", prepared(1, "a")) }},
		{"a decision is still kept", "every_transaction_ends", func(c *cluster) { c.writes("n1", "commits", Commit{Tid: 1}) }},
	} {
		c := newCluster()
		each.story(c)
		var broken simkit.Broken
		if err := c.Progress(); errors.As(err, &broken) != (each.broken != "") || broken.Invariant != each.broken || c.Err != nil {
			t.Errorf("%s: %v, %v", each.says, err, c.Err)
		}
	}
}
