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
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"protosim/step"
)

// Patience is the CPU time that one event may take.
var Patience = 2 * time.Second

const (
	longestFrame = 64 << 20 // bytes
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
	nodes, refusal := step.NewNodes(p)
	sentence := ""
	if refusal != nil {
		sentence = refusal.Error()
	}
	answer, _ := json.Marshal(sentence)
	if _, err := out.Write(framed(answer)); err != nil {
		return err
	}
	if refusal != nil {
		return refusal
	}
	s := &server{nodes: nodes}
	for body := first; ; {
		if body, err = read(frames, body); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		answer, wrong := s.answer(body)
		if answer != nil {
			if _, err := out.Write(answer); err != nil {
				return err
			}
		}
		if wrong != nil {
			return wrong
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

// errLooping: an event has used up its CPU time; nothing but the end of the process ends it. None is handled beside it:
// two goroutines of the protocol that race could make a value of no type, and with that call whatever is in the process.
var errLooping = errors.New("an event loops")

const left = `"Left: an event of another node loops, and this process ends with it"`

// server handles events one after the other, in a goroutine that can be left to itself.
type server struct {
	nodes *step.Nodes

	sync.Mutex
	frame    []byte // with the answers so far
	answered int    // events of this frame
	looping  bool   // from now on nothing is added by handle
}

// answer a frame. With errLooping comes the last answer.
func (s *server) answer(body []byte) ([]byte, error) {
	events, err := s.nodes.Events(body)
	if err != nil {
		return nil, err
	}
	s.frame, s.answered = append(s.frame[:0], 0, 0, 0, 0, '['), 0
	done := make(chan struct{})
	go s.handle(events, done)
	s.watch(len(events), done)
	if s.looping {
		err = errLooping
		s.add(fmt.Appendf(nil, `"Looping: it used %v of CPU time: it seems to loop for ever"`, Patience))
		for s.answered < len(events) {
			s.add([]byte(left))
		}
	}
	s.frame = append(s.frame, ']')
	binary.LittleEndian.PutUint32(s.frame, uint32(len(s.frame)-4))
	return s.frame, err
}

func (s *server) handle(events [][]byte, done chan struct{}) {
	var room []byte
	for _, event := range events {
		room = s.nodes.Handle(room[:0], event)
		s.Lock()
		if s.looping {
			s.Unlock()
			return
		}
		s.add(room)
		s.Unlock()
	}
	close(done)
}

func (s *server) add(answer []byte) {
	if s.answered > 0 {
		s.frame = append(s.frame, ',')
	}
	s.frame = append(s.frame, answer...)
	s.answered++
}

// watch until all events are done, or one takes too long.
func (s *server) watch(events int, done chan struct{}) {
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
		used := cpuTime()
		if s.answered != seen {
			seen, since = s.answered, used
		}
		s.looping = used-since > Patience && s.answered < events
		looping := s.looping
		s.Unlock()
		if looping {
			return
		}
	}
}
