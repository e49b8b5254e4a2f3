// Package byhand is a cluster without nodes, for tests of observers: what they see and may believe is set by hand.
package byhand

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"protosim/simkit"
)

// Cluster is what an observer is told, and what it made of it. What is written is durable at once, but where a disk stands
// in Synced.
type Cluster struct {
	Observer simkit.Observer
	Err      error // the first
	Disks    map[string]simkit.Image
	Synced   map[string]simkit.Image
	Switches map[string]any
	Time     int64
	Healed   int64

	nodes, clients, liars []string
}

// New is a cluster of n1, n2, ... whose disks are empty. The faults ended at time 0.
func New(nodes int, empty simkit.Image) *Cluster {
	c := &Cluster{Disks: map[string]simkit.Image{}, Synced: map[string]simkit.Image{}}
	for i := range nodes {
		c.nodes = append(c.nodes, fmt.Sprintf("n%d", i+1))
		c.Disks[c.nodes[i]] = empty
	}
	return c
}

// With clients, and liars among the nodes.
func (c *Cluster) With(clients, liars []string) *Cluster {
	c.clients, c.liars = clients, liars
	return c
}

// What observers may believe: simkit.Facts.

func (c *Cluster) Nodes() []string                  { return c.nodes }
func (c *Cluster) Clients() []string                { return c.clients }
func (c *Cluster) Liars() []string                  { return c.liars }
func (c *Cluster) Written(node string) simkit.Image { return c.Disks[node] }
func (c *Cluster) Switch(name string) any           { return c.Switches[name] }
func (c *Cluster) Up(string) bool                   { return true }
func (c *Cluster) Now() int64                       { return c.Time }
func (c *Cluster) HealedAt() int64                  { return c.Healed }

func (c *Cluster) Durable(node string) simkit.Image {
	if image, ok := c.Synced[node]; ok {
		return image
	}
	return c.Disks[node]
}

// Tell the observer one more fact, unless an earlier one has broken something.
func (c *Cluster) Tell(fact any) {
	if c.Err == nil {
		c.Err = c.Observer.See(fact)
	}
}

// Check that what was told has broken this invariant and no other; "" is none.
func (c *Cluster) Check(t *testing.T, says, invariant string) {
	t.Helper()
	var broken simkit.Broken
	errors.As(c.Err, &broken)
	if broken.Invariant != invariant || (c.Err == nil) != (invariant == "") {
		t.Errorf("%s: %v, and not %q", says, c.Err, invariant)
	}
}

// Write a field of a node's disk.
func (c *Cluster) Write(node, field string, content any) {
	before := c.Disks[node]
	after := simkit.Image{Fields: maps.Clone(before.Fields), Logs: before.Logs}
	after.Fields[field] = content
	c.Disks[node] = after
	c.Tell(simkit.Wrote{Node: node, Before: before, Pairs: []simkit.Pair{{Name: field, Content: content}}})
}
