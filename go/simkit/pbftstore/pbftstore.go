// Package pbftstore judges runs of a key-value store on PBFT whose clients may read without the three phases.
//
// Papers: Castro and Liskov, OSDI 1999 (§5.1), and C. Berger, H. P. Reiser and A. Bessani, "Making Reads in BFT State
// Machine Replication Fast, Linearizable, and Live", SRDS 2021: [B].
package pbftstore

import (
	"cmp"
	"maps"
	"slices"

	"protosim/simkit"
	"protosim/simkit/pbft"
)

// What there is beside PBFT's messages.
type (
	Read struct {
		Key       string
		Timestamp int
		simkit.Signed
	}
	ReadReply      struct{ Reply pbft.Reply }
	FetchDecisions struct{ Executed int }
	Decided        struct {
		Request *pbft.Request // nil: the null request
		Commits []pbft.Commit
	}
)

// Protocol is PBFT whose clients read beside the log.
var Protocol = simkit.Protocol{
	Name:       "pbft_store",
	Values:     append([]any{Read{}, ReadReply{}, FetchDecisions{}, Decided{}}, pbft.Protocol.Values...),
	Fields:     fields(),
	Logs:       pbft.Protocol.Logs,
	Workload:   simkit.PutsAndGets,
	Registers:  true,
	Watch:      func(f simkit.Facts) simkit.Observer { return newSection5(f) },
	Handled:    append([]any{Read{}, FetchDecisions{}, Decided{}}, pbft.Protocol.Handled...),
	ForClients: []any{pbft.Reply{}, ReadReply{}},
	Liars:      pbft.MostLiars,
}

func fields() map[string]any {
	all := maps.Clone(pbft.Protocol.Fields)
	all["shown"] = 0
	return all
}

// section5 is what correct replicas and clients make of reads, beside what they do in PBFT.
type section5 struct {
	*pbft.Section4
	said        map[saying][]string // which correct replicas gave this result
	read        map[int][]any       // what reads gave, at correct replicas
	registers   map[string]map[string]any
	repliedFrom map[string]int // how far the state went that a replica made replies of
	reached     map[string]bool
}

type saying struct {
	op     int
	result any
}

func newSection5(f simkit.Facts) *section5 {
	s := &section5{
		Section4:    pbft.NewSection4(f),
		said:        map[saying][]string{},
		read:        map[int][]any{},
		registers:   map[string]map[string]any{},
		repliedFrom: map[string]int{},
		reached:     map[string]bool{},
	}
	s.Section4.Read = func(op int, result any) bool { return slices.Contains(s.read[op], result) }
	return s
}

func (s *section5) See(fact any) error {
	if err := s.Section4.See(fact); err != nil {
		return err
	}
	switch x := fact.(type) {
	case simkit.Restarted:
		s.registers[x.Node] = map[string]any{}
	case simkit.Applied:
		if m, ok := x.Command.(pbft.Request); ok && m.Command.Op == "put" {
			s.registers[x.Node][m.Command.Key] = m.Command.Value
		}
	case simkit.Restored:
		s.registers[x.Node] = map[string]any{}
		for _, register := range x.State.(pbft.State).Registers {
			s.registers[x.Node][register.Key] = register.Value
		}
	case simkit.Replied:
		return s.replied(x)
	case simkit.Sent:
		return s.sent(x)
	}
	return nil
}

func (s *section5) sent(x simkit.Sent) error {
	switch m := x.Message.(type) {
	case pbft.Reply:
		s.shows(x.From, m)
	case ReadReply:
		defer s.shows(x.From, m.Reply)
		return cmp.Or(s.readsAreCommitted(x.From, x.To, m.Reply), s.readsGoForward(x.From))
	case Decided:
		s.reached["decision_forwarded"] = true
	}
	return nil
}

// readsAreCommitted: a correct replica answers a read that its client asks, by what it has executed (§5.1).
func (s *section5) readsAreCommitted(node, client string, m pbft.Reply) error {
	const name = "reads_are_committed"
	asked := s.Asked[m.Timestamp]
	command, isCommand := asked.Command.(simkit.Command)
	if !isCommand || asked.Node != client {
		return simkit.Break(name, "%s answers operation %d to %s, which did not ask for it", node, m.Timestamp, client)
	}
	s.read[m.Timestamp] = append(s.read[m.Timestamp], m.Result)
	if held := s.registers[node][command.Key]; held != m.Result {
		return simkit.Break(name, "%s answers %v by %v, and what it executed makes it %v", node, command, m.Result, held)
	}
	return nil
}

// readsGoForward: a read shows no older state than the replica has shown before ([B], where replicas restart).
func (s *section5) readsGoForward(node string) error {
	if now, before := s.Executed[node], s.repliedFrom[node]; now < before {
		return simkit.Break("reads_go_forward", "%s answers a read from state %d, and has shown state %d", node, now, before)
	}
	return nil
}

func (s *section5) shows(node string, m pbft.Reply) {
	about := saying{m.Timestamp, m.Result}
	if !slices.Contains(s.said[about], node) {
		s.said[about] = append(s.said[about], node)
	}
	s.repliedFrom[node] = max(s.repliedFrom[node], s.Executed[node])
}

func (s *section5) replied(x simkit.Replied) error {
	_, executed := s.Place[x.Op]
	switch {
	case len(s.read[x.Op]) > 0 && executed:
		s.reached["read_fell_back"] = true
	case len(s.read[x.Op]) > 0:
		s.reached["read_answered"] = true
	}
	return s.resultsByCertificate(x)
}

// resultsByCertificate: a client accepts what f + 1 replicas say, and 2f + 1 where reads pass by the log (§4.1, §5.1; [B]).
func (s *section5) resultsByCertificate(x simkit.Replied) error {
	correct := s.said[saying{x.Op, x.Result}]
	least := pbft.MostLiars(len(s.Facts.Nodes()))
	if s.Facts.Switch("read_only") == true {
		least *= 2
	}
	if len(correct)+len(s.Facts.Liars()) > least {
		return nil
	}
	return simkit.Break("results_by_certificate", "%s accepted %v for %v, and of the correct replicas only %q said so",
		x.Node, x.Result, x.Command, correct)
}

func (s *section5) Reached(goal string) bool { return s.reached[goal] || s.Section4.Reached(goal) }
