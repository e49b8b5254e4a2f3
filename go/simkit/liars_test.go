package simkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The voters: everybody votes by signed messages, and answers a client that asks.

type (
	Vote struct {
		Number int
		Digest Digest
		Signed
	}
	Proof struct {
		Number int
		Votes  []Vote
		Pairs  []struct {
			Name  string
			Value Number
		}
		Latest *Vote
	}
	Answer struct {
		Result Number
		Signed
	}
)

func voters() *Protocol {
	p := toyProtocol()
	p.Values, p.Handled, p.ForClients = []any{Vote{}, Proof{}, Answer{}}, []any{Vote{}, Proof{}}, []any{Answer{}}
	p.Liars = func(nodes int) int { return (nodes - 1) / 3 }
	return p
}

func by(name string) Signed { return Signed{name, true} }

func vote(number int, name string) Vote { return Vote{number, "digest", by(name)} }

// playVoters plays a scenario with voters that do what handle says. The answer is the world at its end, and who was told what.
func playVoters(s Scenario, handle func(w *world) []Effect) (w *world, heard map[string][]any, err error) {
	w, heard = newWorld(voters(), &s), map[string][]any{}
	for {
		found, err := w.next()
		if err != nil || !found {
			return w, heard, err
		}
		if w.arrived != nil {
			heard[w.ids[w.arrived.from]+">"+w.ids[w.at]] = append(heard[w.ids[w.arrived.from]+">"+w.ids[w.at]], w.arrived.content)
		}
		if err := w.resume(handle(w)); err != nil {
			return w, heard, err
		}
	}
}

// votes lets each replica vote again and again, tell everybody, and answer clients.
func votes(w *world) (effects []Effect) {
	me := w.ids[w.at]
	switch {
	case w.event[0] == deliver || w.isClient(me):
		return nil
	case w.event[0] == start || w.event[0] == timeout:
		effects = append(effects, Effect{Kind: SetTimer, Name: "vote", Number: 9000, Longest: 11_000})
	}
	for _, peer := range w.others(w.at) {
		effects = append(effects, Effect{Kind: Send, Name: peer, Content: vote(int(w.now), me)})
	}
	for _, client := range w.Clients() {
		effects = append(effects, Effect{Kind: Send, Name: client, Content: Answer{int(w.now), by(me)}})
	}
	return effects
}

// meeting is four voters, of whom n1 lies like this.
func meeting(faults ...Fault) Scenario {
	s := calm(faults...)
	s.Nodes = 4
	for i := range s.Faults {
		s.Faults[i].First = 1
	}
	return s
}

func TestANodeThatSignsForAnotherHasForged(t *testing.T) {
	sends := func(content any) func(w *world) []Effect { // n2 does, at its start
		return func(w *world) []Effect {
			if w.ids[w.at] == "n2" && w.event[0] == start {
				return []Effect{{Kind: Send, Name: "n3", Content: content}}
			}
			return nil
		}
	}
	passesOn := func(w *world) []Effect { // n1 says it to n2, and n2 to n3
		switch {
		case w.ids[w.at] == "n1" && w.event[0] == start:
			return []Effect{{Kind: Send, Name: "n2", Content: vote(1, "n1")}}
		case w.ids[w.at] == "n2" && w.arrived != nil:
			return []Effect{{Kind: Send, Name: "n3", Content: Proof{Votes: []Vote{w.arrived.content.(Vote)}}}}
		}
		return nil
	}
	silent := []Fault{{Name: "byzantine_silence", PerMille: 1000}}
	for _, each := range []struct {
		says   string
		forged bool
		faults []Fault
		handle func(w *world) []Effect
	}{
		{"its own signature", false, nil, sends(vote(1, "n2"))},
		{"another's", true, nil, sends(vote(1, "n1"))},
		{"another's in a proof", true, nil, sends(Proof{Votes: []Vote{vote(1, "n2"), vote(1, "n1")}})},
		{"another's behind a pointer", true, nil, sends(Proof{Latest: &Vote{1, "", by("n1")}})},
		{"a signature that does not verify anyhow", false, nil, sends(Vote{1, "", Signed{"n1", false}})},
		{"what it has received", false, nil, passesOn},
		{"another's, where the kit makes it lie", true, silent, sends(vote(1, "n3"))},
	} {
		s := meeting(each.faults...)
		s.Seed = 7 // by which n2 lies, where somebody does
		for i := range s.Faults {
			s.Faults[i].First = 0
		}
		w, _, err := playVoters(s, each.handle)
		var broken Broken
		errors.As(err, &broken)
		if (broken.Invariant == "no_forgery") != each.forged || (err != nil) != each.forged {
			t.Errorf("n2 sends %s: %v", each.says, err)
		}
		if each.faults != nil && !w.liars.has("n2") {
			t.Errorf("%v lie, and not n2", w.liars.names)
		}
	}
}

func TestACandidateThatForgesFailsByThatName(t *testing.T) {
	for _, outcome := range Play(toyProtocol(), []Scenario{chaos(1), chaos(2)}, launchToy("forges")) {
		if outcome.Invariant != "no_forgery" || !strings.Contains(outcome.Sentence, "forged a signature of n3") {
			t.Errorf("the outcome is %q, %q", outcome.Invariant, outcome.Sentence)
		}
	}
}

func TestAStoryLetsALiarSayWhatItCanHaveSigned(t *testing.T) {
	lie := func(node string, content any) Step {
		return Step{Do: "lie", From: "n1", Node: node, Message: nameOf(content), Lie: toWire(content)}
	}
	s := Scenario{Nodes: 4, Steps: []Step{
		{Do: "timeout", Node: "n2", Timer: "vote"},
		{Do: "timeout", Node: "n1", Timer: "vote"}, // it lies: it does not run
		{Do: "restart", Node: "n1"},
		lie("n2", vote(1, "n1")),
		lie("n3", vote(2, "n1")),
		lie("n3", vote(0, "n2")),                       // which n2 has signed, at its start
		lie("n3", vote(3, "n2")),                       // and which it has not
		lie("n3", Proof{Votes: []Vote{vote(3, "n2")}}), // nor inside of something else
		lie("n3", Vote{3, "", Signed{"n2", false}}),
		lie("c1", Answer{nil, by("n1")}),
	}}
	w, heard, err := playVoters(s, votes)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]any{
		"n1>n2": {vote(1, "n1")}, "n1>c1": {Answer{nil, by("n1")}},
		"n1>n3": {vote(2, "n1"), vote(0, "n2"), Vote{3, "", Signed{"n2", false}}},
	}
	if fmt.Sprint(heard) != fmt.Sprint(want) || w.script.skipped != 4 || w.boots != 5 {
		t.Errorf("%d steps skipped, %d boots; heard: %v, and not %v", w.script.skipped, w.boots, heard, want)
	}
}

func TestWhatConformsToNoTypeReachesNobody(t *testing.T) {
	for _, each := range []struct{ node, lie string }{
		{"n2", `["Vote",1,["bytes","00"],"n1"]`},
		{"n2", `["Vote",1,["bytes","00"],"n1",1]`},
		{"n2", `["Vote",1,["bytes","0"],"n1",true]`},
		{"n2", `["Vote",1,"00","n1",true]`},
		{"n2", `["Vote",true,["bytes","00"],"n1",true]`},
		{"n2", `["Vote",1,["bytes","00"],["n1"],true]`},
		{"n2", `["Proof",1,[""],["",["","a","b"]],null]`},
		{"n2", `["Proof",1,[""],["",["","a",1,2]],null]`},
		{"n2", `["Proof",1,["",["Answer",1,"n1",true]],[""],null]`},
		{"n2", `["Proof",1,[""],[""],1]`},
		{"n2", `["Ping",1]`},
		{"n2", `["",1]`},
		{"n2", `7`},
		{"n2", `{}`},
		{"n2", ``},
		{"n2", `["Answer",1,"n1",true]`}, // which replicas do not understand
		{"c1", `["Vote",1,["bytes","00"],"n1",true]`},
		{"c1", `["Answer","one","n1",true]`},
	} {
		s := Scenario{Nodes: 4, Steps: []Step{{Do: "lie", From: "n1", Node: each.node, Lie: json.RawMessage(each.lie)}}}
		_, heard, err := playVoters(s, votes)
		if err == nil || len(heard) > 0 {
			t.Errorf("%s is told %s: %v, %v", each.node, each.lie, heard, err)
		}
	}
	for _, good := range []string{`["Proof",1,[""],["",["","a",null],["","b",2]],["Vote",1,["bytes","00"],"n1",true]]`} {
		s := Scenario{Nodes: 4, Steps: []Step{{Do: "lie", From: "n1", Node: "n2", Lie: json.RawMessage(good)}}}
		if _, heard, err := playVoters(s, votes); err != nil || string(toWire(heard["n1>n2"][0])) != good {
			t.Errorf("%s has arrived as %v, %v", good, heard, err)
		}
	}
}

func TestWhateverALiarMakesOfAMessageIsStillOne(t *testing.T) {
	p, different := voters(), map[string]bool{}
	original := Proof{Number: 3, Votes: []Vote{vote(3, "n2"), vote(3, "n1")}, Latest: &Vote{4, "other", by("n3")}}
	original.Pairs = append(original.Pairs, struct {
		Name  string
		Value Number
	}{"n1", 7})
	x := variation{memory{}, []string{"n1", "n2", "n3", "n4"}}
	x.memory.add(reflect.ValueOf(Proof{Votes: []Vote{{9, "remembered", by("n4")}}}))
	for i := range uint64(1000) {
		bits, v := mix(i), reflect.ValueOf(original)
		for _, lie := range []reflect.Value{
			x.varied(v, bits), x.rewritten(v, bits, ""), x.rewritten(v, bits, "n1"), inTheNameOf("n4", "n1", v), allSignedAs("n4", v),
		} {
			wire := toWire(lie.Interface())
			raw, err := parse(wire)
			if err != nil {
				t.Fatalf("%s: %v", wire, err)
			}
			if back, err := p.any(raw); err != nil || string(toWire(back)) != string(wire) {
				t.Fatalf("%s is no message: %v", wire, err)
			}
			different[string(wire)] = true
		}
	}
	for _, want := range []string{
		`["Proof",4,["",["Vote",4,`,                 // one number for another, wherever it stands
		`["Proof",3,[""],`,                          // a list is empty
		`"n4",true],["Vote",3,`,                     // somebody else's signature
		`["Proof",1099511627779,`,                   // far in the future
		fmt.Sprintf(`["bytes","%x"]`, "remembered"), // a digest that was heard before
		fmt.Sprintf(`["bytes","%x"]`, "digesu"),     // and one that nobody has made
		`["","n1",8]`,                               // a pair stays a pair
	} {
		if !slices.ContainsFunc(SortedKeys(different), func(wire string) bool { return strings.Contains(wire, want) }) {
			t.Errorf("of %d lies none has %s", len(different), want)
		}
	}
	if len(different) < 50 {
		t.Errorf("there are only %d lies", len(different))
	}
}

func TestObserversAreToldNothingOfLiars(t *testing.T) {
	w, heard, err := playVoters(meeting(Fault{Name: "byzantine_garbling", PerMille: 1}), votes)
	if err != nil || len(heard["n1>n2"]) == 0 {
		t.Fatalf("the liar is not heard: %v", err)
	}
	told := map[string]bool{}
	for _, fact := range w.observer.(*watcher).facts {
		if sent, ok := fact.(Sent); ok {
			told[sent.From] = true
		}
	}
	if told["n1"] || len(told) != 3 || !slices.Equal(w.Liars(), []string{"n1"}) {
		t.Errorf("%v lie, and the observer is told of %v", w.Liars(), told)
	}
}

func TestTacticsDoWhatTheirNamesSay(t *testing.T) {
	counts := func(f Fault) (toReplicas, toClients map[string]int) { // of what n1 sends: as it is, and otherwise
		_, heard, err := playVoters(meeting(f), votes)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		toReplicas, toClients = map[string]int{}, map[string]int{}
		for link, contents := range heard {
			for _, content := range contents {
				switch m := content.(type) {
				case Answer:
					toClients[link+fmt.Sprint(m == Answer{m.Result, by("n1")} && m.Result.(int) > -1 && m.Result.(int) < far)]++
				case Vote:
					toReplicas[link+fmt.Sprint(m.Digest == "digest" && m.Signed == by("n1"))]++
				}
			}
		}
		return toReplicas, toClients
	}
	honest, _ := counts(Fault{Name: "byzantine_garbling", PerMille: 0})
	if honest["n1>n2false"] > 0 || honest["n1>n2true"] < 20 {
		t.Errorf("who garbles nothing is no liar: %v", honest)
	}
	told, answered := counts(Fault{Name: "byzantine_silence", PerMille: 1000})
	if told["n1>n2true"] > 0 || answered["n1>c1true"] > 0 {
		t.Errorf("who is silent says %v, %v", told, answered)
	}
	told, _ = counts(Fault{Name: "byzantine_favours", PerMille: 500, Lasts: 1e12})
	if told["n1>n2true"]*told["n1>n3true"]*told["n1>n4true"] > 0 {
		t.Errorf("nobody is left out: %v", told)
	}
	if told, _ := counts(Fault{Name: "byzantine_garbling", PerMille: 1000}); told["n1>n2false"] == 0 {
		t.Errorf("nothing is garbled: %v", told)
	}
	told, answered = counts(Fault{Name: "byzantine_false_replies", PerMille: 1000})
	if told["n1>n2false"] > 0 || answered["n1>c1false"] == 0 {
		t.Errorf("false replies: %v to replicas, %v to clients", told, answered)
	}
	flattered, _ := counts(Fault{Name: "byzantine_flattery", PerMille: 1000})
	if flattered["n1>n2true"] < 3*honest["n1>n2true"]/2 {
		t.Errorf("who flatters says no more than others: %v, %v", flattered, honest)
	}
	replayed, _ := counts(Fault{Name: "byzantine_replay", PerMille: 1000})
	if replayed["n1>n2false"] == 0 { // what others have signed
		t.Errorf("nothing is said again: %v", replayed)
	}
	forged, _ := counts(Fault{Name: "byzantine_forgery", PerMille: 500})
	if forged["n1>n2false"] == 0 || forged["n1>n2true"] < honest["n1>n2true"]/3 {
		t.Errorf("who forges says %v", forged)
	}
}

func TestWhoEquivocatesTellsTwoStories(t *testing.T) {
	f, found := Fault{Name: "byzantine_equivocation", PerMille: 1000, Share: 500, Lasts: 1e12}, map[int]int{}
	for seed := range uint64(40) {
		s := meeting(f)
		s.Seed = seed
		w := newWorld(voters(), &s)
		var sends []sending
		for _, peer := range w.others(0) {
			sends = append(sends, sending{peer, vote(1, "n1")})
		}
		stories := map[string]bool{}
		for _, told := range equivocation(w, &f, sends) {
			stories[string(toWire(told.content))] = true
		}
		found[len(stories)]++
	}
	if found[2] < 15 || found[1]+found[2] != 40 {
		t.Errorf("so many times three peers hear so many stories: %v", found)
	}
}

func TestATwinHasTwoSelvesOfOneName(t *testing.T) {
	s := meeting(Fault{Name: "byzantine_twins", Lasts: 1e12})
	speakers := map[string]map[int]bool{}
	w, _, err := playVoters(s, func(w *world) []Effect {
		if w.arrived != nil && w.ids[w.arrived.from] == "n1" {
			if speakers[w.ids[w.at]] == nil {
				speakers[w.ids[w.at]] = map[int]bool{}
			}
			speakers[w.ids[w.at]][w.arrived.from] = true
		}
		return votes(w)
	})
	if err != nil || len(w.ids) != 7 || w.ids[6] != "n1" || !slices.Equal(w.Clients(), []string{"c1", "c2"}) {
		t.Fatalf("%v, %v", w.ids, err)
	}
	selves := map[int]bool{}
	for peer, places := range speakers {
		if len(places) != 1 {
			t.Errorf("%s hears both selves", peer)
		}
		for place := range places {
			selves[place] = true
		}
	}
	if len(speakers) < 4 || len(selves) != 2 {
		t.Errorf("%v hear the selves %v", speakers, selves)
	}
}

func TestAsManyLieAsTheProtocolTolerates(t *testing.T) {
	for nodes, want := range map[int]int{3: 0, 4: 1, 6: 1, 7: 2} {
		s := meeting(Fault{Name: "byzantine_silence", PerMille: 1000})
		s.Nodes = nodes
		if w := newWorld(voters(), &s); len(w.Liars()) != want || want > 0 && w.Liars()[0] != "n1" {
			t.Errorf("of %d nodes %v lie", nodes, w.Liars())
		}
	}
}

func TestASuiteThatAsksForOtherLiesThanTheProtocolKnowsIsRefused(t *testing.T) {
	lie := func(from, wire string) Step {
		return Step{Do: "lie", From: from, Node: "c1", Lie: json.RawMessage(wire)}
	}
	const good = `["Answer",1,"n1",true]`
	lying := []Fault{{Name: "byzantine_silence", PerMille: 1}}
	for _, each := range []struct {
		says  string
		suite Suite
	}{
		{"", Suite{Stories: []Scenario{{Nodes: 4, Steps: []Step{lie("n1", good), lie("n1", good)}}}}},
		{"", Suite{Random: []Recipe{{Scenario: Scenario{Nodes: 4, Faults: lying}}}}},
		{"is for the protocol raft", Suite{Protocol: "raft"}},
		{"tolerates none", Suite{Random: []Recipe{{Scenario: Scenario{Nodes: 3, Faults: lying}}}}},
		{"tolerates 1 liars", Suite{Stories: []Scenario{{Nodes: 4, Steps: []Step{lie("n1", good), lie("n2", good)}}}}},
		{"what is no message", Suite{Stories: []Scenario{{Nodes: 4, Steps: []Step{lie("n1", `["Vote",1]`)}}}}},
		{"what is no message", Suite{Stories: []Scenario{{Nodes: 4, Steps: []Step{lie("n5", good)}}}}},
	} {
		if each.suite.Protocol == "" {
			each.suite.Protocol = "toy"
		}
		err := each.suite.suits(voters())
		if (err == nil) != (each.says == "") || err != nil && !strings.Contains(err.Error(), each.says) {
			t.Errorf("%v, and not %q", err, each.says)
		}
	}
}
