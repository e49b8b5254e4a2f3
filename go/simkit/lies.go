package simkit

import (
	"reflect"
	"slices"
)

// What may become of a value that a liar sends. All of it is of the same types as before: nobody's code gets to see
// anything else.

const (
	remembered = 16 // the latest values of each type
	far        = 1 << 40
	farthest   = 1 << 62
)

// memory is the latest values of each type that liars have sent or received, whole messages and parts.
type memory map[reflect.Type][]memorable

type memorable struct {
	wire  string
	value reflect.Value
}

func (m memory) add(v reflect.Value) {
	switch kind := v.Type(); {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		m.add(v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			m.add(v.Index(i))
		}
	case kind == reflect.TypeFor[Digest](), v.Kind() == reflect.Struct:
		wire := string(toWire(v.Interface()))
		if slices.ContainsFunc(m[kind], func(old memorable) bool { return old.wire == wire }) {
			return
		}
		m[kind] = append(m[kind], memorable{wire, v})
		if len(m[kind]) > remembered {
			m[kind] = m[kind][1:]
		}
		if v.Kind() == reflect.Struct {
			for _, field := range fieldsOf(kind) {
				m.add(v.FieldByIndex(field.Index))
			}
		}
	}
}

// like is a value of the same type, perhaps the same.
func (m memory) like(v reflect.Value, bits uint64) reflect.Value {
	if known := m[v.Type()]; len(known) > 0 {
		return known[bits%uint64(len(known))].value
	}
	return v
}

// anyOf is a value of one of these types, if there is one.
func (m memory) anyOf(zeros []any, bits uint64) (found any) {
	var known []memorable
	for _, zero := range zeros {
		known = append(known, m[reflect.TypeOf(zero)]...)
	}
	if len(known) == 0 {
		return nil
	}
	return known[bits%uint64(len(known))].value.Interface()
}

// -- One thing is changed ---------------------------------------------------------------------------------------------

// variation makes other values of the same types.
type variation struct {
	memory   memory
	replicas []string // a name of one may become that of another
}

// variant of a message: one place is changed, which the bits choose.
func (x variation) variant(m any, bits uint64) any {
	return x.varied(reflect.ValueOf(m), bits).Interface()
}

func (x variation) varied(v reflect.Value, bits uint64) reflect.Value {
	var places []string // a part has many places of its own
	for _, field := range fieldsOf(v.Type()) {
		switch part := v.FieldByIndex(field.Index); {
		case field.Name == "Valid":
		case part.Kind() == reflect.Struct, part.Kind() == reflect.Slice && part.Len() > 0:
			places = append(places, field.Name, field.Name, field.Name)
		default:
			places = append(places, field.Name)
		}
	}
	if len(places) == 0 {
		return v
	}
	chosen := places[bits%uint64(len(places))]
	return parts(v, func(name string, part reflect.Value) reflect.Value {
		if name == chosen {
			return x.other(part, mix(bits))
		}
		return part
	})
}

// other is something of the same type.
func (x variation) other(v reflect.Value, bits uint64) reflect.Value {
	made := reflect.New(v.Type()).Elem()
	switch kind := v.Type(); {
	case v.Kind() == reflect.Interface && v.IsNil():
		return v
	case v.Kind() == reflect.Interface:
		made.Set(x.other(v.Elem(), bits))
	case v.Kind() == reflect.Pointer && v.IsNil():
		return v
	case v.Kind() == reflect.Pointer:
		return parts(v, func(_ string, part reflect.Value) reflect.Value { return x.other(part, bits) })
	case v.Kind() == reflect.Struct && bits&1 == 0:
		return x.varied(v, bits>>1)
	case v.Kind() == reflect.Struct, kind == reflect.TypeFor[Digest]() && bits&1 == 1:
		return x.memory.like(v, bits>>1)
	case kind == reflect.TypeFor[Digest]():
		made.SetString(flipped(v.String()))
	case v.Kind() == reflect.Slice && v.Len() > 0:
		return x.otherItems(v, bits)
	case v.Kind() == reflect.Bool:
		made.SetBool(!v.Bool())
	case v.Kind() == reflect.Int:
		beyond := int64(0)
		if v.Int() < farthest {
			beyond = v.Int() + far
		}
		made.SetInt([]int64{v.Int() + 1, v.Int() - 1, beyond, 0, -1}[bits%5])
	case v.Kind() == reflect.String && slices.Contains(x.replicas, v.String()):
		made.SetString(x.replicas[bits%uint64(len(x.replicas))])
	case v.Kind() == reflect.String:
		made.SetString(v.String() + "?")
	}
	return made
}

// otherItems lack one, have one twice, or have another one.
func (x variation) otherItems(v reflect.Value, bits uint64) reflect.Value {
	place := int(bits >> 4 % uint64(v.Len()))
	made := reflect.MakeSlice(v.Type(), 0, v.Len()+1)
	made = reflect.AppendSlice(made, v.Slice(0, place))
	switch bits & 3 {
	case 0:
	case 1:
		made = reflect.Append(made, v.Index(place), v.Index(place))
	default:
		made = reflect.Append(made, x.other(v.Index(place), bits>>8))
	}
	return reflect.AppendSlice(made, v.Slice(place+1, v.Len()))
}

// flipped differs in its last bit.
func flipped(digest string) string {
	if digest == "" {
		return "\x01"
	}
	last := len(digest) - 1
	return digest[:last] + string([]byte{digest[last] ^ 1})
}

// -- Somebody else signs ----------------------------------------------------------------------------------------------

// inTheNameOf is what src has signed, or what holds it, with the signature of another instead; no signed value changes
// inside.
func inTheNameOf(name, src string, v reflect.Value) reflect.Value {
	if signed, ok := signedBy(v); ok {
		if signed.Signer == src {
			return signedAs(name, v)
		}
		return v
	}
	return parts(v, func(_ string, part reflect.Value) reflect.Value { return inTheNameOf(name, src, part) })
}

// allSignedAs has nobody's signatures but those of this name, inside of what is signed as well: a certificate, say.
func allSignedAs(name string, v reflect.Value) reflect.Value {
	v = parts(v, func(_ string, part reflect.Value) reflect.Value { return allSignedAs(name, part) })
	if _, ok := signedBy(v); ok {
		return signedAs(name, v)
	}
	return v
}

func signedAs(name string, v reflect.Value) reflect.Value {
	made := reflect.New(v.Type()).Elem()
	made.Set(v)
	made.Field(v.NumField() - 1).FieldByName("Signer").SetString(name)
	return made
}

// -- One thing for another, wherever it stands ------------------------------------------------------------------------

// thing is a number, a digest or a list in a field of this name.
type thing struct {
	name  string
	value reflect.Value
}

func (t thing) isAlso(name string, v reflect.Value) bool {
	same := t.name == name && t.value.Type() == v.Type()
	return same && (v.Kind() == reflect.Slice || v.Interface() == t.value.Interface()) // all lists of a name are alike
}

// things in a value and in all values in it, but for what others than `me` have signed; "" is everybody.
func things(v reflect.Value, me string) (found []thing) {
	if signed, ok := signedBy(v); ok && me != "" && signed.Signer != me {
		return nil
	}
	parts(v, func(name string, part reflect.Value) reflect.Value {
		about := thing{name, part}
		counts := part.Kind() == reflect.Int || part.Kind() == reflect.Slice || part.Type() == reflect.TypeFor[Digest]()
		if name != "" && counts && !slices.ContainsFunc(found, func(t thing) bool { return t.isAlso(name, part) }) {
			found = append(found, about)
		}
		found = append(found, things(part, me)...)
		return part
	})
	return found
}

// replaced has another value in every such field.
func replaced(v reflect.Value, old thing, other reflect.Value, me string) reflect.Value {
	if signed, ok := signedBy(v); ok && me != "" && signed.Signer != me {
		return v
	}
	return parts(v, func(name string, part reflect.Value) reflect.Value {
		if old.isAlso(name, part) {
			return other
		}
		return replaced(part, old, other, me)
	})
}

// rewritten has one thing for another, in all places, so that the parts still fit together; but not in what others than
// `me` have signed.
func (x variation) rewritten(v reflect.Value, bits uint64, me string) reflect.Value {
	kind := []reflect.Kind{reflect.Int, reflect.String, reflect.Slice}[bits>>32%3]
	found := things(v, me)
	ofKind := slices.DeleteFunc(slices.Clone(found), func(t thing) bool { return t.value.Kind() != kind })
	if len(ofKind) > 0 {
		found = ofKind
	}
	if len(found) == 0 {
		return v
	}
	old := found[bits%uint64(len(found))]
	other := reflect.New(old.value.Type()).Elem()
	switch old.value.Kind() {
	case reflect.Int:
		other.SetInt([]int64{old.value.Int() + 1, old.value.Int() - 1, 0}[bits>>8%3])
	case reflect.String:
		other = x.memory.like(old.value, bits>>8)
	default:
		other.Set(reflect.MakeSlice(old.value.Type(), 0, 0))
	}
	return replaced(v, old, other, me)
}
