package simkit

import (
	"maps"
	"slices"
)

// Log is a durable sequence. Base is how many entries were dropped from its front.
type Log struct {
	Base    int
	Entries []any
}

// Image is what lies on a disk. It never changes: a write makes another one.
type Image struct {
	Fields map[string]any
	Logs   map[string]Log
}

// Kept is an unsynced write that a crash keeps: its position among them, and how many entries of it, if it is one of a
// log; -1 for all.
type Kept [2]int

// disk is what a node has written, and what a crash would leave of it.
type disk struct {
	written, durable Image
	unsynced         []Effect
}

// write carries out an effect of the kind Write, Store or Reset.
func (d *disk) write(e Effect) {
	d.written = d.written.after(e)
	d.unsynced = append(d.unsynced, e)
}

func (d *disk) sync() {
	d.durable, d.unsynced = d.written, nil
}

func (d *disk) crash(kept []Kept) {
	image := d.durable
	for _, k := range kept {
		if k[0] < len(d.unsynced) {
			image = image.redone(d.unsynced[k[0]], k[1])
		}
	}
	d.written, d.durable, d.unsynced = image, image, nil
}

// after is the image with one more write.
func (i Image) after(e Effect) Image {
	if e.Kind == Write {
		i.Fields = maps.Clone(i.Fields)
		for _, pair := range e.Pairs {
			i.Fields[pair.Name] = pair.Content
		}
		return i
	}
	i.Logs = maps.Clone(i.Logs)
	log := i.Logs[e.Name]
	if e.Kind == Reset {
		i.Logs[e.Name] = Log{e.Number, e.Entries}
	} else {
		log.Entries = append(slices.Clip(log.Entries[:min(e.Number, len(log.Entries))]), e.Entries...)
		i.Logs[e.Name] = log
	}
	return i
}

// redone is the image with a write that a crash has kept, or its first entries.
func (i Image) redone(e Effect, entries int) Image {
	if e.Kind == Store {
		log := i.Logs[e.Name]
		if e.Number > len(log.Entries) || e.base != log.Base {
			return i // recovery ends a log at its first gap
		}
		if entries >= 0 {
			e.Entries = e.Entries[:min(entries, len(e.Entries))]
		}
	}
	return i.after(e)
}

// chooseKept says which unsynced writes a crash keeps: none, a prefix, all, a subset, or a torn last one.
func chooseKept(unsynced []Effect, bits uint64) (kept []Kept) {
	n := uint64(len(unsynced))
	if n == 0 {
		return nil
	}
	how, bits := bits%8, bits/8
	prefix := n
	switch how {
	case 0, 1, 2:
		return nil
	case 3:
	case 4:
		prefix = bits % (n + 1)
	default:
		prefix = 1 + bits%n
	}
	for i := range prefix {
		if how != 5 || bits>>(i%64)&1 == 1 {
			kept = append(kept, Kept{int(i), -1})
		}
	}
	if how > 5 && len(kept) > 0 {
		last := &kept[len(kept)-1]
		if entries := len(unsynced[last[0]].Entries); entries > 0 {
			last[1] = int(bits >> 8 % uint64(entries))
		}
	}
	return kept
}
