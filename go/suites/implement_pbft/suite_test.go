// Package suite judges a repair of pbft/pbft.go:
//
//	PROTOSIM_CANDIDATE=/path/to/pbft.go go test -count=1 ./suites/implement_pbft
package suite

import (
	_ "embed"
	"testing"

	"protosim/simkit"
	"protosim/simkit/pbft"
)

//go:embed suite.json
var suite []byte

func TestCandidate(t *testing.T) {
	simkit.Test(t, &pbft.Protocol, suite, simkit.Candidate(t, "../..", "pbft/pbft.go", "./cmd/pbft"))
}
