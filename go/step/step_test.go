package step

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A protocol with a bit of everything that travels.
type (
	pair struct { // not among the Values: a tuple
		Name NodeID
		N    int
	}
	Note struct {
		Text  string
		To    NodeID `wire:"nullable"`
		Pairs []pair
		Raw   []byte
		Maybe *int
		Any   Value
		Next  *Note
		Yes   bool
	}
	disk struct {
		HighMark int
		Last     *Note
		Notes    Log[Note]
	}
	switches struct{ MaxSize int }
	node     struct{ Node[disk, switches] }
)

func (n *node) Start()                 {}
func (n *node) Timeout(t Timer)        { n.SetTimer(t, Range{1, n.Switches.MaxSize}) }
func (n *node) Request(op OpID, _ any) { n.Refuse(op) }

func (n *node) Receive(src NodeID, m Value) {
	note := m.(Note)
	n.Disk.HighMark++
	n.Disk.Last = &note
	n.Write(&n.Disk.HighMark, &n.Disk.Last)
	n.Disk.Notes.Append(note)
	n.Holds(Check("first", n.Disk.HighMark == 1), Check("short", len(note.Text) < 5))
	n.Send(src, m)
}

var notes = Protocol{Name: "notes", Values: []Value{Note{}}, New: func() Machine { return new(node) }}

const started = `[3,0,4,"n1",["","n1","n2"],["",["","max_size",9]],` +
	`["",["","high_mark",0],["","last",null],["","notes",["",2]]]]`

func answers(t *testing.T, events ...string) []string {
	t.Helper()
	nodes, err := NewNodes(notes)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, event := range events {
		found = append(found, string(nodes.Handle(nil, []byte(event))))
	}
	return found
}

func TestAMessageComesBackAsItWas(t *testing.T) {
	for _, note := range []string{
		`["Note","x","n1",["",["","n1",1],["","n2",-2]],["bytes","00ff"],7,["Note","",null,[""],["bytes",""],null,null,null,true],null,false]`,
		`["Note","\u00e9\ud83d\ude00\"\\\u0000",null,[""],["bytes",""],null,["","a",1,null,true],null,true]`,
	} {
		found := answers(t, started, `[3,1,0,"n2",`+note+`]`)
		want := `[0,"n2",` + note + `]],[`
		if !strings.Contains(found[1], want) {
			t.Errorf("%s\nis not in\n%s", want, found[1])
		}
	}
}

func TestAWriteHoldsItsFieldsByTheirNamesOnTheWire(t *testing.T) {
	note := `["Note","much to say",null,[""],["bytes",""],null,null,null,false]`
	found := answers(t, started, `[3,1,0,"n2",`+note+`]`, `[3,1,0,"n2",`+note+`]`, `[3,2,1,"tick"]`)
	want := []string{
		`[[],[]]`,
		`[[[1,["",["","high_mark",1],["","last",` + note + `]]],[2,"notes",0,["",` + note + `]],[0,"n2",` + note + `]],[["short"]]]`,
		`[[[1,["",["","high_mark",2],["","last",` + note + `]]],[2,"notes",1,["",` + note + `]],[0,"n2",` + note + `]],[["first","short"]]]`,
		`[[[4,"tick",1,9]],[]]`,
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %s\nwanted %s", found, want)
	}
}

// tricks is a protocol that goes on where it should have ended.
type tricks struct{ Node[disk, switches] }

type (
	ring struct{ Next *knot }
	knot struct {
		Back *ring
		Bad  func()
	}
	bomb  struct{}
	loose struct{ Texts []string }
)

func (bomb) Error() string { panic(bomb{}) }

func (n *tricks) Start()            {}
func (n *tricks) Timeout(t Timer)   { panic(bomb{}) }
func (n *tricks) Request(OpID, any) { n.Send("n2", ring{&knot{Back: &ring{}}}) }
func (n *tricks) Receive(NodeID, any) {
	for _, bad := range []func(){
		func() { n.Send("n2", loose{[]string{"good", "\xff"}}) },
		func() { n.Send("n2", &ring{}) },
		func() { n.Write(&n.Disk.HighMark, &n.ClusterSize) },
		func() { n.Holds(Check("one", false), Check("\xff", false)) },
		func() { n.Disk.Notes.Append(Note{Any: map[int]int{}}) },
	} {
		func() {
			defer func() { _ = recover() }()
			bad()
		}()
	}
	n.Sync()
}

func TestWhatAProtocolRecoversFromHasNotHappened(t *testing.T) {
	nodes, err := NewNodes(Protocol{Values: []Value{Note{}}, New: func() Machine { return new(tricks) }})
	if err != nil {
		t.Fatal(err)
	}
	const note = `[3,1,0,"n2",["Note","",null,[""],["bytes",""],null,null,null,true]]`
	const bad = `"panic: a func() stands in no message and on no disk, in Request, step_test.go:`
	for _, expected := range [][2]string{
		{started, `[[],[]]`}, {note, `[[[3]],[]]`}, {`[3,2,2,5,null]`, bad}, {`[3,2,2,5,null]`, bad}, {note, `[[[3]],[]]`},
		{`[3,2,1,"tick"]`, `"panic: a step.bomb, which panics when it is printed`},
	} {
		if found := string(nodes.Handle(nil, []byte(expected[0]))); !strings.HasPrefix(found, expected[1]) {
			t.Errorf("%s is answered by %s and not by %s", expected[0], found, expected[1])
		}
	}
}

type of[T any] struct{ N int }

func TestATypeThatIsMadeForAnotherHasItsNameInQuotes(t *testing.T) {
	type odd = of[struct {
		N int `wire:"\"],["`
	}]
	types := newTypes([]Value{odd{}})
	if found := types.appendAny(nil, odd{7}); !json.Valid(found) {
		t.Errorf("%s is no JSON", found)
	}
}

func TestASliceOfALogKeepsWhatItHas(t *testing.T) {
	n := &node{}
	n.types = newTypes(notes.Values)
	n.Disk.Notes.attach(&n.core, "notes")
	log := &n.Disk.Notes
	log.Store(0, []Note{{Text: "a"}, {Text: "b"}, {Text: "c"}})
	handed := log.Slice(0, 3)
	log.Store(1, []Note{{Text: "x"}})
	log.Append(Note{Text: "y"})
	log.Store(99, []Note{{Text: "z"}}) // beyond the end is at the end
	_ = append(handed[:1], Note{Text: "mine"})
	if log.Len() != 4 || log.At(1).Text != "x" || log.At(3).Text != "z" || handed[2].Text != "c" {
		t.Errorf("the log is %v, what was handed out %v", log.Slice(0, log.Len()), handed)
	}
	log.Reset(7, handed)
	if log.Base() != 7 || log.Len() != 3 {
		t.Errorf("after the reset the log begins at %d and has %d entries", log.Base(), log.Len())
	}
}

func TestWhatCannotTravelIsRefusedBeforeItRuns(t *testing.T) {
	type private struct{ n int }
	type function struct{ F func() }
	type maps struct{ M map[string]int }
	for sentence, value := range map[string]Value{
		"step.private.n must be exported, or it does not travel": private{},
		"a protocol's Values are structs, and int is none":       3,
		"a func() stands in no message and on no disk":           function{},
		"a map[string]int stands in no message and on no disk":   maps{},
		"a protocol's Values are structs, and struct {} is none": struct{}{},
	} {
		_, err := NewNodes(Protocol{Values: []Value{value}, New: notes.New})
		if err == nil || err.Error() != sentence {
			t.Errorf("%T: %v is not %q", value, err, sentence)
		}
	}
}

func FuzzAnEventIsAnsweredWhateverItIs(f *testing.F) {
	for _, event := range []string{started, `[3,1,0,"n2",["Note"]]`, `[3,2,1,"tick"]`, `[3,2,2,5,null]`, `[`, `["\u`, `[-`, `[1e9,`} {
		f.Add([]byte(event))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		found := answers(t, started, string(event))
		if answer := found[1]; answer[0] != '[' && answer[0] != '"' {
			t.Errorf("%q is no answer to %q", answer, event)
		}
		nodes, _ := NewNodes(notes)
		_, _ = nodes.Events(event)
	})
}
