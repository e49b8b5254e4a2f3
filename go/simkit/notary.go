package simkit

import (
	"reflect"
	"slices"
)

// notary knows which signatures there are, and which of them each node has received. Nobody can sign for another: a node
// that sends what another has not signed, or not to it, has forged it.
type notary struct {
	made     map[string]bool // by nodes that do not lie
	received map[string]map[string]bool
}

func newNotary() *notary { return &notary{map[string]bool{}, map[string]map[string]bool{}} }

// sends takes note of what a node signs. The error is a Broken invariant.
func (n *notary) sends(node string, lies bool, m *message) error {
	for _, each := range m.signatures {
		switch {
		case each.Signer == node && !lies:
			n.made[each.signed] = true
		case each.Signer != node && each.Valid && !n.received[node][each.signed]:
			return Break("no_forgery", "%s forged a signature of %.40s: it never received %.200s", node, each.Signer, each.signed)
		}
	}
	return nil
}

func (n *notary) receives(node string, m *message) {
	if len(m.signatures) > 0 && n.received[node] == nil {
		n.received[node] = map[string]bool{}
	}
	for _, each := range m.signatures {
		n.received[node][each.signed] = true
	}
}

// sealed is a value as liars can make it: signatures that other nodes never made do not verify.
func (n *notary) sealed(v reflect.Value, liars []string) reflect.Value {
	signed, isSigned := signedBy(v)
	if isSigned && n.made[string(toWire(v.Interface()))] {
		return v
	}
	v = parts(v, func(_ string, part reflect.Value) reflect.Value { return n.sealed(part, liars) })
	if isSigned && !slices.Contains(liars, signed.Signer) {
		signed.Valid = false
		v.Field(v.NumField() - 1).Set(reflect.ValueOf(signed))
	}
	return v
}

// parts is a struct, a slice or a pointer in which each part is what `other` makes of it. Anything else stays as it is.
func parts(v reflect.Value, other func(name string, part reflect.Value) reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Slice:
		made := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			made.Index(i).Set(other("", v.Index(i)))
		}
		return made
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		made := reflect.New(v.Type().Elem())
		made.Elem().Set(other("", v.Elem()))
		return made
	case reflect.Struct:
		made := reflect.New(v.Type()).Elem()
		for _, field := range fieldsOf(v.Type()) {
			made.FieldByIndex(field.Index).Set(other(field.Name, v.FieldByIndex(field.Index)))
		}
		return made
	}
	return v
}
