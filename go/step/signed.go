package step

// Signed is the signature of the node that it names. A message that is signed embeds it at its end; anybody may pass it
// on, and only the signer can make it: a node that sends what another has not signed has failed.
type Signed struct {
	Signer NodeID
	Valid  bool // what Verify finds out
}

type signed interface{ signature() Signed }

func (s Signed) signature() Signed { return s }

// Sign is this node's signature.
func (c *core) Sign() Signed { return Signed{c.Me, true} }

// Verify says whether each message's signature is its signer's, and not made up.
func Verify[M signed](messages ...M) bool {
	for _, m := range messages {
		if !m.signature().Valid {
			return false
		}
	}
	return true
}

// Signers are the different nodes that have signed these.
func Signers[M signed](messages []M) map[NodeID]bool {
	found := map[NodeID]bool{}
	for _, m := range messages {
		found[m.signature().Signer] = true
	}
	return found
}
