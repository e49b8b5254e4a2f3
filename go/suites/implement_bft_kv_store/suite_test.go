// Package suite judges a repair of pbftstore/pbftstore.go:
//
//	PROTOSIM_CANDIDATE=/path/to/pbftstore.go go test -count=1 ./suites/implement_bft_kv_store
package suite

import (
	_ "embed"
	"testing"

	"protosim/simkit"
	"protosim/simkit/pbftstore"
)

//go:embed suite.json
var suite []byte

func TestCandidate(t *testing.T) {
	simkit.Test(t, &pbftstore.Protocol, suite, simkit.Candidate(t, "../..", "pbftstore/pbftstore.go", "./cmd/pbftstore"))
}
