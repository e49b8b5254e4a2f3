// Command paxos is a worker that hosts Paxos' nodes.
package main

import (
	"protosim/host"
	"protosim/paxos"
)

func main() { host.Main(paxos.Protocol) }
