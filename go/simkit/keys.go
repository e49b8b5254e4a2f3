package simkit

import (
	"cmp"
	"math"
	"slices"
)

// Keyed decisions: every choice is a pure function of the seed and of what it is about. Nothing is drawn in sequence, so
// a node that sends one more message leaves every other choice as it was.

// mix gives 64 well-mixed bits of a 64-bit key: the finalizer of splitmix64, whose constants are its author's.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// draw gives 64 bits about something of this name, and of these numbers.
func draw(seed uint64, about string, numbers ...uint64) uint64 {
	x := mix(seed ^ fingerprint([]byte(about)))
	for _, n := range numbers {
		x = mix(x ^ mix(n+0x9E3779B97F4A7C15))
	}
	return x
}

// fingerprint is 64-bit FNV-1a.
func fingerprint(data []byte) uint64 {
	h := uint64(0xCBF29CE484222325)
	for _, b := range data {
		h = (h ^ uint64(b)) * 0x100000001B3
	}
	return h
}

// chance is true for so many of a thousand keys.
func chance(bits uint64, perMille int) bool { return bits%1000 < uint64(perMille) }

// within is uniform from shortest to longest.
func within(bits uint64, shortest, longest int64) int64 {
	return shortest + int64(bits%uint64(longest-shortest+1))
}

// unitExponential has a mean of 1 << 20. It is a table of integers, so that it is the same on every machine.
var unitExponential = func() (table [4096]int64) {
	for i := range table {
		table[i] = int64(math.Round(-math.Log((float64(i)+0.5)/float64(len(table))) * (1 << 20)))
	}
	return table
}()

// around is exponential with this mean, and never 0.
func around(bits uint64, mean int64) int64 {
	return max(1, mean*unitExponential[bits%uint64(len(unitExponential))]>>20)
}

// shuffled is the numbers below n in an order that the bits choose.
func shuffled(bits uint64, n int) []int {
	order := make([]int, n)
	for i := range order {
		j := int(mix(bits^uint64(i)) % uint64(i+1))
		order[i], order[j] = order[j], i
	}
	return order
}

// SortedKeys is a map's keys in order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
