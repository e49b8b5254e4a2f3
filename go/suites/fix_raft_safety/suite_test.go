// Package suite judges a repair of raft/raft.go:
//
//	PROTOSIM_CANDIDATE=/path/to/raft.go go test -count=1 ./suites/fix_raft_safety
package suite

import (
	_ "embed"
	"testing"

	"protosim/simkit"
	"protosim/simkit/raft"
)

//go:embed suite.json
var suite []byte

func TestCandidate(t *testing.T) {
	simkit.Test(t, &raft.Protocol, suite, simkit.Candidate(t, "../..", "raft/raft.go", "./cmd/raft"))
}
