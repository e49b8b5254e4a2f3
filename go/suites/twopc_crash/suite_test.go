// Package suite judges a repair of twophasecommit/twophasecommit.go:
//
//	PROTOSIM_CANDIDATE=/path/to/twophasecommit.go go test -count=1 ./suites/twopc_crash
package suite

import (
	_ "embed"
	"testing"

	"protosim/simkit"
	"protosim/simkit/twophasecommit"
)

//go:embed suite.json
var suite []byte

func TestCandidate(t *testing.T) {
	simkit.Test(t, &twophasecommit.Protocol, suite, simkit.Candidate(t, "../..", "twophasecommit/twophasecommit.go", "./cmd/twophasecommit"))
}
