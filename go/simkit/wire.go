package simkit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"protosim/step"
)

// What a worker sends is bytes. Here they become values of the types that a Protocol names, or an error with a sentence.
//
// On the wire a struct is ["Name", field, ...] (one without a name is a tuple, and what a struct embeds are its own
// fields), a slice or an array ["", item, ...], a Digest ["bytes", "hex"], and an int, a string, a bool and null are themselves. A
// field of the type any holds one of these; a pointer is null, or what it points to.

// Digest of a value, as nodes make it: step.Node's DigestOf.
type Digest = step.Digest

// Signed is embedded at the end of what its signer alone can make. Valid is false of what others have made up.
type Signed struct {
	Signer string
	Valid  bool
}

// Number is a whole number, or nil.
type Number any

const deepest = 32 // of values in values

// parse reads JSON in which every number is a whole one.
func parse(body []byte) (found any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err = decoder.Decode(&found); err == nil && decoder.More() {
		err = fmt.Errorf("there is more after its end")
	}
	return found, err
}

// value makes a value of the kind from JSON.
func (p *Protocol) value(raw any, kind reflect.Type, depth int) (reflect.Value, error) {
	if depth > deepest {
		return reflect.Value{}, fmt.Errorf("values stand in values %d deep, and deeper", deepest)
	}
	made := reflect.New(kind).Elem()
	list, isList := raw.([]any)
	tag, items := "", []any(nil)
	if isList {
		if len(list) == 0 {
			return made, fmt.Errorf("[] is no value")
		}
		first, ok := list[0].(string)
		if !ok {
			return made, fmt.Errorf("%.100s is no value", spell(raw))
		}
		tag, items = first, list[1:]
	}
	switch {
	case kind.Kind() == reflect.Interface:
		return made, p.setAny(made, raw, tag, depth)
	case kind == reflect.TypeFor[Digest]():
		if tag == "bytes" && len(items) == 1 {
			return made, setDigest(made, items[0])
		}
	case kind.Kind() == reflect.Pointer:
		return made, p.setPointer(made, raw, depth)
	case kind.Kind() == reflect.Slice && isList && tag == "":
		made.Set(reflect.MakeSlice(kind, len(items), len(items)))
		return made, p.setItems(made, items, depth)
	case kind.Kind() == reflect.Array && isList && tag == "" && len(items) == kind.Len():
		return made, p.setItems(made, items, depth)
	case kind.Kind() == reflect.Struct && isList && tag == kind.Name() && len(items) == len(fieldsOf(kind)):
		return made, p.setFields(made, items, depth)
	case kind.Kind() == reflect.Int:
		if number, ok := raw.(json.Number); ok {
			n, err := strconv.ParseInt(number.String(), 10, 64)
			made.SetInt(n)
			return made, err
		}
	case raw != nil && reflect.TypeOf(raw) == kind: // a string, a bool
		made.Set(reflect.ValueOf(raw))
		return made, nil
	}
	return made, fmt.Errorf("%.100s is no %s", spell(raw), kind)
}

func (p *Protocol) setAny(made reflect.Value, raw any, tag string, depth int) error {
	var kind reflect.Type
	switch raw.(type) {
	case nil:
		return nil
	case json.Number:
		kind = reflect.TypeFor[int]()
	case string, bool:
		kind = reflect.TypeOf(raw)
	default:
		kind = reflect.TypeFor[[]any]()
		if tag == "bytes" {
			kind = reflect.TypeFor[Digest]()
		} else if tag != "" {
			if kind = p.kind(tag); kind == nil {
				return fmt.Errorf("there is no message or value %.40q", tag)
			}
		}
	}
	if made.Type() == reflect.TypeFor[Number]() && kind.Kind() != reflect.Int {
		return fmt.Errorf("%.100s is no number", spell(raw))
	}
	found, err := p.value(raw, kind, depth+1)
	if err == nil {
		made.Set(found)
	}
	return err
}

func (p *Protocol) setItems(made reflect.Value, items []any, depth int) error {
	for i, item := range items {
		found, err := p.value(item, made.Type().Elem(), depth+1)
		if err != nil {
			return err
		}
		made.Index(i).Set(found)
	}
	return nil
}

func (p *Protocol) setFields(made reflect.Value, items []any, depth int) error {
	for i, field := range fieldsOf(made.Type()) {
		found, err := p.value(items[i], field.Type, depth+1)
		if err != nil {
			return err
		}
		made.FieldByIndex(field.Index).Set(found)
	}
	return nil
}

func (p *Protocol) setPointer(made reflect.Value, raw any, depth int) error {
	if raw == nil {
		return nil
	}
	found, err := p.value(raw, made.Type().Elem(), depth)
	if err == nil {
		made.Set(reflect.New(made.Type().Elem()))
		made.Elem().Set(found)
	}
	return err
}

func setDigest(made reflect.Value, raw any) error {
	text, ok := raw.(string)
	digest, err := hex.DecodeString(text)
	if !ok || err != nil {
		return fmt.Errorf("%.100s is not hexadecimal", spell(raw))
	}
	made.SetString(string(digest))
	return nil
}

var structFields sync.Map // by type

// fieldsOf a struct, with those of a struct that it embeds in that one's place.
func fieldsOf(kind reflect.Type) []reflect.StructField {
	if known, ok := structFields.Load(kind); ok {
		return known.([]reflect.StructField)
	}
	found := slices.DeleteFunc(reflect.VisibleFields(kind), func(field reflect.StructField) bool {
		return field.Anonymous && field.Type.Kind() == reflect.Struct
	})
	structFields.Store(kind, found)
	return found
}

// kind is the type of this name among the protocol's values.
func (p *Protocol) kind(name string) reflect.Type {
	for _, each := range p.Values {
		if kind := reflect.TypeOf(each); kind.Name() == name {
			return kind
		}
	}
	if name == "Command" {
		return reflect.TypeFor[Command]()
	}
	return nil
}

// signature is a value in a message that somebody has signed.
type signature struct {
	Signed
	signed string // all of it, on the wire
}

// onWire is a value as it travels, and the signatures in it.
func onWire(x any) (wire json.RawMessage, signatures []signature) {
	var w writer
	w.put(reflect.ValueOf(x))
	return w.buffer, w.signatures
}

// toWire is a value as it travels.
func toWire(x any) json.RawMessage {
	wire, _ := onWire(x)
	return wire
}

type writer struct {
	buffer     []byte
	signatures []signature
}

func (w *writer) put(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		w.put(v.Elem()) // of nil it is invalid
	case reflect.Invalid:
		w.buffer = append(w.buffer, "null"...)
	case reflect.Int:
		w.buffer = strconv.AppendInt(w.buffer, v.Int(), 10)
	case reflect.Bool:
		w.buffer = strconv.AppendBool(w.buffer, v.Bool())
	case reflect.String:
		if digest, ok := v.Interface().(Digest); ok {
			w.buffer = append(hex.AppendEncode(append(w.buffer, `["bytes","`...), []byte(digest)), `"]`...)
		} else {
			w.buffer = append(w.buffer, encode(v.String())...)
		}
	case reflect.Slice, reflect.Array:
		w.buffer = append(w.buffer, `[""`...)
		for i := range v.Len() {
			w.buffer = append(w.buffer, ',')
			w.put(v.Index(i))
		}
		w.buffer = append(w.buffer, ']')
	case reflect.Struct:
		w.putStruct(v)
	default:
		panic(fmt.Sprintf("a %s stands in no message and on no disk", v.Type()))
	}
}

func (w *writer) putStruct(v reflect.Value) {
	begin := len(w.buffer)
	w.buffer = append(append(append(w.buffer, `["`...), v.Type().Name()...), '"')
	for _, field := range fieldsOf(v.Type()) {
		w.buffer = append(w.buffer, ',')
		w.put(v.FieldByIndex(field.Index))
	}
	w.buffer = append(w.buffer, ']')
	if signed, ok := signedBy(v); ok {
		w.signatures = append(w.signatures, signature{signed, string(w.buffer[begin:])})
	}
}

// signedBy says who has signed a value, if it is one that is signed.
func signedBy(v reflect.Value) (found Signed, isSigned bool) {
	if v.Kind() == reflect.Struct && v.NumField() > 0 {
		found, isSigned = v.Field(v.NumField() - 1).Interface().(Signed)
	}
	return found, isSigned
}

// encode writes JSON of what can always be written.
func encode(x any) []byte {
	data, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	return data
}

func spell(raw any) string { return string(encode(raw)) }

// nameOf is a message's type.
func nameOf(m any) string { return reflect.TypeOf(m).Name() }
