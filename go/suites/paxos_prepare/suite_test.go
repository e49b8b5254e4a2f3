// Package suite judges a repair of paxos/paxos.go:
//
//	PROTOSIM_CANDIDATE=/path/to/paxos.go go test -count=1 ./suites/paxos_prepare
package suite

import (
	_ "embed"
	"testing"

	"protosim/simkit"
	"protosim/simkit/paxos"
)

//go:embed suite.json
var suite []byte

func TestCandidate(t *testing.T) {
	simkit.Test(t, &paxos.Protocol, suite, simkit.Candidate(t, "../..", "paxos/paxos.go", "./cmd/paxos"))
}
