package simkit

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math/rand"
	"os"
	"testing"
	"time"

	"protosim/host"
	"protosim/step"
)

// The toy: n1 holds a register map in its log and answers; the others refuse. Everybody pings everybody.

type (
	Ping struct{ Number int }
	Put  struct {
		Key   string
		Value int
	}
	toyDisk struct {
		Pings int
		Log   step.Log[Put]
	}
	toy struct {
		step.Node[toyDisk, struct{ Loud bool }]
		mode string
	}
)

var here = map[step.NodeID]int{} // the nodes that ever lived in this process

func (n *toy) Start() {
	here[n.Me]++
	if n.mode == "alone" && (len(here) > 1 || len(os.Environ()) != len(environment)) {
		panic("another node of the run has lived here, or it sees the parent's environment")
	}
	n.SetTimer("ping", step.Range{10 * step.MS, 20 * step.MS})
	for i := range n.Disk.Log.Len() {
		put := n.Disk.Log.At(i)
		n.Apply(i+1, step.Command{Op: "put", Key: put.Key, Value: put.Value})
	}
}

func (n *toy) Receive(step.NodeID, step.Value) {
	if n.mode == "swamps" {
		for range 500 {
			n.Broadcast(Ping{n.Disk.Pings})
		}
	}
	if n.mode == "panics" && n.Disk.Pings == 2 {
		panic("two pings")
	}
	for n.mode == "loops" && n.Switches.Loud {
	}
	if n.mode == "dies" && n.Disk.Pings == 2 {
		os.Exit(0)
	}
}

func (n *toy) Timeout(step.Timer) {
	n.Disk.Pings++
	n.Write(&n.Disk.Pings)
	n.Sync()
	longest := 20 * step.MS
	if n.mode == "random" {
		longest += rand.Intn(1000)
	}
	n.SetTimer("ping", step.Range{10 * step.MS, longest})
	n.Broadcast(Ping{n.Disk.Pings})
	if n.mode == "floods" {
		for range 8000 {
			n.Broadcast(Ping{n.Disk.Pings})
		}
	}
	if n.mode == "forges" {
		n.Send("n1", Vote{1, "digest", Signed{"n3", n.Me != "n3"}})
	}
	if n.mode == "invents" {
		n.Reply(123456, 1)
	}
}

func (n *toy) Request(op step.OpID, command step.Value) {
	if n.Me != "n1" || n.mode == "idle" {
		n.Refuse(op)
		return
	}
	c := command.(step.Command)
	if c.Op == "put" {
		n.Disk.Log.Append(Put{c.Key, c.Value})
		if n.mode != "unsynced" {
			n.Sync()
		}
	}
	result := n.Apply(n.Disk.Log.Len(), c)
	if n.mode == "lies" && c.Op == "get" {
		result = nil
	}
	n.Reply(op, result)
}

// serveToy is the toy as a process; it plays tricks with its frames in some modes.
func serveToy(mode string) {
	var out io.Writer = os.Stdout
	switch mode {
	case "loops":
		host.Patience = 300 * time.Millisecond
	case "deaf":
		time.Sleep(time.Hour)
	case "refuses":
		answer(`"it lacks a protocol"`)
		time.Sleep(time.Hour)
	case "garbage", "twice", "huge", "fewer":
		out = &garbler{mode: mode}
	}
	protocol := step.Protocol{
		Name: "toy", Values: []step.Value{Ping{}, Put{}, Vote{}}, New: func() step.Machine { return &toy{mode: mode} },
	}
	if host.Serve(protocol, os.Stdin, out) != nil {
		os.Exit(1)
	}
	if mode == "stays" {
		time.Sleep(time.Hour)
	}
}

func answer(body string) {
	_, _ = os.Stdout.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...))
}

// garbler spoils the fifth frame.
type garbler struct {
	mode   string
	frames int
}

func (g *garbler) Write(frame []byte) (int, error) {
	g.frames++
	if g.frames == 5 {
		switch g.mode {
		case "garbage":
			answer("what?")
		case "fewer":
			answer("[]")
		case "huge":
			_, _ = os.Stdout.Write([]byte{0xFF, 0xFF, 0xFF, 0x7F})
		case "twice":
			frame = append(frame, frame...)
		}
		if g.mode != "twice" {
			return len(frame), nil
		}
	}
	_, err := os.Stdout.Write(frame)
	return len(frame), err
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		serveToy(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func launchToy(mode string) Launch {
	return Launch{Command: []string{os.Args[0], "worker", mode}, Folder: os.TempDir(), First: json.RawMessage(`""`)}
}

// watcher keeps all facts that it sees.
type watcher struct{ facts []any }

func (w *watcher) See(fact any) error {
	w.facts = append(w.facts, fact)
	return nil
}

func (w *watcher) Progress() error     { return nil }
func (w *watcher) Reached(string) bool { return true }

// toyProtocol is what the kit knows of the toy.
func toyProtocol() *Protocol {
	return &Protocol{
		Name: "toy", Values: []any{Ping{}, Put{}, Vote{}}, Fields: map[string]any{"pings": 0}, Logs: map[string]any{"log": Put{}},
		Workload: PutsAndGets, Registers: true, Watch: func(Facts) Observer { return &watcher{} },
	}
}
