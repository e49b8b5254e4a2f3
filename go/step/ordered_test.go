package step

import (
	"slices"
	"testing"
)

func TestOrderedKeepsTheOrderOfInsertion(t *testing.T) {
	var o Ordered[string, int]
	for i, key := range []string{"c", "a", "b", "d"} {
		o.Set(key, i)
	}
	o.Set("a", 7) // stays in its place
	o.Delete("c")
	o.Delete("none")
	o.Set("c", 9) // and comes back at the end
	if keys := o.Keys(); !slices.Equal(keys, []string{"a", "b", "d", "c"}) {
		t.Errorf("the keys are %v", keys)
	}
	if values := o.Values(); !slices.Equal(values, []int{7, 2, 3, 9}) {
		t.Errorf("the values are %v", values)
	}
	if o.Len() != 4 || !o.Has("a") || o.Has("none") || o.At("b") != 2 || o.At("none") != 0 {
		t.Errorf("it is %v", o)
	}
}

func TestKeysOfOrderedAreThoseOfTheMomentTheyWereAskedFor(t *testing.T) {
	var o Ordered[int, bool]
	o.Set(1, true)
	o.Set(2, true)
	seen := 0
	for _, key := range o.Keys() {
		o.Delete(key)
		o.Set(key+10, true)
		seen++
	}
	if seen != 2 || !slices.Equal(o.Keys(), []int{11, 12}) {
		t.Errorf("%d keys were seen, and %v are left", seen, o.Keys())
	}
}

func TestWhatIsDroppedLeavesTheOthersInTheirOrder(t *testing.T) {
	var o Ordered[string, int]
	for i, key := range []string{"c", "a", "d", "b"} {
		o.Set(key, i)
	}
	o.DeleteFunc(func(key string, value int) bool { return key == "a" || value == 3 })
	o.Set("a", 4)
	if !slices.Equal(o.Keys(), []string{"c", "d", "a"}) || !slices.Equal(o.Values(), []int{0, 2, 4}) {
		t.Errorf("left are %v, with %v", o.Keys(), o.Values())
	}
}
