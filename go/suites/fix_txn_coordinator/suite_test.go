// Package suite judges a repair of transactions/transactions.go:
//
//	PROTOSIM_CANDIDATE=/path/to/transactions.go go test -count=1 ./suites/fix_txn_coordinator
package suite

import (
	_ "embed"
	"testing"

	"protosim/simkit"
	"protosim/simkit/transactions"
)

//go:embed suite.json
var suite []byte

func TestCandidate(t *testing.T) {
	simkit.Test(t, &transactions.Protocol, suite, simkit.Candidate(t, "../..", "transactions/transactions.go", "./cmd/transactions"))
}
