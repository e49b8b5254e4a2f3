package simkit

import (
	"reflect"
	"slices"
	"testing"
)

// drive plays a scenario with nodes in this process. The answers are who handled what from whom.
func drive(t *testing.T, s Scenario, handle func(w *world) []Effect) (w *world, deliveries [][2]string) {
	t.Helper()
	w = newWorld(toyProtocol(), &s)
	for {
		found, err := w.next()
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			return w, deliveries
		}
		if w.event[0] == deliver {
			deliveries = append(deliveries, [2]string{w.event[1].(string), w.ids[w.at]})
		}
		if err := w.resume(handle(w)); err != nil {
			t.Fatal(err)
		}
	}
}

// chatter is a node that sends to all whenever its timer fires.
func chatter(w *world) []Effect {
	if w.event[0] != start && w.event[0] != timeout {
		return nil
	}
	effects := []Effect{{Kind: SetTimer, Name: "ping", Number: 9000, Longest: 11_000}}
	for _, peer := range w.ids {
		if peer != w.ids[w.at] {
			effects = append(effects, Effect{Kind: Send, Name: peer, Content: Ping{int(w.now)}})
		}
	}
	return effects
}

func calm(faults ...Fault) Scenario {
	return Scenario{
		Nodes: 3, Seed: 7, Events: 1000, Horizon: 1e12, Faults: faults,
		Schedule: Schedule{Name: "uniform", Shortest: 1000, Longest: 2000, RequestEvery: 1e6},
	}
}

func TestFaultsDoWhatTheirNamesSay(t *testing.T) {
	_, sound := drive(t, calm(), chatter)
	share := func(f Fault) float64 { // of deliveries among all events, against those of a calm run
		_, found := drive(t, calm(f), chatter)
		return float64(len(found)) / float64(len(sound))
	}
	if got := share(Fault{Name: "loss", PerMille: 1000}); got != 0 {
		t.Errorf("all messages are lost, but %v of them arrive", got)
	}
	if got := share(Fault{Name: "loss", PerMille: 500}); got < 0.6 || got > 0.9 {
		t.Errorf("half of the messages are lost; there are %v as many deliveries among the events", got)
	}
	if got := share(Fault{Name: "duplication", PerMille: 1000}); got < 1.1 {
		t.Errorf("all messages come twice; there are %v as many deliveries among the events", got)
	}
	w, found := drive(t, calm(Fault{Name: "isolate_one", Node: 2, Every: 1, Lasts: 1e12}), chatter)
	for _, link := range found[4:] {
		if slices.Contains(link[:], "n2") {
			t.Fatalf("n2 is isolated, but %s hears %s", link[1], link[0])
		}
	}
	if !w.network.cuts(1, 0) || !w.network.cuts(0, 1) || w.network.cuts(0, 2) {
		t.Errorf("n2 alone is isolated, but the links are cut as %b", w.network.cut)
	}
}

func TestAOneWayPartitionCutsNoLinkInBothDirections(t *testing.T) {
	w := newWorld(toyProtocol(), &Scenario{Nodes: 5, Steps: []Step{}})
	for bits := range uint64(100) {
		masks := w.masks(Fault{Name: "partition_one_way"}, mix(bits))
		cut := 0
		for a := range 5 {
			for b := range a {
				one, other := masks[a]>>b&1, masks[b]>>a&1
				if one+other > 1 {
					t.Fatalf("%b cuts the link between %d and %d in both directions", masks, a, b)
				}
				cut += int(one + other)
			}
		}
		if cut == 0 {
			t.Fatalf("%b cuts nothing", masks)
		}
	}
}

func TestAMessageFaresAsItDoesWhateverOthersSend(t *testing.T) {
	type arrival struct {
		from, to string
		sent     string
		at       int64
	}
	arrivals := func(quiet string) (found []arrival) {
		faults := []Fault{{Name: "loss", PerMille: 200}, {Name: "duplication", PerMille: 200}, {Name: "reordering", PerMille: 100, Times: 9}}
		drive(t, calm(faults...), func(w *world) []Effect {
			if w.event[0] == deliver && w.event[1] != "n3" && w.at < 2 && w.now < 300_000 {
				found = append(found, arrival{w.event[1].(string), w.ids[w.at], spell(w.event[2]), w.now})
			}
			if w.ids[w.at] == quiet {
				return nil
			}
			return chatter(w)
		})
		return found
	}
	with, without := arrivals("nobody"), arrivals("n3")
	if len(with) < 20 || !slices.Equal(with, without) {
		t.Errorf("between n1 and n2 %d messages arrive, and %d others where n3 says nothing", len(with), len(without))
	}
	if draw(1, "loss", 2) == draw(1, "delay", 2) || draw(1, "loss", 2) == draw(2, "loss", 2) || draw(1, "", 2, 3) == draw(1, "", 3, 2) {
		t.Error("what is drawn does not depend on all that it is about")
	}
}

func TestACrashLosesWhatNoSyncHasCovered(t *testing.T) {
	put := func(key string) Effect {
		return Effect{Kind: Store, Name: "log", Number: 99, Entries: []any{Put{Key: key}}}
	}
	both := Effect{Kind: Store, Name: "log", Number: 99, Entries: []any{Put{Key: "b"}, Put{Key: "c"}}}
	for _, each := range []struct {
		kept []Kept
		want string
	}{
		{nil, "a"},
		{[]Kept{{0, -1}}, "abc"},
		{[]Kept{{0, 1}}, "ab"},
		{[]Kept{{1, -1}}, "a"}, // it would follow a gap
		{[]Kept{{0, -1}, {1, -1}}, "abcd"},
	} {
		var d disk
		d.written = Image{map[string]any{"pings": nil}, map[string]Log{"log": {}}}
		d.durable = d.written
		at := func(e Effect, place int) Effect { e.Number = place; return e }
		d.write(at(put("a"), 0))
		d.sync()
		d.write(at(both, 1))
		d.write(at(put("d"), 3))
		d.write(Effect{Kind: Write, Pairs: []Pair{{"pings", 5}}})
		d.crash(each.kept)
		found := ""
		for _, entry := range d.durable.Logs["log"].Entries {
			found += entry.(Put).Key
		}
		if found != each.want || d.durable.Fields["pings"] != nil || !reflect.DeepEqual(d.durable, d.written) {
			t.Errorf("a crash that keeps %v leaves %q and %v, and not %q", each.kept, found, d.durable.Fields, each.want)
		}
	}
}

func TestCrashesKeepNothingAPrefixASubsetAndATornWrite(t *testing.T) {
	unsynced := []Effect{{Entries: make([]any, 3)}, {}, {Entries: make([]any, 3)}}
	found := map[string]bool{}
	for bits := range uint64(2000) {
		kept := chooseKept(unsynced, mix(bits))
		torn := len(kept) > 0 && kept[len(kept)-1][1] >= 0
		prefix := len(kept) == 0 || kept[len(kept)-1][0] == len(kept)-1
		switch {
		case torn:
			found["torn"] = true
		case !prefix:
			found["subset"] = true
		case len(kept) == 0:
			found["nothing"] = true
		case len(kept) == 3:
			found["all"] = true
		default:
			found["prefix"] = true
		}
	}
	if len(found) != 5 {
		t.Errorf("crashes keep only %v", SortedKeys(found))
	}
}

func TestAStoryIsToldByLinksTypesAndAges(t *testing.T) {
	cut := 1
	story := Scenario{Nodes: 2, Steps: []Step{
		{Do: "timeout", Node: "n1", Timer: "ping"},
		{Do: "timeout", Node: "n1", Timer: "ping"},
		{Do: "deliver", Node: "n2", From: "n1", Message: "Ping", Age: 2}, // the first of three
		{Do: "deliver", Node: "n2", From: "n1", Message: "Ping", Age: 2}, // it has arrived: the newest stands in
		{Do: "deliver", Node: "n2", From: "n1", Message: "Ping", Age: 9}, // there are not so many: the one that is left
		{Do: "deliver", Node: "n2", From: "n1", Message: "Ping"},         // none is left
		{Do: "deliver", Node: "n2", From: "n1", Message: "Pong"},
		{Do: "restart", Node: "n2"}, // it is up
		{Do: "timeout", Node: "n2", Timer: "ping", Cut: &cut},
		{Do: "timeout", Node: "n2", Timer: "ping"}, // it is down
		{Do: "restart", Node: "n2"},
	}}
	var numbers []int
	w, _ := drive(t, story, func(w *world) []Effect {
		if w.event[0] == deliver {
			m, err := w.read(encode(w.event[2]))
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, m.(Ping).Number)
		}
		return chatter(w)
	})
	if !slices.Equal(numbers, []int{0, 2000, 1000}) {
		t.Errorf("the messages %v have arrived", numbers)
	}
	if w.script.skipped != 4 || w.boots != 3 || len(w.script.sent[[2]int{1, 0}]) != 2 {
		t.Errorf("%d steps were skipped, %d boots, %v sent", w.script.skipped, w.boots, w.script.sent)
	}
}

func TestWhatDoesNotFitIsNoEffect(t *testing.T) {
	p := toyProtocol()
	for _, bad := range []string{
		`7`, `[[]]`, `[[],[],[]]`, `[{},[]]`, `[[[]],[]]`, `[[["0","n1",["Ping",1]]],[]]`,
		`[[[0,"n1",["Ping"]]],[]]`, `[[[0,"n1",["Ping",true]]],[]]`, `[[[0,"n1",["Ping",1.5]]],[]]`, `[[[0,"n1",["Pong",1]]],[]]`,
		`[[[0,"n1",["Ping",9223372036854775808]]],[]]`, `[[[0,"n1",3]],[]]`, `[[[0,"n1",["",3]]],[]]`, `[[[0,7,["Ping",1]]],[]]`,
		`[[[1,["",["","pings","x"]]]],[]]`, `[[[1,["",["","what",1]]]],[]]`, `[[[2,"log",-1,[""]]],[]]`,
		`[[[2,"log",0,["",["Ping",1]]]],[]]`, `[[[2,"what",0,[""]]],[]]`, `[[[4,"t",0,5]],[]]`, `[[[4,"t",6,5]],[]]`, `[[[3,1]],[]]`,
		`[[[11]],[]]`, `[[],[1]]`, `[[],[["a",1]]]`, `"it raised"`, `[[],[]] `, `[[],[]]x`, `[[[6,1,` + nested(40) + `,null]],[]]`,
	} {
		if _, _, err := p.answer([]byte(bad)); (err == nil) != (bad == `[[],[]] `) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	good := `[[[0,"n1",["Ping",1]],[1,["",["","pings",3]]],[2,"log",0,["",["Put","x",1]]],[3],[4,"t",1,2],[5,"t"],` +
		`[6,1,["Command","get","x",0],null],[7,1,null],[8,1],[9,1,["",["","x",1]]],[10,"log",2,[""]]],[["a_check"]]]`
	effects, refused, err := p.answer([]byte(good))
	if err != nil || len(effects) != 11 || refused[0][0] != "a_check" {
		t.Errorf("%v %v %v", effects, refused, err)
	}
}

func nested(depth int) string {
	if depth == 0 {
		return "1"
	}
	return `["",` + nested(depth-1) + `]`
}
