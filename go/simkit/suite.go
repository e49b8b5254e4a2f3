// Package simkit is a deterministic test kit for protocols whose nodes are step machines: a trusted parent that starts
// worker processes with the candidate's nodes, and hands them one event after the other. Scheduler, network, crashes,
// disks, invariants and client histories are here. Candidate code is never linked into it, and nothing that a worker
// says of itself is believed.
package simkit

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Schema of a suite's file.
const Schema = "protosim/go-suite/1"

// Suite is what judges a candidate of a task, as data: recipes with their seeds, and stories.
type Suite struct {
	Schema   string
	Task     string
	Protocol string
	Random   []Recipe
	Stories  []Scenario
}

// Recipe is a scenario without its seed.
type Recipe struct {
	Scenario
	Seeds []uint64
}

// ReadSuite reads a suite's file, and refuses what the kit does not know.
func ReadSuite(data []byte) (*Suite, error) {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	suite := &Suite{}
	if err := decoder.Decode(suite); err != nil {
		return nil, fmt.Errorf("the suite cannot be read: %w", err)
	}
	if suite.Schema != Schema {
		return nil, fmt.Errorf("the suite has the schema %q; this kit reads %q", suite.Schema, Schema)
	}
	for _, recipe := range suite.Random {
		err := recipe.Schedule.check()
		for i := range recipe.Faults {
			if err == nil {
				err = recipe.Faults[i].check()
			}
		}
		if err == nil && (recipe.Nodes < 1 || recipe.Nodes > 63 || recipe.Events < 1 || recipe.Horizon < 1) {
			err = fmt.Errorf("it has %d nodes, %d events, a horizon of %d", recipe.Nodes, recipe.Events, recipe.Horizon)
		}
		if err != nil {
			return nil, fmt.Errorf("the recipe %s cannot be used: %w", recipe.Name, err)
		}
	}
	return suite, nil
}

// suits is nil, or says what of the suite the protocol does not know: other messages, more liars than it tolerates.
func (s *Suite) suits(p *Protocol) error {
	if s.Protocol != p.Name {
		return fmt.Errorf("the suite is for the protocol %s, and not for %s", s.Protocol, p.Name)
	}
	for _, recipe := range s.Random {
		lies := slices.ContainsFunc(recipe.Faults, func(f Fault) bool { return tactics[f.Name] != nil })
		if lies && p.mostLiars(recipe.Nodes) == 0 {
			return fmt.Errorf("the recipe %s has liars, and %s with %d nodes tolerates none", recipe.Name, p.Name, recipe.Nodes)
		}
	}
	for i := range s.Stories {
		w := newWorld(p, &s.Stories[i])
		if liars, most := w.Liars(), p.mostLiars(w.Scenario.Nodes); len(liars) > most {
			return fmt.Errorf("in the story %s %v lie, and %s with %d nodes tolerates %d liars",
				w.Name, liars, p.Name, w.Scenario.Nodes, most)
		}
		for j := range w.Steps {
			if w.Steps[j].Do == "lie" {
				if _, err := w.lieOf(&w.Steps[j]); err != nil {
					return fmt.Errorf("%s: %w", w.Name, err)
				}
			}
		}
	}
	return nil
}

// Scenarios are all runs of a suite.
func (s *Suite) Scenarios() []Scenario {
	all := slices.Clone(s.Stories)
	for _, recipe := range s.Random {
		for i, seed := range recipe.Seeds {
			scenario := recipe.Scenario
			scenario.Name, scenario.Seed = fmt.Sprintf("%s/%d", recipe.Name, i+1), seed
			all = append(all, scenario)
		}
	}
	return all
}

// SuiteVariable names the environment variable that names another suite's file than the one that lies beside the test.
const SuiteVariable = "PROTOSIM_SUITE"

// Test judges a candidate by a suite: each run is a subtest.
func Test(t *testing.T, p *Protocol, suite []byte, candidate Launch) {
	t.Helper()
	if named := os.Getenv(SuiteVariable); named != "" {
		other, err := os.ReadFile(named)
		if err != nil {
			t.Fatalf("the suite that %s names cannot be read: %v", SuiteVariable, err)
		}
		suite = other
	}
	read, err := ReadSuite(suite)
	if err == nil {
		err = read.suits(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	scenarios := read.Scenarios()
	outcomes := Play(p, scenarios, candidate)
	if named := os.Getenv(ReportVariable); named != "" {
		if err := writeReport(named, read.Task, scenarios, outcomes); err != nil {
			t.Fatalf("the report that %s names cannot be written: %v", ReportVariable, err)
		}
	}
	for i, outcome := range outcomes {
		t.Run(scenarios[i].Name, func(t *testing.T) {
			if outcome.Sentence == "" {
				return
			}
			t.Errorf("%s: %s", cause(scenarios[i], outcome), outcome.Sentence)
			t.Logf("the last events, of %d:\n%s", outcome.Events, strings.Join(outcome.Trace, "\n"))
		})
	}
}

func cause(s Scenario, o Outcome) string {
	return strings.Join(slices.DeleteFunc([]string{s.Bug, o.Invariant}, func(s string) bool { return s == "" }), ", ")
}

// LaunchFile reads how to start a worker from a file of JSON.
func LaunchFile(path string) (launch Launch, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &launch)
	}
	if err == nil && len(launch.Command) == 0 {
		err = fmt.Errorf("it names no command")
	}
	return launch, err
}
