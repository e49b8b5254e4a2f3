package simkit

import "os"

// ReportVariable names the environment variable that names a file to write: how each run ended. What reads it must not
// read what `go test` prints, in which a candidate's words stand too.
const ReportVariable = "PROTOSIM_REPORT"

// ReportSchema of a report's file.
const ReportSchema = "protosim/go-report/1"

type report struct {
	Schema string        `json:"schema"`
	Task   string        `json:"task"`
	Runs   []reportedRun `json:"runs"`
}

type reportedRun struct {
	Name      string `json:"name"`
	Bug       string `json:"bug"`       // a story: which one it shows
	Invariant string `json:"invariant"` // the one that broke; "" if none did
	Sentence  string `json:"sentence"`  // why the run has failed; "" if it has passed
	Events    int    `json:"events"`
	Digest    string `json:"digest"`
}

// writeReport in one step, so that nobody reads half of it.
func writeReport(path, task string, scenarios []Scenario, outcomes []Outcome) error {
	made := report{Schema: ReportSchema, Task: task, Runs: make([]reportedRun, len(outcomes))}
	for i, o := range outcomes {
		made.Runs[i] = reportedRun{scenarios[i].Name, scenarios[i].Bug, o.Invariant, o.Sentence, o.Events, o.Digest}
	}
	beside := path + ".part"
	if err := os.WriteFile(beside, encode(made), 0o600); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
