// Command raftsnapshots is a worker that hosts the nodes of Raft with snapshots.
package main

import (
	"protosim/host"
	"protosim/raftsnapshots"
)

func main() { host.Main(raftsnapshots.Protocol) }
