// Package raftsnapshots judges runs of Raft with snapshots and client sessions: what must hold beside Raft's core.
//
// Papers: Ongaro and Ousterhout 2014 (§7, §8; Fig. 13), and Ongaro's thesis, 2014 (ch. 5, §6.3).
package raftsnapshots

import (
	"reflect"
	"slices"

	"protosim/simkit"
	"protosim/simkit/raft"
)

// What there is beside the core's messages.
type (
	// Proposal is a command that its client may ask for again.
	Proposal struct {
		Operation int
		Command   any
	}
	// State is registers as (key, number), and answers as (operation, result), both in order.
	State    struct{ Registers, Answers []any }
	Snapshot struct {
		LastIndex, LastTerm int
		State               any
	}
	InstallSnapshot struct {
		Term     int
		Snapshot Snapshot
	}
)

// Protocol is Raft whose servers compact their logs, and whose clients may ask again.
var Protocol = simkit.Protocol{
	Name:      "raft_snapshots",
	Values:    append([]any{Proposal{}, State{}, Snapshot{}, InstallSnapshot{}}, raft.Protocol.Values...),
	Fields:    map[string]any{"term": 0, "voted_for": nil, "snapshot": nil},
	Logs:      raft.Protocol.Logs,
	Workload:  simkit.PutsAndGets,
	Registers: true,
	Retries:   "sessions",
	Watch:     func(f simkit.Facts) simkit.Observer { return newSnapshots(f) },
}

// longestWay is well above what a message takes once the faults have ended, in microseconds: two heartbeats.
const longestWay = 100_000

// snapshots is Figure 3 for servers whose logs are compacted. What a snapshot stands for counts as held, a restored state
// as applied; a state machine of its own says what the committed entries make.
type snapshots struct {
	*raft.Figure3
	registers      map[string]int
	results        []any       // by index - 1
	first          map[int]int // where an operation took effect
	states         [][]any     // by index: the registers
	booted         map[string]int
	acknowledgedAt map[acknowledgement]int64 // since the faults have ended
	sentAgain      error
	reached        map[string]bool
}

type acknowledgement struct {
	node        string
	term, match int
}

func newSnapshots(f simkit.Facts) *snapshots {
	s := &snapshots{
		registers:      map[string]int{},
		first:          map[int]int{},
		states:         [][]any{{}},
		booted:         map[string]int{},
		acknowledgedAt: map[acknowledgement]int64{},
		reached:        map[string]bool{},
	}
	s.Figure3 = raft.NewFigure3(f, s)
	return s
}

// -- How a disk is read -----------------------------------------------------------------------------------------------

// Before is the entry before the first in the log.
func (s *snapshots) Before(image simkit.Image) (term, index int) {
	base := image.Logs["log"].Base
	if 0 < base && base <= len(s.Committed) {
		term = s.Committed[base-1].Entry.Term
	}
	return term, base
}

// Entry is in the log, or the snapshot stands for it.
func (s *snapshots) Entry(image simkit.Image, index int) (entry raft.Entry, found bool) {
	if index <= reach(image) {
		if index <= len(s.Committed) {
			return s.Committed[index-1].Entry, true
		}
		return entry, false
	}
	log := image.Logs["log"]
	if place := index - log.Base - 1; 0 <= place && place < len(log.Entries) && !isCutOff(image) {
		return log.Entries[place].(raft.Entry), true
	}
	return entry, false
}

// Whole is all entries as a restart will find them.
func (s *snapshots) Whole(image simkit.Image) (all []raft.Entry) {
	end := image.Logs["log"].Base + len(image.Logs["log"].Entries)
	if isCutOff(image) {
		end = reach(image)
	}
	for index := 1; index <= end; index++ {
		entry, found := s.Entry(image, index)
		if !found {
			entry.Term = -1 // it is lost
		}
		all = append(all, entry)
	}
	return all
}

// Asks knows a command by itself or, in a proposal, by its operation.
func (s *snapshots) Asks(entry raft.Entry, op int, command any) bool {
	return entry.Command == command || entry.Command == any(Proposal{op, command})
}

// reach is up to where the snapshot on this disk stands for the log.
func reach(image simkit.Image) int {
	found, _ := image.Fields["snapshot"].(Snapshot)
	return found.LastIndex
}

// isCutOff says whether nothing in the log follows the snapshot: a crash came between the two.
func isCutOff(image simkit.Image) bool {
	found, has := image.Fields["snapshot"].(Snapshot)
	log := image.Logs["log"]
	place := found.LastIndex - log.Base - 1
	return has && place >= 0 && (place >= len(log.Entries) || log.Entries[place].(raft.Entry).Term != found.LastTerm)
}

// -- What must hold ---------------------------------------------------------------------------------------------------

// See takes one more fact.
func (s *snapshots) See(fact any) error {
	if err := s.Figure3.See(fact); err != nil {
		return err
	}
	switch x := fact.(type) {
	case simkit.Restarted:
		s.booted[x.Node] = reach(s.Facts.Written(x.Node))
	case simkit.Restored:
		return s.restored(x)
	case simkit.Wrote:
		for _, pair := range x.Pairs {
			if pair.Name == "snapshot" {
				return s.wrote(x.Node)
			}
		}
	case simkit.WasReset:
		return s.wasReset(x)
	case simkit.Applied:
		return s.applied(x)
	case simkit.Sent:
		s.sent(x)
	}
	return nil
}

const safety = "state_machine_safety"

func (s *snapshots) restored(x simkit.Restored) error {
	before := s.AppliedBy[x.Node]
	s.AppliedBy[x.Node] = x.Index
	if x.Index < before {
		return simkit.Break(safety, "%s had applied %d entries and went back to its state after %d", x.Node, before, x.Index)
	}
	if x.Index > s.booted[x.Node] {
		s.reached["snapshot_installed"] = true
	}
	return s.rightState(x.Node+" restored a state", x.State, x.Index)
}

// wrote: entries leave a log only when what they made is in a durable snapshot (§7; Fig. 13, receiver 5 to 7).
func (s *snapshots) wrote(node string) error {
	image := s.Facts.Written(node)
	if found, ok := image.Fields["snapshot"].(Snapshot); ok {
		if err := s.rightState(node+" wrote a snapshot", found.State, found.LastIndex); err != nil {
			return err
		}
	}
	if base := image.Logs["log"].Base; base > reach(image) {
		return simkit.Break("snapshot_before_cut", "%s has no snapshot of more than %d entries, and its log begins after %d",
			node, reach(image), base)
	}
	return nil
}

func (s *snapshots) rightState(event string, state any, index int) error {
	if index > len(s.Committed) {
		return simkit.Break(safety, "%s that includes entry %d, of which only %d are committed", event, index, len(s.Committed))
	}
	answers := []any{}
	for _, op := range simkit.SortedKeys(s.first) {
		if first := s.first[op]; first <= index {
			answers = append(answers, []any{op, s.results[first-1]})
		}
	}
	if !reflect.DeepEqual(state, State{s.states[index], answers}) {
		return simkit.Break(safety, "%s that is not what the first %d entries make", event, index)
	}
	return nil
}

func (s *snapshots) wasReset(x simkit.WasReset) error {
	dropped := x.After.Base - x.Before.Base
	kept := dropped >= 0 && slices.Equal(x.Before.Entries[min(dropped, len(x.Before.Entries)):], x.After.Entries)
	if s.Leads(x.Node) && !kept {
		return simkit.Break("leader_append_only", "%s leads and did not only drop entries from the front of its log", x.Node)
	}
	if err := s.LogMatching(x.Node, 0); err != nil {
		return err
	}
	if durable := reach(s.Facts.Durable(x.Node)); x.After.Base > durable {
		return simkit.Break("snapshot_before_cut",
			"%s dropped the first %d entries, and its durable snapshot has the first %d", x.Node, x.After.Base, durable)
	}
	return nil
}

// applied: a client's command takes effect once, however often it is proposed (§8; thesis §6.3), and all get the same
// results.
func (s *snapshots) applied(x simkit.Applied) error {
	proposal, isProposal := x.Command.(Proposal)
	if x.Index == len(s.results)+1 {
		s.execute(x.Index, x.Command)
	}
	if first := s.first[proposal.Operation]; isProposal && first < x.Index {
		s.reached["command_retried"] = true
		if x.Result != s.results[first-1] {
			return simkit.Break("exactly_once",
				"%s applied %v at index %d and again at index %d, and answered %v, where the answer had been %v",
				x.Node, proposal.Command, first, x.Index, x.Result, s.results[first-1])
		}
	}
	if expected := s.results[x.Index-1]; x.Result != expected {
		return simkit.Break(safety, "%s answered %v to entry %d, %v, to which the entries before it give %v",
			x.Node, x.Result, x.Index, x.Command, expected)
	}
	return nil
}

// execute what the entry gives, the first time that it is applied anywhere.
func (s *snapshots) execute(index int, asked any) {
	var result any
	proposal, isProposal := asked.(Proposal)
	first, again := s.first[proposal.Operation]
	switch {
	case isProposal && again:
		result = s.results[first-1]
	case isProposal:
		s.first[proposal.Operation] = index
		asked = proposal.Command
		fallthrough
	default:
		if command, ok := asked.(simkit.Command); ok {
			if before, known := s.registers[command.Key]; known {
				result = before
			}
			if command.Op == "put" {
				s.registers[command.Key] = command.Value
			}
		}
	}
	s.results = append(s.results, result)
	registers := []any{}
	for _, key := range simkit.SortedKeys(s.registers) {
		registers = append(registers, []any{key, s.registers[key]})
	}
	s.states = append(s.states, registers)
}

// sent notes who is sent a snapshot long after it has acknowledged as much.
func (s *snapshots) sent(x simkit.Sent) {
	switch m := x.Message.(type) {
	case raft.Appended:
		about := acknowledgement{x.From, m.Term, m.Match}
		if _, known := s.acknowledgedAt[about]; m.Success && s.Facts.HealedAt() >= 0 && !known {
			s.acknowledgedAt[about] = s.Facts.Now()
		}
	case InstallSnapshot:
		since, known := s.acknowledgedAt[acknowledgement{x.To, m.Term, m.Snapshot.LastIndex}]
		if known && s.Facts.Now()-since > longestWay {
			s.sentAgain = simkit.Break("entries_after_snapshot", "%s sends %s the snapshot of %d entries still",
				x.From, x.To, m.Snapshot.LastIndex)
		}
	}
}

// Progress: once the faults have ended, who has come as far as a snapshot is sent entries again (§7; etcd).
func (s *snapshots) Progress() error {
	if err := s.Figure3.Progress(); err != nil {
		return err
	}
	return s.sentAgain
}

// Reached knows the goals of this protocol's recipes.
func (s *snapshots) Reached(goal string) bool { return s.reached[goal] || s.Figure3.Reached(goal) }
