package simkit

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// Silence is how long a worker may take for an answer. A starved machine is slow.
var Silence = 60 * time.Second

const (
	patience = 2 * time.Second // with workers that nobody needs any more

	mostBytes    = 256 << 10 // that a worker may answer to one event, on average over a frame
	mostReceived = 64 << 20  // bytes that all workers may send in all: the kit holds them, each in many of its own
	mostDead     = 3         // workers, after which a candidate is given up
	frameStart   = 4         // bytes of a frame's length
)

// Launch is what a worker is started from: any program that speaks the step protocol.
type Launch struct {
	Command []string        `json:"command"` // a program by its whole path, and its arguments
	Folder  string          `json:"folder"`  // where it works
	First   json.RawMessage `json:"first"`   // the first frame; "" if the candidate is part of the program

	// Commands are forms of the command of which each process takes the next: so each may have a user of its own.
	Commands [][]string `json:"commands"`
}

var started atomic.Int64 // processes

func (l Launch) next() []string {
	number := int(started.Add(1)) - 1
	if len(l.Commands) > 0 {
		return l.Commands[number%len(l.Commands)]
	}
	return l.Command
}

// environment is all that a worker gets to see of ours.
var environment = []string{"GOMAXPROCS=1", "PYTHONHASHSEED=0"}

// worker is one process with candidate code. What it sends is believed by nobody. Once it has done what no worker may it
// is dead, for a reason.
type worker struct {
	command *exec.Cmd
	to      io.WriteCloser
	back    *bufio.Reader
	room    *atomic.Int64 // bytes that it and its like may still send
	dead    error
	looped  bool // an event did not end, so it ends: what else lives there may begin anew
}

// workerEnded is why a worker is dead.
type workerEnded struct{ error }

func (e workerEnded) Error() string { return "its worker process has ended: " + e.error.Error() }

func startWorker(launch Launch, room *atomic.Int64) *worker {
	command := launch.next()
	w := &worker{command: exec.Command(command[0], command[1:]...), room: room}
	w.command.Dir, w.command.Env = launch.Folder, environment
	w.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	to, err := w.command.StdinPipe()
	back, errBack := w.command.StdoutPipe()
	if err = errors.Join(err, errBack, w.command.Start()); err != nil {
		w.dead = workerEnded{fmt.Errorf("it cannot be started: %w", err)}
		return w
	}
	w.to, w.back = to, bufio.NewReaderSize(back, 1<<16)
	body, err := w.exchange(launch.First, mostBytes)
	if err != nil {
		return w
	}
	var wrong string
	if json.Unmarshal(body, &wrong) != nil {
		wrong = "its first answer is no text"
	}
	if wrong != "" {
		_ = w.kill(fmt.Errorf("%.400q", wrong))
	}
	return w
}

// exchange sends a frame, and returns the answer, which has no more than so many bytes.
func (w *worker) exchange(body []byte, most int) ([]byte, error) {
	if w.dead != nil {
		return nil, w.dead
	}
	alarm := time.AfterFunc(Silence, w.signal)
	sent := make(chan error, 1)
	go func() {
		_, err := w.to.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...))
		sent <- err
	}()
	answer, err := w.read(most)
	if err != nil {
		w.signal() // so that the writer ends too
	}
	err = errors.Join(err, <-sent)
	if !alarm.Stop() {
		err = fmt.Errorf("it was silent for %v", Silence)
	} else if err == nil && w.back.Buffered() > 0 {
		err = fmt.Errorf("it sent more than was asked for")
	} else if w.room.Add(-int64(len(answer))) < 0 {
		err = fmt.Errorf("all of them have sent more than %d bytes", mostReceived)
	}
	if err != nil {
		return nil, w.kill(err)
	}
	return answer, nil
}

func (w *worker) read(most int) ([]byte, error) {
	var header [frameStart]byte
	if _, err := io.ReadFull(w.back, header[:]); err != nil {
		return nil, fmt.Errorf("it ended without an answer")
	}
	length := int(binary.LittleEndian.Uint32(header[:]))
	if length > most {
		return nil, fmt.Errorf("it announced a frame of %d bytes", length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(w.back, body); err != nil {
		return nil, fmt.Errorf("it ended within an answer")
	}
	return body, nil
}

// kill ends the process for good.
func (w *worker) kill(why error) error {
	if w.dead == nil {
		w.dead = workerEnded{why}
		w.signal()
		_ = w.command.Wait()
	}
	return w.dead
}

// signal ends the process, with whatever it started that has stayed in its session.
func (w *worker) signal() {
	_ = syscall.Kill(-w.command.Process.Pid, syscall.SIGKILL)
}

// pool is the workers of one candidate, by number; they are started when they are first asked for.
type pool struct {
	launch  Launch
	workers map[int]*worker
	dead    []*worker
	room    atomic.Int64
}

func newPool(launch Launch) *pool {
	p := &pool{launch: launch, workers: map[int]*worker{}}
	p.room.Store(mostReceived)
	return p
}

// worker of this number, a new one if it is dead; but a candidate whose workers die is given up.
func (p *pool) worker(number int) *worker {
	found := p.workers[number]
	if found != nil && found.dead != nil {
		p.dead = append(p.dead, found)
		found = nil
	}
	if len(p.dead) >= mostDead {
		p.dead[0].looped = false // nothing begins anew any more
		return p.dead[0]
	}
	if found == nil {
		found = startWorker(p.launch, &p.room)
		p.workers[number] = found
	}
	return found
}

// close lets the workers end by themselves, for a while: what they have used is counted with our own then.
func (p *pool) close() {
	p.living(func(w *worker) { _ = w.to.Close() })
	alarm := time.AfterFunc(patience, func() { p.living((*worker).signal) })
	defer alarm.Stop()
	p.living(func(w *worker) { _ = w.command.Wait() })
}

func (p *pool) living(each func(*worker)) {
	for _, w := range p.workers {
		if w.dead == nil {
			each(w)
		}
	}
}
