// Command twophasecommit is a worker that hosts the nodes of two-phase commit.
package main

import (
	"protosim/host"
	"protosim/twophasecommit"
)

func main() { host.Main(twophasecommit.Protocol) }
