package simkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// What a worker sends is bytes. Here they become values of the types that a Protocol names, or an error with a sentence.
//
// On the wire a struct is ["Name", field, ...], a slice or an array ["", item, ...], and an int, a string, a bool and null are
// themselves. A field of the type any holds one of these.

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
	case kind.Kind() == reflect.Slice && isList && tag == "":
		made.Set(reflect.MakeSlice(kind, len(items), len(items)))
		return made, p.setItems(made, items, depth)
	case kind.Kind() == reflect.Array && isList && tag == "" && len(items) == kind.Len():
		return made, p.setItems(made, items, depth)
	case kind.Kind() == reflect.Struct && isList && tag == kind.Name() && len(items) == kind.NumField():
		return made, p.setItems(made, items, depth)
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
		if tag != "" {
			if kind = p.kind(tag); kind == nil {
				return fmt.Errorf("there is no message or value %.40q", tag)
			}
		}
	}
	found, err := p.value(raw, kind, depth+1)
	if err == nil {
		made.Set(found)
	}
	return err
}

func (p *Protocol) setItems(made reflect.Value, items []any, depth int) error {
	for i, item := range items {
		place := made
		if made.Kind() == reflect.Struct {
			place = made.Field(i)
		} else {
			place = made.Index(i)
		}
		found, err := p.value(item, place.Type(), depth+1)
		if err != nil {
			return err
		}
		place.Set(found)
	}
	return nil
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

// toWire is what json.Marshal writes as a value's wire form.
func toWire(x any) any {
	v := reflect.ValueOf(x)
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		list := []any{""}
		for i := range v.Len() {
			list = append(list, toWire(v.Index(i).Interface()))
		}
		return list
	case reflect.Struct:
		list := []any{v.Type().Name()}
		for i := range v.NumField() {
			list = append(list, toWire(v.Field(i).Interface()))
		}
		return list
	default:
		return x
	}
}

// encode writes what toWire and the like have made; that cannot fail.
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
