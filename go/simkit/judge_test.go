package simkit

import (
	"strings"
	"testing"
	"time"
)

func chaos(seed uint64) Scenario {
	return Scenario{
		Name: "chaos", Nodes: 3, Switches: map[string]any{"loud": false}, Seed: seed, Events: 600, Horizon: 1e12, Answers: 20,
		Schedule: Schedule{Name: "uniform", Shortest: 1000, Longest: 8000, RequestEvery: 4000},
		Faults: []Fault{
			{Name: "loss", PerMille: 100},
			{Name: "duplication", PerMille: 100},
			{Name: "reordering", PerMille: 100, Times: 10},
			{Name: "partition_one_way", Every: 100_000, Lasts: 50_000},
			{Name: "crash", Every: 60_000, Down: 10_000, Aim: 20},
		},
	}
}

func TestSoundNodesPassAndTheRestFailForWhatTheyDid(t *testing.T) {
	for mode, expected := range map[string]string{
		"sound":    "",
		"unsynced": "no order explains what clients saw",
		"lies":     "no order explains what clients saw",
		"idle":     "clients got 0 answers",
		"random":   "nondeterministic",
		"panics":   "two pings",
		"invents":  "which no client asked of it",
		"dies":     "it ended without an answer",
		"refuses":  "it lacks a protocol",
		"garbage":  "it does not answer",
		"fewer":    "it does not answer",
		"huge":     "it announced a frame of 2147483647 bytes",
		"twice":    "it sent more than was asked for",
		"floods":   "it announced a frame of 320099 bytes",
		"swamps":   "messages and timers are on their way",
	} {
		t.Run(mode, func(t *testing.T) {
			for _, outcome := range Play(toyProtocol(), []Scenario{chaos(1), chaos(2)}, launchToy(mode)) {
				if (outcome.Sentence == "") != (expected == "") || !strings.Contains(outcome.Sentence, expected) {
					t.Errorf("the outcome is %q, and not %q\n%s", outcome.Sentence, expected, strings.Join(outcome.Trace, "\n"))
				}
			}
		})
	}
}

func TestNoTwoNodesOfARunAndNoTwoLivesOfANodeShareAProcess(t *testing.T) {
	outcome := Play(toyProtocol(), []Scenario{chaos(1)}, launchToy("alone"))[0]
	if outcome.Sentence != "" || outcome.Boots != mostBoots {
		t.Errorf("after %d boots: %s", outcome.Boots, outcome.Sentence)
	}
}

func TestARunThatLoopsCostsTheOthersNothing(t *testing.T) {
	loud := chaos(2)
	loud.Switches = map[string]any{"loud": true}
	outcomes := Play(toyProtocol(), []Scenario{chaos(1), loud, chaos(3)}, launchToy("loops"))
	sound := Play(toyProtocol(), []Scenario{chaos(1), loud, chaos(3)}, launchToy("sound"))
	for _, i := range []int{0, 2} {
		if outcomes[i].Digest != sound[i].Digest {
			t.Errorf("run %d ended otherwise: %q", i, outcomes[i].Sentence)
		}
	}
	if !strings.Contains(outcomes[1].Sentence, "Looping: it used 300ms of CPU time") {
		t.Errorf("the outcome is %q", outcomes[1].Sentence)
	}
}

func TestWhoLoopsInEveryRunIsGivenUp(t *testing.T) {
	many := make([]Scenario, 9)
	for i := range many {
		many[i] = chaos(uint64(i))
		many[i].Switches = map[string]any{"loud": true}
	}
	for _, outcome := range Play(toyProtocol(), many, launchToy("loops")) {
		if outcome.Sentence == "" {
			t.Error("a run that loops has passed")
		}
	}
}

func TestWhoIsSilentIsGivenUp(t *testing.T) {
	patience := Silence
	Silence = 300 * time.Millisecond
	defer func() { Silence = patience }()
	many := make([]Scenario, 50)
	for i := range many {
		many[i] = chaos(uint64(i))
	}
	for _, outcome := range Play(toyProtocol(), many, launchToy("deaf")) {
		if !strings.Contains(outcome.Sentence, "it was silent for 300ms") {
			t.Errorf("the outcome is %q", outcome.Sentence)
		}
	}
}

func TestAScenarioIsTheSameEachTimeAndAnotherForAnotherSeed(t *testing.T) {
	digests := map[string]bool{}
	for range 2 {
		for _, outcome := range Play(toyProtocol(), []Scenario{chaos(1), chaos(2), chaos(3)}, launchToy("sound")) {
			digests[outcome.Digest] = true
		}
	}
	if len(digests) != 3 {
		t.Errorf("three scenarios, played twice, have %d digests", len(digests))
	}
}
