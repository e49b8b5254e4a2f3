// Command transactions is a worker that hosts the shards of transactions.
package main

import (
	"protosim/host"
	"protosim/transactions"
)

func main() { host.Main(transactions.Protocol) }
