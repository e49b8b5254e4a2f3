package simkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAReportSaysHowEachRunEnded(t *testing.T) {
	scenarios := []Scenario{{Name: "told", Bug: "toy.unsynced"}, {Name: "chaos/1"}}
	path := filepath.Join(t.TempDir(), "report.json")
	if err := writeReport(path, "toy", scenarios, []Outcome{{Invariant: "order", Sentence: "lost"}, {Events: 9}}); err != nil {
		t.Fatal(err)
	}
	var read report
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil || read.Schema != ReportSchema || read.Task != "toy" || len(read.Runs) != 2 {
		t.Fatalf("%v: %s", err, data)
	}
	if (read.Runs[0] != reportedRun{Name: "told", Bug: "toy.unsynced", Invariant: "order", Sentence: "lost"}) {
		t.Errorf("the first run is reported as %+v", read.Runs[0])
	}
	if (read.Runs[1] != reportedRun{Name: "chaos/1", Events: 9}) {
		t.Errorf("the second run is reported as %+v", read.Runs[1])
	}
}

func TestEachProcessIsStartedByTheNextFormOfTheCommand(t *testing.T) {
	launch := Launch{Commands: [][]string{{"as one"}, {"as another"}}}
	first, second := launch.next()[0], launch.next()[0]
	if first == second || launch.next()[0] != first {
		t.Errorf("%q is followed by %q", first, second)
	}
}

func TestAWorkerThatDoesNotEndByItselfIsEnded(t *testing.T) {
	before := time.Now()
	outcome := Play(toyProtocol(), []Scenario{chaos(1)}, launchToy("stays"))[0]
	if outcome.Sentence != "" || time.Since(before) > time.Minute {
		t.Errorf("after %v: %s", time.Since(before), outcome.Sentence)
	}
}
