package simkit

import (
	"reflect"
	"slices"
	"strings"
)

// A liar is a node of the candidate's, whose handlers run as they are; faults decide what becomes of what it sends. It may
// say anything, to each peer something else, but it cannot sign for a node that does not lie. Observers are told nothing of
// liars. In a story a liar does not run at all, and its messages are steps.

// sending is a message, and whom it is for.
type sending struct {
	to      string
	content any
}

// tactic is a way to lie: what the liar whose event it is sends instead.
type tactic func(w *world, f *Fault, sends []sending) []sending

var tactics = map[string]tactic{
	"byzantine_silence":       silence,
	"byzantine_favours":       favours,
	"byzantine_garbling":      garbling,
	"byzantine_equivocation":  equivocation,
	"byzantine_false_replies": falseReplies,
	"byzantine_flattery":      flattery,
	"byzantine_forgery":       forging,
	"byzantine_replay":        replaying,
	"byzantine_twins":         twins,
}

// liars of a run.
type liars struct {
	names []string
	twins map[int]int // a liar's place -> that of its second self, if it has one
	variation
}

// liarsOf says who lies in a scenario, and gives second selves their places.
func (w *world) liarsOf() *liars {
	l := &liars{twins: map[int]int{}, variation: variation{memory{}, w.replicas()}}
	for _, step := range w.Steps {
		if step.Do == "lie" && !slices.Contains(l.names, step.From) {
			l.names = append(l.names, step.From)
		}
	}
	first, double := false, false
	lying := slices.DeleteFunc(slices.Clone(w.Faults), func(f Fault) bool { return tactics[f.Name] == nil })
	for _, f := range lying {
		first, double = first || f.First > 0, double || f.Name == "byzantine_twins"
	}
	if len(lying) > 0 {
		order := shuffled(draw(w.Seed, "liars"), w.Scenario.Nodes)
		if first {
			order = append([]int{0}, slices.DeleteFunc(order, func(i int) bool { return i == 0 })...)
		}
		for _, place := range order[:w.protocol.mostLiars(w.Scenario.Nodes)] {
			l.names = append(l.names, w.ids[place])
		}
	}
	for _, name := range l.names {
		if double {
			l.twins[w.place(name)] = len(w.ids)
			w.ids = append(w.ids, name)
		}
	}
	return l
}

func (l *liars) has(name string) bool { return slices.Contains(l.names, name) }

// twist is a liar's effects, with what it sends decided by its tactics, which outlast the other faults.
func (l *liars) twist(w *world, effects []Effect) (twisted []Effect) {
	var sends []sending
	if m := w.arrived; m != nil {
		l.memory.add(reflect.ValueOf(m.content))
	}
	for _, e := range effects {
		if e.Kind == Send {
			sends = append(sends, sending{e.Name, e.Content})
			l.memory.add(reflect.ValueOf(e.Content))
		} else {
			twisted = append(twisted, e)
		}
	}
	for i := range w.Faults {
		if lie := tactics[w.Faults[i].Name]; lie != nil {
			sends = lie(w, &w.Faults[i], sends)
		}
	}
	for _, s := range sends {
		if w.understands(s.to, s.content) {
			sealed := w.notary.sealed(reflect.ValueOf(s.content), l.names).Interface()
			twisted = append(twisted, Effect{Kind: Send, Name: s.to, Content: sealed})
		}
	}
	return twisted
}

// lot is below 1000, for what it is about: another number in each spell, `lasts` microseconds long.
func (w *world) lot(f *Fault, about ...string) int {
	const usual = 200_000
	lasts := uint64(max(f.Lasts, 1))
	if f.Lasts == 0 {
		lasts = usual
	}
	return int(draw(w.Seed, f.Name+" "+strings.Join(about, "/"), uint64(w.now)/lasts) % 1000)
}

// about is bits for a message that is sent now on a link.
func (w *world) about(f *Fault, to string, content any) uint64 {
	return draw(w.bits(f.Name), to, fingerprint(toWire(content)))
}

func silence(w *world, f *Fault, sends []sending) []sending {
	if w.lot(f, w.ids[w.at]) < f.PerMille {
		return nil
	}
	return sends
}

// favours leaves out some peers for a while, and speaks to the others.
func favours(w *world, f *Fault, sends []sending) []sending {
	return slices.DeleteFunc(sends, func(s sending) bool { return w.lot(f, w.ids[w.at], s.to) < f.PerMille })
}

// garbling changes a share of the messages in one place: a wrong digest; a number one off, or far in the future; a foreign
// name; a certificate with one entry too few, or the same one twice.
func garbling(w *world, f *Fault, sends []sending) []sending {
	for i, s := range sends {
		if bits := w.about(f, s.to, s.content); chance(bits, f.PerMille) {
			sends[i].content = w.liars.variant(s.content, bits>>10)
		}
	}
	return sends
}

// equivocation changes what several peers get at once for some of them, all in the same way.
func equivocation(w *world, f *Fault, sends []sending) []sending {
	for i, s := range sends {
		bits := draw(w.Seed, f.Name, fingerprint(toWire(s.content)))
		if w.lot(f, w.ids[w.at], s.to) >= 1000-f.Share && chance(bits, f.PerMille) {
			sends[i].content = w.liars.variant(s.content, bits>>10)
		}
	}
	return sends
}

// falseReplies changes what clients get, by all liars in the same way.
func falseReplies(w *world, f *Fault, sends []sending) []sending {
	for i, s := range sends {
		unsigned := inTheNameOf("", w.ids[w.at], reflect.ValueOf(s.content)).Interface()
		bits := draw(w.Seed, f.Name, fingerprint(toWire(unsigned)))
		if w.isClient(s.to) && chance(bits, f.PerMille) {
			sends[i].content = w.liars.variant(s.content, bits>>10)
		}
	}
	return sends
}

// flattery tells a peer what that has just said, in the liar's name; or tells it everybody.
func flattery(w *world, f *Fault, sends []sending) []sending {
	m := w.arrived
	if m == nil || w.isClient(w.ids[m.from]) {
		return sends
	}
	src, bits := w.ids[m.from], w.about(f, w.ids[w.at], m.content)
	if !chance(bits, f.PerMille) {
		return sends
	}
	mine, to := inTheNameOf(w.ids[w.at], src, reflect.ValueOf(m.content)).Interface(), []string{src}
	if chance(bits>>10, f.Others) {
		to = w.others(w.at)
	}
	for _, peer := range to {
		sends = append(sends, sending{peer, mine})
	}
	return sends
}

// replaying sends an old message to everybody, the liar's own or another's.
func replaying(w *world, f *Fault, sends []sending) []sending {
	bits := w.bits(f.Name, uint64(w.at))
	old := w.liars.memory.anyOf(w.protocol.Handled, bits>>10)
	if old == nil || !chance(bits, f.PerMille) {
		return sends
	}
	for _, peer := range w.others(w.at) {
		sends = append(sends, sending{peer, old})
	}
	return sends
}

// forging says a share of all again, or instead: signed by another, which does not verify, or rewritten. What a liar has
// just heard it tells to whom it heard it from, and to somebody else.
func forging(w *world, f *Fault, sends []sending) (said []sending) {
	for _, s := range sends {
		lie, instead := w.liars.forged(w, f, s.to, s.content)
		if !instead {
			said = append(said, s)
		}
		if lie != nil {
			said = append(said, sending{s.to, lie})
		}
	}
	if m := w.arrived; m != nil {
		src, replicas := w.ids[m.from], w.replicas()
		for _, to := range []string{src, replicas[w.bits(f.Name+src)%uint64(len(replicas))]} {
			if lie, _ := w.liars.forged(w, f, to, m.content); lie != nil && to != w.ids[w.at] {
				said = append(said, sending{to, lie})
			}
		}
	}
	return said
}

// forged is what a peer gets, if anything, and whether instead of the message. What proves something always has a rival.
func (l *liars) forged(w *world, f *Fault, to string, m any) (lie any, instead bool) {
	me, bits := w.ids[w.at], w.about(f, to, m)
	_, signatures := onWire(m)
	signers := map[string]bool{}
	for _, each := range signatures {
		signers[each.Signer] = true
	}
	proves := len(signers) > 1
	if len(signatures) == 0 || !chance(bits, f.PerMille) && !proves {
		return nil, false
	}
	way, bits, v := bits>>10%4, bits>>12, reflect.ValueOf(m)
	switch way {
	case 0: // in the hope for somebody who does not look at signatures
		v = l.rewritten(v, bits, "")
	case 1:
		signer, other := signatures[bits>>1%uint64(len(signatures))].Signer, l.replicas[bits>>8%uint64(len(l.replicas))]
		if bits&1 == 1 {
			v = l.rewritten(v, bits, "")
		}
		v = inTheNameOf(other, signer, v)
	case 2: // it has signed all of it
		v = l.rewritten(allSignedAs(me, v), bits, me)
	default: // beside what others have signed
		v = l.rewritten(v, bits, me)
	}
	return v.Interface(), proves && bits>>40&1 == 1
}

// twins: a liar has two selves, both correct, each of which speaks with some of the others only (Bano et al., "Twins: BFT
// Systems Made Robust", OPODIS 2021).
func twins(w *world, f *Fault, sends []sending) []sending {
	return slices.DeleteFunc(sends, func(s sending) bool { return w.liars.selfOf(w, w.place(w.ids[w.at]), s.to) != w.at })
}

// selfOf a liar is the place of that one which speaks with this peer now.
func (l *liars) selfOf(w *world, liar int, peer string) int {
	twin, doubled := l.twins[liar]
	for i := range w.Faults {
		f := &w.Faults[i]
		if doubled && f.Name == "byzantine_twins" && w.lot(f, w.ids[liar], peer)&1 == 1 {
			return twin
		}
	}
	return liar
}
