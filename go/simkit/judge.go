package simkit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
)

// Outcome is how a run ended.
type Outcome struct {
	Invariant string // the one that broke; "" if none did
	Sentence  string // why the run has failed; "" if it has passed
	Events    int
	Boots     int // of all nodes
	Answers   int // that clients got
	Digest    string
	Trace     []string // the last events

	lost bool // its worker process has ended
}

// What a worker answers where an event does not end, which ends its process; and to the events after that one.
const (
	looping = `"Looping: `
	left    = `"Left: `
)

// game is a run in progress.
type game struct {
	*world
	slot    int
	seats   map[int]*worker // by node, where it lives now
	digest  hash.Hash
	outcome *Outcome
	anew    bool // another run has ended the process of one of its nodes
}

func newGame(p *Protocol, scenario *Scenario, slot int) *game {
	return &game{world: newWorld(p, scenario), slot: slot, seats: map[int]*worker{}, digest: sha256.New()}
}

// Play runs each scenario twice, in processes that have nothing to do with each other. What broke in either fails it,
// and so does a difference.
func Play(p *Protocol, scenarios []Scenario, launch Launch) []Outcome {
	var again []*Outcome
	var both sync.WaitGroup
	both.Add(1)
	go func() {
		defer both.Done()
		reversed := slices.Clone(scenarios)
		slices.Reverse(reversed)
		again = play(p, reversed, launch)
		slices.Reverse(again)
	}()
	once := play(p, scenarios, launch)
	both.Wait()
	outcomes := make([]Outcome, len(scenarios))
	for i := range scenarios {
		outcomes[i] = agreed(*once[i], *again[i])
	}
	return outcomes
}

func agreed(once, again Outcome) Outcome {
	switch {
	case once.lost:
		return once
	case again.lost:
		return again
	case once.Digest != again.Digest:
		once.Invariant = ""
		once.Sentence = "nondeterministic: the same events led to other effects when the scenario ran again"
	}
	return once
}

// play runs all scenarios at once, in rounds: each asks about its next event, and takes the answer.
//
// The n-th boot of a run takes place in worker n. So no two nodes of a run, and no two lives of a node, share one.
func play(p *Protocol, scenarios []Scenario, launch Launch) []*Outcome {
	workers := newPool(launch)
	defer workers.close()
	games := make([]*game, len(scenarios))
	for i := range scenarios {
		games[i] = newGame(p, &scenarios[i], i)
	}
	for asked := ask(workers, games); len(asked) > 0; asked = ask(workers, games) {
		hear(asked)
		for i, g := range games {
			if g.anew {
				games[i] = newGame(p, &scenarios[i], i)
			}
		}
	}
	outcomes := make([]*Outcome, len(games))
	for i, g := range games {
		outcomes[i] = g.outcome
	}
	return outcomes
}

// ask advances these games to their next events. The answer is whom to ask about which.
func ask(workers *pool, games []*game) map[*worker][]*game {
	asked := map[*worker][]*game{}
	for _, g := range games {
		if g.outcome == nil && g.protect(func() error { return g.advance(workers) }) {
			seat := g.seats[g.at]
			asked[seat] = append(asked[seat], g)
		}
	}
	return asked
}

// advance to the next event of a node; one that boots gets a worker that the run has not used.
func (g *game) advance(workers *pool) error {
	found, err := g.next()
	if err != nil {
		return err
	}
	if !found {
		return g.finish()
	}
	if g.event[0] == start {
		g.seats[g.at] = workers.worker(g.boots)
	}
	fmt.Fprintf(g.digest, "%s %d %s", g.ids[g.at], g.now, encode(g.event))
	return nil
}

// hear takes the answers of all who were asked, at once, and carries out what they say.
func hear(asked map[*worker][]*game) {
	var all sync.WaitGroup
	for seat, games := range asked {
		all.Add(1)
		go func() {
			defer all.Done()
			answers, err := exchange(seat, games)
			for i, g := range games {
				if seat.looped && (err != nil || bytes.HasPrefix(answers[i], []byte(left))) {
					g.anew = true
					continue
				}
				g.protect(func() error {
					if err != nil {
						return err
					}
					seat.looped = seat.looped || bytes.HasPrefix(answers[i], []byte(looping))
					return g.settle(answers[i])
				})
			}
		}()
	}
	all.Wait()
}

func exchange(seat *worker, games []*game) ([]json.RawMessage, error) {
	events := make([][]any, len(games))
	for i, g := range games {
		events[i] = append([]any{g.slot, g.now}, g.event...)
	}
	body, err := seat.exchange(encode(events), mostBytes*len(games))
	if err != nil {
		return nil, err
	}
	var answers []json.RawMessage
	if json.Unmarshal(body, &answers) != nil || len(answers) != len(games) {
		return nil, seat.kill(fmt.Errorf("it does not answer %d events", len(games)))
	}
	return answers, nil
}

func (g *game) settle(answer []byte) error {
	g.digest.Write(answer)
	effects, refused, err := g.protocol.answer(answer)
	if err != nil {
		return fmt.Errorf("%w, while %s", err, g.trace[len(g.trace)-1])
	}
	for _, names := range refused {
		g.note("            refused: %s", strings.Join(names, ", "))
	}
	return g.resume(effects)
}

// protect closes the game if the work fails, whatever it was led to do by what a candidate has sent. It says whether the
// game goes on.
func (g *game) protect(work func() error) bool {
	defer func() {
		if found := recover(); found != nil {
			g.close(fmt.Errorf("its effects led to %v", found))
		}
	}()
	if err := work(); err != nil {
		g.close(err)
	}
	return g.outcome == nil
}

// finish judges the history, the progress and the goals of a world that is over.
func (g *game) finish() error {
	if g.Heal > 0 && g.now < g.Horizon {
		return fmt.Errorf("after %d events it was too early to judge progress", g.events)
	}
	if g.healedAt >= 0 {
		if err := g.observer.Progress(); err != nil {
			return err
		}
	}
	if g.protocol.Registers {
		if err := linearizable(g.operations); err != nil {
			return err
		}
	}
	for _, goal := range g.Goals {
		if !g.observer.Reached(goal) {
			return Break(goal, "after %d events this goal was never reached", g.events)
		}
	}
	if g.answers < g.Answers {
		return Break("answers", "clients got %d answers; %d are the least", g.answers, g.Answers)
	}
	g.close(nil)
	return nil
}

func (g *game) close(err error) {
	if g.outcome != nil {
		return
	}
	g.outcome = &Outcome{Events: g.events, Boots: g.boots, Answers: g.answers, Trace: g.trace}
	var broken Broken
	var ended workerEnded
	switch {
	case errors.As(err, &broken):
		g.outcome.Invariant, g.outcome.Sentence = broken.Invariant, printable(broken.Sentence)
	case err != nil:
		g.outcome.Sentence, g.outcome.lost = printable(err.Error()), errors.As(err, &ended)
	}
	fmt.Fprint(g.digest, g.outcome.Sentence)
	g.outcome.Digest = hex.EncodeToString(g.digest.Sum(nil)[:16])
}

// printable is one line of 400 bytes at most, without anything that a terminal would obey.
func printable(text string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || r > 0xFFFC {
			return '?'
		}
		return r
	}, []byte(text[:min(len(text), 400)])))
}
