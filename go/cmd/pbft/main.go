// Command pbft is a worker that hosts the replicas and the clients of PBFT.
package main

import (
	"protosim/host"
	"protosim/pbft"
)

func main() { host.Main(pbft.Protocol) }
