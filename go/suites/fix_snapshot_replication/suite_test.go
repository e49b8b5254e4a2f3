// Package suite judges a repair of raftsnapshots/raftsnapshots.go:
//
//	PROTOSIM_CANDIDATE=/path/to/raftsnapshots.go go test -count=1 ./suites/fix_snapshot_replication
package suite

import (
	_ "embed"
	"testing"

	"protosim/simkit"
	"protosim/simkit/raftsnapshots"
)

//go:embed suite.json
var suite []byte

func TestCandidate(t *testing.T) {
	simkit.Test(t, &raftsnapshots.Protocol, suite, simkit.Candidate(t, "../..", "raftsnapshots/raftsnapshots.go", "./cmd/raftsnapshots"))
}
