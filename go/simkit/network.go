package simkit

import "fmt"

const millisecond = 1000

// network is what the faults have made of it.
type network struct {
	loss, duplication, slow int // of 1000 messages
	forged                  int // of 1000 messages: those that bring one which nobody sent
	slowness                int64
	cut                     []uint64 // for each sender, whom it does not reach, as bits
	cutBy                   map[int][]uint64
}

func (n *network) cuts(from, to int) bool { return n.cut[from]>>to&1 == 1 }

// cutLinks lets the fault of this number cut these links; nil mends them.
func (n *network) cutLinks(fault int, masks []uint64) {
	if n.cutBy == nil {
		n.cutBy = map[int][]uint64{}
	}
	n.cutBy[fault] = masks
	clear(n.cut)
	for _, each := range n.cutBy {
		for from, mask := range each {
			n.cut[from] |= mask
		}
	}
}

// transmit gives a message to the network, which may lose it, delay it, and bring it twice.
func (w *world) transmit(m *message) {
	m.to = w.liars.selfOf(w, m.to, w.ids[m.from])
	print := mix(fingerprint(m.wire) ^ uint64(m.from)<<8 ^ uint64(m.to))
	w.repeats[print]++
	bits := func(about string) uint64 { return draw(w.Seed, about, print, w.repeats[print]) }
	if chance(bits("loss"), w.network.loss) || w.network.cuts(m.from, m.to) {
		return
	}
	delay := w.Schedule.delay(bits("delay"))
	if chance(bits("slow"), w.network.slow) {
		delay *= w.network.slowness
	}
	w.push(entry{due: w.now + delay, kind: deliver, node: m.to, message: m})
	if chance(bits("duplication"), w.network.duplication) {
		w.push(entry{due: w.now + delay + 3*w.Schedule.delay(bits("again")), kind: deliver, node: m.to, message: m})
	}
	if f, ok := w.forgery(m, bits); ok {
		w.push(entry{due: w.now + delay + 3*w.Schedule.delay(bits("forged delay")), kind: deliver, node: f.to, message: f})
	}
}

// forgery is a message that nobody sent, and that all must refuse.
func (w *world) forgery(m *message, bits func(string) uint64) (*message, bool) {
	if w.protocol.Malformed == nil || !chance(bits("forgery"), w.network.forged) {
		return nil, false
	}
	known := w.protocol.Malformed(w.ids, w.ids[m.from], w.ids[m.to], m.content)
	if len(known) == 0 {
		return nil, false
	}
	f := known[bits("forgery of")%uint64(len(known))]
	return newMessage(w.place(f.From), w.place(f.To), f.Message), true
}

// -- Schedules --------------------------------------------------------------------------------------------------------

func (s *Schedule) check() error {
	switch {
	case s.Name == "walk" && s.Timer > 0 && s.Request > 0:
	case s.Name == "uniform" && 0 <= s.Shortest && s.Shortest <= s.Longest && s.RequestEvery > 0:
	case s.Name == "fair" && s.Bound > 0 && s.RequestEvery > 0:
	default:
		return fmt.Errorf("there is no schedule %+v", *s)
	}
	return nil
}

func (s *Schedule) delay(bits uint64) int64 {
	switch s.Name {
	case "walk":
		return around(bits, millisecond)
	case "fair":
		return within(bits, 0, s.Bound)
	default:
		return within(bits, s.Shortest, s.Longest)
	}
}

func (s *Schedule) wait(bits uint64, shortest, longest int64) int64 {
	if s.Name == "walk" {
		return around(bits, s.Timer*millisecond)
	}
	return within(bits, shortest, longest)
}

func (s *Schedule) requestGap() int64 {
	if s.Name == "walk" {
		return s.Request * millisecond
	}
	return s.RequestEvery
}

// -- Faults -----------------------------------------------------------------------------------------------------------

func (f *Fault) check() error {
	switch f.Name {
	case "loss", "duplication", "reordering", "forgery":
	case "partition_one_way", "partition_symmetric", "isolate_one":
		if f.Every < 1 || f.Lasts < 1 {
			return fmt.Errorf("%s needs `every` and `lasts`", f.Name)
		}
	case "crash":
		if f.Down < 1 {
			return fmt.Errorf("crash needs `down`")
		}
	default:
		if tactics[f.Name] == nil {
			return fmt.Errorf("there is no fault %q", f.Name)
		}
	}
	return nil
}

func (w *world) startFaults() {
	for number, f := range w.faults {
		switch f.Name {
		case "loss":
			w.network.loss = f.PerMille
		case "duplication":
			w.network.duplication = f.PerMille
		case "reordering":
			w.network.slow, w.network.slowness = f.PerMille, f.Times
		case "forgery":
			w.network.forged = f.PerMille
		case "crash":
			for node := range w.nodes {
				w.wait(number, node, f.Every, true)
			}
		case "partition_one_way", "partition_symmetric", "isolate_one":
			w.wait(number, 0, f.Every, true)
		}
	}
}

// wait until the fault begins, or ends, about so much later.
func (w *world) wait(number, node int, mean int64, on bool) {
	if mean > 0 {
		gap := around(w.bits(w.faults[number].Name, uint64(number), uint64(node)), mean)
		w.push(entry{due: w.now + gap, kind: fault, node: node, number: number, on: on})
	}
}

// fire is the time of which `wait` spoke.
func (w *world) fire(e entry) {
	if w.healedAt >= 0 {
		return
	}
	f := w.faults[e.number]
	switch {
	case f.Name == "crash":
		w.strike(e.node)
		w.wait(e.number, e.node, f.Every, true)
	case e.on:
		w.network.cutLinks(e.number, w.masks(f, w.bits(f.Name+" shape", uint64(e.number))))
		w.wait(e.number, 0, f.Lasts, false)
	default:
		w.network.cutLinks(e.number, nil)
		w.wait(e.number, 0, f.Every, true)
	}
}

// masks says, for each sender, whom it does not reach.
func (w *world) masks(f Fault, bits uint64) []uint64 {
	n := len(w.nodes)
	order := shuffled(bits, n)
	size := 1 + int(bits>>32%uint64(max(1, n-1)))
	if f.Name == "isolate_one" {
		size = 1
		if f.Node > 0 {
			order = []int{(f.Node - 1) % n}
		} else if w.believed >= 0 && chance(w.bits("leader"), f.Leader) {
			order = []int{w.believed}
		}
	}
	var group uint64
	for _, node := range order[:size] {
		group |= 1 << node
	}
	masks := make([]uint64, n)
	for from := range masks {
		if group>>from&1 == 1 {
			masks[from] = ^group
		} else if f.Name != "partition_one_way" {
			masks[from] = group
		}
	}
	return masks
}

// strike crashes a node between two events.
func (w *world) strike(node int) {
	if w.nodes[node].up && w.boots < mostBoots {
		w.crash(node, chooseKept(w.nodes[node].disk.unsynced, w.bits("strike", uint64(node))))
		w.comeBack(node)
	}
}

// comeBack lets a crashed node start again, in a random run.
func (w *world) comeBack(node int) {
	for _, f := range w.faults {
		if f.Name == "crash" {
			w.push(entry{due: w.now + around(w.bits("down", uint64(node)), f.Down), kind: comesBack, node: node})
		}
	}
}

// crashPoint is after how many of an event's effects its node crashes, and what that keeps; -1 for not at all.
func (w *world) crashPoint(effects []Effect) (cut int, kept []Kept) {
	if len(effects) < 2 {
		return -1, nil
	}
	if w.script != nil {
		return w.script.crashPoint()
	}
	if w.healedAt >= 0 || w.boots >= mostBoots {
		return -1, nil
	}
	for _, f := range w.faults {
		if bits := w.bits("aim", uint64(w.at)); f.Name == "crash" && chance(bits, f.Aim) {
			return int(bits >> 32 % uint64(len(effects)+1)), nil
		}
	}
	return -1, nil
}

// heal ends the faults for good, but for forgeries: everybody up, no message lost any more, every link open.
func (w *world) heal() {
	w.healedAt = w.now
	w.network = network{cut: make([]uint64, len(w.nodes)), forged: w.network.forged}
	for node := range w.nodes {
		w.push(entry{due: w.now, kind: comesBack, node: node})
	}
}
