package step

import "slices"

// Ordered is a map in the order of insertion, which may show: a key that is given another value stays in its place. The
// zero Ordered is empty.
type Ordered[K comparable, V any] struct {
	keys   []K
	values map[K]V
}

// Len is the number of keys.
func (o *Ordered[K, V]) Len() int { return len(o.keys) }

// Has says whether the key is there.
func (o *Ordered[K, V]) Has(key K) bool {
	_, found := o.values[key]
	return found
}

// At is the key's value, or zero.
func (o *Ordered[K, V]) At(key K) V { return o.values[key] }

// Set gives the key a value.
func (o *Ordered[K, V]) Set(key K, value V) {
	if !o.Has(key) {
		o.keys = append(o.keys, key)
	}
	if o.values == nil {
		o.values = map[K]V{}
	}
	o.values[key] = value
}

// Delete forgets the key, if it is there.
func (o *Ordered[K, V]) Delete(key K) {
	if o.Has(key) {
		delete(o.values, key)
		i := slices.Index(o.keys, key)
		o.keys = slices.Delete(o.keys, i, i+1)
	}
}

// DeleteFunc forgets the keys for which drop says so.
func (o *Ordered[K, V]) DeleteFunc(drop func(key K, value V) bool) {
	o.keys = slices.DeleteFunc(o.keys, func(key K) bool {
		dropped := drop(key, o.values[key])
		if dropped {
			delete(o.values, key)
		}
		return dropped
	})
}

// Keys are those of now, in order: what is set or deleted later does not show in them.
func (o *Ordered[K, V]) Keys() []K { return slices.Clone(o.keys) }

// Values are in the order of their keys.
func (o *Ordered[K, V]) Values() []V {
	values := make([]V, 0, len(o.keys))
	for _, key := range o.keys {
		values = append(values, o.values[key])
	}
	return values
}
