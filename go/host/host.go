// Package host is the loop that makes a worker of a protocol: frames with events in, frames with answers out.
//
// A frame is a length (4 bytes, little endian) and so many bytes of JSON. The first one says what the program shall run,
// which it knows already; the answer is "" or a sentence that says why it cannot. Then each frame holds events, and its
// answer the answers to these, in their order.
package host

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"protosim/step"
)

const (
	longestFrame = 64 << 20        // bytes
	patience     = 2 * time.Second // of CPU time for one event
	look         = 200 * time.Millisecond
)

// Main serves the protocol on the standard input and output, until the input ends. What the protocol's code prints
// goes nowhere. What the process may use is for whoever starts it to say.
func Main(p step.Protocol) {
	in, out := os.Stdin, os.Stdout
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		os.Stdin, os.Stdout, os.Stderr = null, null, null
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	debug.SetMaxStack(64 << 20)
	if Serve(p, in, out) != nil {
		os.Exit(1)
	}
}

// Serve answers frame after frame. The error says why it cannot go on.
func Serve(p step.Protocol, in io.Reader, out io.Writer) error {
	frames := bufio.NewReaderSize(in, 1<<16)
	first, err := read(frames, nil)
	if err != nil {
		return err
	}
	wrong := ""
	nodes, err := step.NewNodes(p)
	if err != nil {
		wrong = err.Error()
	}
	answer, _ := json.Marshal(wrong)
	if _, err := out.Write(framed(answer)); err != nil || wrong != "" {
		return fmt.Errorf("%s %w", wrong, err)
	}
	s := &server{nodes: nodes}
	for body := first; ; {
		if body, err = read(frames, body); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if answer, err = s.answer(body); err != nil {
			return err
		}
		if _, err := out.Write(answer); err != nil {
			return err
		}
	}
}

// read takes the next frame, into the room of an old one. io.EOF if there is none.
func read(frames io.Reader, room []byte) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(frames, header[:]); err != nil {
		return nil, err
	}
	length := int(binary.LittleEndian.Uint32(header[:]))
	if length > longestFrame {
		return nil, fmt.Errorf("a frame of %d bytes is longer than %d", length, longestFrame)
	}
	if cap(room) < length {
		room = make([]byte, length)
	}
	_, err := io.ReadFull(frames, room[:length])
	return room[:length], err
}

func framed(body []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// -- Patience ---------------------------------------------------------------------------------------------------------

// server handles events one after the other. One that uses up its CPU time is left to itself, and a new goroutine goes
// on with those after it.
type server struct {
	nodes *step.Nodes

	sync.Mutex
	events  [][]byte
	next    int    // of these: which is being handled
	frame   []byte // with the answers so far
	turn    int    // which goroutine's answers count
	handled int    // events, in all
}

func (s *server) answer(body []byte) ([]byte, error) {
	events, err := s.nodes.Events(body)
	if err != nil {
		return nil, err
	}
	s.Lock()
	s.events, s.next = events, 0
	s.frame = append(s.frame[:0], 0, 0, 0, 0, '[')
	turn := s.turn
	s.Unlock()

	done := make(chan struct{})
	go s.handle(turn, done)
	s.watch(done)
	s.frame = append(s.frame, ']')
	binary.LittleEndian.PutUint32(s.frame, uint32(len(s.frame)-4))
	return s.frame, nil
}

// handle the events that are left, as long as it is this goroutine's turn.
func (s *server) handle(turn int, done chan struct{}) {
	var room []byte
	for {
		s.Lock()
		if s.turn != turn {
			s.Unlock()
			return
		}
		if s.next == len(s.events) {
			s.Unlock()
			close(done)
			return
		}
		event := s.events[s.next]
		s.Unlock()

		room = s.nodes.Handle(room[:0], event)

		s.Lock()
		if s.turn == turn {
			s.add(room)
		}
		s.Unlock()
	}
}

func (s *server) add(answer []byte) {
	if s.next > 0 {
		s.frame = append(s.frame, ',')
	}
	s.frame = append(s.frame, answer...)
	s.next++
	s.handled++
}

// watch until all is done; whoever takes too long for an event loses its turn.
func (s *server) watch(done chan struct{}) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	seen, since := -1, time.Duration(0)
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		s.Lock()
		switch used := cpuTime(); {
		case s.handled != seen:
			seen, since = s.handled, used
		case used-since > patience && s.next < len(s.events):
			s.turn++
			s.add(fmt.Appendf(nil, `"Looping: it used %v of CPU time: it seems to loop for ever"`, patience))
			go s.handle(s.turn, done)
		}
		s.Unlock()
	}
}
