// Command raft is a worker that hosts Raft's nodes.
package main

import (
	"protosim/host"
	"protosim/raft"
)

func main() { host.Main(raft.Protocol) }
