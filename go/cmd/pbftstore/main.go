// Command pbftstore is a worker that hosts the replicas and the clients of a key-value store on PBFT.
package main

import (
	"protosim/host"
	"protosim/pbftstore"
)

func main() { host.Main(pbftstore.Protocol) }
