package simkit

import "testing"

func put(value, invoked, returned int, before any) *operation {
	return &operation{asked: []int{0}, command: Command{"put", "x", value}, invoked: invoked, returned: returned, result: before}
}

func get(invoked, returned int, found any) *operation {
	return &operation{asked: []int{0}, command: Command{"get", "x", 0}, invoked: invoked, returned: returned, result: found}
}

func TestAnOrderExplainsWhatClientsSawOrNot(t *testing.T) {
	for _, each := range []struct {
		says       string
		explained  bool
		operations []*operation
	}{
		{"nothing happened", true, nil},
		{"one after the other", true, []*operation{put(1, 1, 2, nil), get(3, 4, 1), put(2, 5, 6, 1), get(7, 8, 2)}},
		{"a read misses an earlier write", false, []*operation{put(1, 1, 2, nil), get(3, 4, nil)}},
		{"a read misses a concurrent write", true, []*operation{put(1, 1, 4, nil), get(2, 3, nil)}},
		{"a read sees what nobody wrote", false, []*operation{put(1, 1, 2, nil), get(3, 4, 7)}},
		{"two reads go back in time", false, []*operation{put(1, 1, 9, nil), get(2, 3, 1), get(4, 5, nil)}},
		{"two writes follow the same one", false, []*operation{put(1, 1, 9, nil), put(2, 2, 8, nil)}},
		{"writes overlap, and each says what it followed", true, []*operation{put(1, 1, 9, 2), put(2, 2, 8, nil), get(10, 11, 1)}},
		{"a write without an answer was carried out", true, []*operation{put(1, 1, 0, nil), get(2, 3, nil), get(4, 5, 1)}},
		{"it is not carried out twice", false, []*operation{put(1, 1, 0, nil), get(2, 3, 1), put(2, 4, 5, 1), get(6, 7, 1)}},
		{"it was not asked for yet", false, []*operation{get(1, 2, 1), put(1, 3, 0, nil)}},
		{"a refused write was carried out", false,
			[]*operation{{asked: []int{0}, command: Command{"put", "x", 1}, invoked: 1, refusals: 1}, get(2, 3, 1)}},
		{"keys are objects of their own", true,
			[]*operation{put(1, 1, 2, nil), {asked: []int{0}, command: Command{"get", "y", 0}, invoked: 3, returned: 4}}},
	} {
		if err := linearizable(each.operations); (err == nil) != each.explained {
			t.Errorf("%s: %v", each.says, err)
		}
	}
}

func TestACrowdOfUnansweredWritesIsJudgedInNoTime(t *testing.T) {
	var operations []*operation
	for i := 1; i <= 200; i++ {
		operations = append(operations, put(i, i, 0, nil))
	}
	operations = append(operations, get(300, 301, 17), get(302, 303, 80), get(304, 305, 5))
	if err := linearizable(operations); err != nil {
		t.Error(err)
	}
	if err := linearizable(append(operations, get(306, 307, 17))); err == nil {
		t.Error("a write was carried out twice")
	}
}
