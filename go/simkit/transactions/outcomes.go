package transactions

import (
	"fmt"
	"maps"
	"slices"

	"protosim/simkit"
)

// outcomes is atomicity, and that it all could have happened one transaction after the other. Reads are known by the
// answers to clients, writes and the order of an account's versions by what is written to the shards' disks.
type outcomes struct {
	facts    simkit.Facts
	clock    int // counts the beginnings and ends of transactions
	began    map[int]int
	ended    map[int]int
	since    map[int]int64  // the same as began, in microseconds
	asked    map[int]string // whose client has no answer: its coordinator
	outcome  map[int]ending // as the first shard carried it out
	told     map[int]bool   // whether its client heard that it committed
	promised map[write]bool // of committed transactions, as clients know them
	versions map[string][]int
	readers  map[write][]int
	place    map[int]int // in the order in which transactions were first seen to be committed
	after    map[int]map[int]bool
	backward bool // whether an edge has run against that order: without one there is no circle
	late     bool // something was committed since the faults ended
	reached  map[string]bool
}

type (
	ending struct {
		committed bool
		node      string
	}
	write struct {
		tid     int
		account string
	}
)

func newOutcomes(f simkit.Facts) *outcomes {
	o := &outcomes{
		facts:    f,
		began:    map[int]int{},
		ended:    map[int]int{},
		since:    map[int]int64{},
		asked:    map[int]string{},
		outcome:  map[int]ending{},
		told:     map[int]bool{},
		promised: map[write]bool{},
		versions: map[string][]int{},
		readers:  map[write][]int{},
		place:    map[int]int{},
		after:    map[int]map[int]bool{},
		reached:  map[string]bool{},
	}
	for _, account := range accounts {
		o.versions[account] = []int{0}
	}
	return o
}

func (o *outcomes) See(fact any) error {
	switch x := fact.(type) {
	case simkit.Sent:
		if m, ok := x.Message.(Lock); ok && o.began[m.Tid] == 0 {
			o.clock++
			o.began[m.Tid], o.since[m.Tid], o.asked[m.Tid] = o.clock, o.facts.Now(), x.From
		}
	case simkit.Wrote:
		for _, pair := range x.Pairs {
			if err := o.wrote(x.Node, pair.Name, x.Before); err != nil {
				return err
			}
		}
	case simkit.Replied:
		return o.replied(x)
	case simkit.Restarted:
		maps.DeleteFunc(o.asked, func(_ int, coordinator string) bool { return coordinator == x.Node })
		return o.restarted(x.Node)
	}
	return nil
}

func (o *outcomes) wrote(node, field string, before simkit.Image) error {
	switch field {
	case "prepared":
		return o.atomicity(node, before)
	case "cells":
		if !slices.Equal(cells(before), cells(o.facts.Written(node))) {
			o.reached["transaction_committed"] = true
			o.late = o.late || o.facts.HealedAt() >= 0
		}
		for _, each := range cells(o.facts.Written(node)) {
			if each.cell.Balance < 0 {
				return simkit.Break("nothing_overdrawn", "%d left %d on %s", each.cell.Writer, each.cell.Balance, each.account)
			}
		}
		return o.newVersions(node, before)
	}
	return nil
}

// atomicity: all shards of a transaction commit it, or none does (BHG §7.3, AC1).
func (o *outcomes) atomicity(node string, before simkit.Image) error {
	image := o.facts.Written(node)
	for _, record := range list[Prepared](before, "prepared") {
		if isPrepared(image, record.Tid) || len(record.Writes) == 0 {
			continue
		}
		committed := writer(image, record.Writes[0].Account) == record.Tid
		first, known := o.outcome[record.Tid]
		if known && first.committed != committed {
			return simkit.Break("atomicity", "%s and %s do not both commit %d, or both abort it", first.node, node, record.Tid)
		}
		if heard, ok := o.told[record.Tid]; ok && heard != committed {
			return simkit.Break("atomicity", "the client of %d heard the contrary of what %s did with it", record.Tid, node)
		}
		if !known {
			o.outcome[record.Tid] = ending{committed, node}
		}
	}
	return nil
}

func (o *outcomes) replied(x simkit.Replied) error {
	cells, err := results(x)
	if err != nil {
		return err
	}
	o.clock++
	o.ended[x.Op] = o.clock
	delete(o.asked, x.Op)
	committed := cells != nil
	o.told[x.Op] = committed
	if first, known := o.outcome[x.Op]; known && first.committed != committed {
		return simkit.Break("atomicity", "the client of %d heard the contrary of what %s did with it", x.Op, first.node)
	}
	if !committed {
		o.reached["transaction_aborted"] = true
		return nil
	}
	command := x.Command.(Transaction)
	if command.Amount > 0 {
		for _, account := range command.Accounts {
			o.promised[write{x.Op, account}] = true
		}
	} else {
		o.reached["accounts_read"] = true
	}
	if err := o.promisesAreKept(fmt.Sprintf("%s answered %d", x.Node, x.Op)); err != nil {
		return err
	}
	if err := conservedSum(x.Op, cells); err != nil {
		return err
	}
	return o.wasRead(x.Op, command.Accounts, cells)
}

// results are what a client was told; nil for an abort.
func results(x simkit.Replied) (cells []Cell, err error) {
	told, _ := x.Result.([]any)
	if x.Result == nil {
		return nil, nil
	}
	for _, each := range told {
		if cell, ok := each.(Cell); ok {
			cells = append(cells, cell)
		}
	}
	if len(cells) == 0 || len(cells) != len(told) || len(cells) != len(x.Command.(Transaction).Accounts) {
		return nil, fmt.Errorf("%s answered %v, which is no cell for each account", x.Node, x.Result)
	}
	return cells, nil
}

// conservedSum: whoever reads all accounts reads the sum with which everything began.
func conservedSum(op int, cells []Cell) error {
	sum := 0
	for _, cell := range cells {
		sum += cell.Balance
	}
	if len(cells) == len(accounts) && sum != total {
		return simkit.Break("conserved_sum", "%d read %d in all accounts together; there are %d", op, sum, total)
	}
	return nil
}

// restarted: what a crash has undone did not happen.
func (o *outcomes) restarted(node string) error {
	for _, account := range accounts {
		if home(account, o.facts.Nodes()) != node {
			continue
		}
		versions, last := o.versions[account], writer(o.facts.Written(node), account)
		for versions[len(versions)-1] != last && slices.Contains(versions, last) {
			versions = versions[:len(versions)-1]
		}
		o.versions[account] = versions
	}
	return o.promisesAreKept(node + " restarted")
}

// promisesAreKept: each promised write is carried out, or its shard is prepared for it and its coordinator has the
// decision (BHG §7.4).
func (o *outcomes) promisesAreKept(event string) error {
	for promise := range o.promised {
		shard := home(promise.account, o.facts.Nodes())
		durable := o.facts.Durable(shard)
		if slices.Contains(o.versions[promise.account], promise.tid) {
			if slices.Equal(cells(durable), cells(o.facts.Written(shard))) {
				delete(o.promised, promise) // no crash can undo it any more
			}
			continue
		}
		if !isPrepared(durable, promise.tid) || !o.isDecided(promise.tid) {
			return simkit.Break("durability", "%s, and a transaction that committed can still be forgotten", event)
		}
	}
	return nil
}

// isDecided says whether a durable record tells that the transaction committed.
func (o *outcomes) isDecided(tid int) bool {
	for _, node := range o.facts.Nodes() {
		for _, commit := range list[Commit](o.facts.Durable(node), "commits") {
			if commit.Tid == tid {
				return true
			}
		}
	}
	return false
}

// -- Strict serializability (BHG §2.3; Papadimitriou 1979) -------------------------------------------------------------

func (o *outcomes) newVersions(node string, before simkit.Image) error {
	for _, each := range cells(o.facts.Written(node)) {
		account, tid := each.account, each.cell.Writer
		versions := o.versions[account]
		if len(versions) == 0 {
			return fmt.Errorf("%s wrote to %q, which is no account", node, account)
		}
		last := versions[len(versions)-1]
		if writer(before, account) == tid || last == tid {
			continue
		}
		o.versions[account] = append(versions, tid)
		o.see(tid)
		if err := o.follows(last, tid); err != nil {
			return err
		}
		for _, reader := range o.readers[write{last, account}] {
			if err := o.follows(reader, tid); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *outcomes) wasRead(op int, accounts []string, cells []Cell) error {
	o.see(op)
	for i, account := range accounts {
		versions := o.versions[account]
		which := slices.Index(versions, cells[i].Writer)
		if which < 0 {
			return simkit.Break("strict_serializability", "%d read %v on %s, which is no version of it", op, cells[i], account)
		}
		version := write{cells[i].Writer, account}
		o.readers[version] = append(o.readers[version], op)
		if err := o.follows(cells[i].Writer, op); err != nil {
			return err
		}
		if which+1 < len(versions) {
			if err := o.follows(op, versions[which+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *outcomes) see(tid int) {
	if _, known := o.place[tid]; !known {
		o.place[tid] = len(o.place)
	}
}

// follows: the later one comes after the other in every order.
func (o *outcomes) follows(tid, later int) error {
	if tid == 0 || tid == later {
		return nil
	}
	if o.after[tid] == nil {
		o.after[tid] = map[int]bool{}
	}
	o.after[tid][later] = true
	if o.backward = o.backward || o.place[tid] > o.place[later]; !o.backward {
		return nil
	}
	reached, seen := []int{tid}, map[int]bool{}
	for len(reached) > 0 {
		each := reached[0]
		reached = reached[1:]
		for _, next := range o.successors(each) {
			if next == tid {
				return simkit.Break("strict_serializability", "%d comes before itself, and so does %d: there is no order", tid, each)
			}
			if !seen[next] {
				seen[next] = true
				reached = append(reached, next)
			}
		}
	}
	return nil
}

// successors come after a transaction: by what they read and wrote, or since they began after its answer.
func (o *outcomes) successors(tid int) []int {
	found := simkit.SortedKeys(o.after[tid])
	if end, over := o.ended[tid]; over {
		for _, later := range simkit.SortedKeys(o.place) {
			if o.began[later] > end {
				found = append(found, later)
			}
		}
	}
	return found
}

// -- The end ----------------------------------------------------------------------------------------------------------

// Progress: once the faults have ended, what had begun ends, and leaves no lock (BHG §7.3, AC5); and transactions are
// committed (AC4).
func (o *outcomes) Progress() error {
	const name = "every_transaction_ends"
	due := o.facts.HealedAt()
	for _, tid := range simkit.SortedKeys(o.asked) {
		if o.since[tid] < due {
			return simkit.Break(name, "%s has not answered %d, long after the faults have ended", o.asked[tid], tid)
		}
	}
	for _, node := range o.facts.Nodes() {
		image := o.facts.Written(node)
		for _, record := range list[Prepared](image, "prepared") {
			if o.since[record.Tid] < due {
				return simkit.Break(name, "%s is still prepared for %d, long after the faults have ended", node, record.Tid)
			}
		}
		for _, commit := range list[Commit](image, "commits") {
			if o.since[commit.Tid] < due {
				return simkit.Break(name, "%s still keeps the commit of %d, long after the faults have ended", node, commit.Tid)
			}
		}
	}
	if !o.late {
		return simkit.Break("progress_after_heal", "no transaction was committed since the faults ended")
	}
	return nil
}

// Reached knows the goals of this protocol's recipes.
func (o *outcomes) Reached(goal string) bool { return o.reached[goal] }
