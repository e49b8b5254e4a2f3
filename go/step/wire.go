package step

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// On the wire a struct that goes by its name is ["Name", field, ...], any other struct and a slice ["", item, ...], what a
// struct embeds is its own; bytes are ["bytes", "hex"]; numbers, texts, true, false and null are themselves.

// types knows how the protocol's types stand on the wire.
type types struct {
	named  map[string]reflect.Type
	coders map[reflect.Type]*coder
}

type coder struct {
	put func(buf []byte, v reflect.Value) []byte
	get func(r *reader, v reflect.Value)
	// rest of a struct: what follows its tag
	rest   func(r *reader, v reflect.Value)
	fields []reflect.StructField // of a struct
}

func newTypes(values []Value) *types {
	t := &types{map[string]reflect.Type{}, map[reflect.Type]*coder{}}
	for _, value := range values {
		kind := reflect.TypeOf(value)
		if kind == nil || kind.Kind() != reflect.Struct || kind.Name() == "" {
			panic(fmt.Sprintf("a protocol's Values are structs, and %T is none", value))
		}
		t.named[kind.Name()] = kind
	}
	for _, kind := range t.named {
		t.coder(kind)
	}
	return t
}

// coder of a type, made when it is first met. Panics for what no message or disk can hold.
func (t *types) coder(kind reflect.Type) *coder {
	if found := t.coders[kind]; found != nil {
		return found
	}
	made := &coder{}
	t.coders[kind] = made // a type may hold itself
	defer func() {
		if made.put == nil {
			clear(t.coders) // a type that travels nowhere panics each time, and so do those that hold it
		}
	}()
	switch kind.Kind() {
	case reflect.Bool:
		made.put = func(buf []byte, v reflect.Value) []byte { return strconv.AppendBool(buf, v.Bool()) }
		made.get = func(r *reader, v reflect.Value) { v.SetBool(r.truth()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		made.put = func(buf []byte, v reflect.Value) []byte { return strconv.AppendInt(buf, v.Int(), 10) }
		made.get = getInt
	case reflect.String:
		if kind == reflect.TypeFor[Digest]() {
			made.put = func(buf []byte, v reflect.Value) []byte { return appendBytes(buf, []byte(v.String())) }
			made.get = func(r *reader, v reflect.Value) {
				r.tag("bytes")
				v.SetString(string(r.bytes()))
			}
			break
		}
		made.put = func(buf []byte, v reflect.Value) []byte { return appendText(buf, v.String()) }
		made.get = func(r *reader, v reflect.Value) { v.SetString(r.text()) }
	case reflect.Slice:
		t.makeSlice(made, kind)
	case reflect.Struct:
		t.makeStruct(made, kind)
	case reflect.Pointer:
		t.makePointer(made, kind)
	case reflect.Interface:
		made.put = func(buf []byte, v reflect.Value) []byte { return t.appendAny(buf, v.Interface()) }
		made.get = func(r *reader, v reflect.Value) {
			if found := t.any(r); found != nil {
				v.Set(reflect.ValueOf(found))
			} else {
				v.SetZero()
			}
		}
	default:
		panic(fmt.Sprintf("a %s stands in no message and on no disk", kind))
	}
	return made
}

func getInt(r *reader, v reflect.Value) {
	number := r.integer()
	if v.OverflowInt(number) {
		r.fail("%d does not fit in %s", number, v.Type())
	}
	v.SetInt(number)
}

func (t *types) makeSlice(made *coder, kind reflect.Type) {
	if kind.Elem().Kind() == reflect.Uint8 {
		made.put = func(buf []byte, v reflect.Value) []byte { return appendBytes(buf, v.Bytes()) }
		made.get = func(r *reader, v reflect.Value) {
			r.tag("bytes")
			v.SetBytes(r.bytes())
		}
		return
	}
	item := t.coder(kind.Elem())
	made.put = func(buf []byte, v reflect.Value) []byte {
		buf = append(buf, '[', '"', '"')
		for i := range v.Len() {
			buf = item.put(append(buf, ','), v.Index(i))
		}
		return append(buf, ']')
	}
	made.get = func(r *reader, v reflect.Value) {
		r.tag("")
		v.SetZero()
		for r.more() {
			n := v.Len()
			if n == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(n + 1)
			v.Index(n).SetZero()
			item.get(r, v.Index(n))
		}
	}
}

func (t *types) makePointer(made *coder, kind reflect.Type) {
	item := t.coder(kind.Elem())
	made.put = func(buf []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(buf, "null"...)
		}
		return item.put(buf, v.Elem())
	}
	made.get = func(r *reader, v reflect.Value) {
		if r.null() {
			v.SetZero()
			return
		}
		v.Set(reflect.New(kind.Elem()))
		item.get(r, v.Elem())
	}
}

func (t *types) makeStruct(made *coder, kind reflect.Type) {
	name := ""
	if t.isNamed(kind) {
		name = kind.Name()
	}
	fields := fieldsOf(kind)
	made.fields = fields
	var coders []*coder
	for _, field := range fields {
		if !field.IsExported() {
			panic(fmt.Sprintf("%s.%s must be exported, or it does not travel", kind, field.Name))
		}
		coders = append(coders, t.fieldCoder(field))
	}
	begin := appendText([]byte{'['}, name) // a type that is made for another may be called anything
	made.put = func(buf []byte, v reflect.Value) []byte {
		buf = append(buf, begin...)
		for i, field := range fields {
			buf = coders[i].put(append(buf, ','), v.FieldByIndex(field.Index))
		}
		return append(buf, ']')
	}
	made.rest = func(r *reader, v reflect.Value) {
		for i, field := range fields {
			if !r.more() {
				r.fail("%s has %d fields, not %d", kind.Name(), len(fields), i)
			}
			coders[i].get(r, v.FieldByIndex(field.Index))
		}
		if r.more() {
			r.fail("%s has %d fields, not more", kind.Name(), len(fields))
		}
	}
	made.get = func(r *reader, v reflect.Value) {
		r.tag(name)
		made.rest(r, v)
	}
}

// isNamed says whether a struct goes by its name.
func (t *types) isNamed(kind reflect.Type) bool { return t.named[kind.Name()] == kind }

// fieldsOf a struct, with those of a struct that it embeds in that one's place.
func fieldsOf(kind reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(kind), func(field reflect.StructField) bool {
		return field.Anonymous && field.Type.Kind() == reflect.Struct
	})
}

func isNullable(field reflect.StructField) bool { return field.Tag.Get("wire") == "nullable" }

// fieldCoder is that of the field's type, but for its tag.
func (t *types) fieldCoder(field reflect.StructField) *coder {
	plain := t.coder(field.Type)
	if !isNullable(field) {
		return plain
	}
	return &coder{
		put: func(buf []byte, v reflect.Value) []byte {
			if v.IsZero() {
				return append(buf, "null"...)
			}
			return plain.put(buf, v)
		},
		get: func(r *reader, v reflect.Value) {
			if r.null() {
				v.SetZero()
			} else {
				plain.get(r, v)
			}
		},
	}
}

func (t *types) appendAny(buf []byte, x any) []byte {
	switch x := x.(type) {
	case nil:
		return append(buf, "null"...)
	case int:
		return appendInt(buf, x)
	case string:
		return appendText(buf, x)
	case NodeID:
		return appendText(buf, string(x))
	default:
		return t.coder(reflect.TypeOf(x)).put(buf, reflect.ValueOf(x))
	}
}

// any is whatever comes: a struct that goes by its name, an int, a string, a bool, nil, a []byte, an []any.
func (t *types) any(r *reader) any {
	switch r.peek() {
	case 'n':
		r.null()
		return nil
	case 't', 'f':
		return r.truth()
	case '"':
		return r.text()
	case '[':
	default:
		return int(r.integer())
	}
	switch tag := r.open(); tag {
	case "":
		items := []any{}
		for r.more() {
			items = append(items, t.any(r))
		}
		r.depth--
		return items
	case "bytes":
		return r.bytes()
	default:
		kind := t.named[tag]
		if kind == nil {
			r.fail("there is no message or value %q", tag)
		}
		v := reflect.New(kind).Elem()
		t.coder(kind).rest(r, v)
		return v.Interface()
	}
}

// -- Text -------------------------------------------------------------------------------------------------------------

func appendInt(buf []byte, x int) []byte { return strconv.AppendInt(buf, int64(x), 10) }

func appendBytes(buf, raw []byte) []byte {
	buf = append(buf, `["bytes","`...)
	return append(hex.AppendEncode(buf, raw), '"', ']')
}

// appendText writes JSON in ASCII.
func appendText(buf []byte, text string) []byte {
	buf = append(buf, '"')
	for i, c := range text {
		switch {
		case c == '"' || c == '\\':
			buf = append(buf, '\\', byte(c))
		case ' ' <= c && c <= '~':
			buf = append(buf, byte(c))
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			panic(fmt.Sprintf("%q is not UTF-8", text))
		case c > 0xFFFF:
			c -= 0x10000
			buf = fmt.Appendf(buf, `\u%04x\u%04x`, 0xD800+c>>10, 0xDC00+c&0x3FF)
		default:
			buf = fmt.Appendf(buf, `\u%04x`, c)
		}
	}
	return append(buf, '"')
}

// snake spells a field's name as it stands on the wire: "MaxSize" -> "max_size".
func snake(name string) string {
	var out strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}

// malformed is a sentence about what came in.
type malformed string

const deepest = 64 // of lists in lists

// reader reads JSON, of which it believes nothing.
type reader struct {
	data  []byte
	at    int
	depth int
	known map[string]string // texts that were read before
}

func (r *reader) fail(format string, details ...any) {
	panic(malformed(fmt.Sprintf(format, details...)))
}

// peek is the next character that is not white; 0 at the end.
func (r *reader) peek() byte {
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *reader) expect(c byte, what string) {
	if r.peek() != c {
		r.fail("%s is expected at byte %d of an event", what, r.at)
	}
	r.at++
}

// open is the tag of a list, which is its first item.
func (r *reader) open() string {
	r.enter()
	return r.text()
}

func (r *reader) enter() {
	r.expect('[', "a list")
	if r.depth++; r.depth > deepest {
		r.fail("lists stand in lists %d deep, and deeper", deepest)
	}
}

func (r *reader) tag(want string) {
	if found := r.open(); found != want {
		r.fail("%q stands where %q is expected", found, want)
	}
}

// more goes on to the list's next item, or to its end.
func (r *reader) more() bool {
	if r.peek() == ',' {
		r.at++
		return true
	}
	r.expect(']', "the end of a list")
	r.depth--
	return false
}

// next goes on to the list's next item, which must be there.
func (r *reader) next() {
	if !r.more() {
		r.fail("an event has too few details")
	}
}

// last is the end of the list, which must be here.
func (r *reader) last() {
	if r.more() {
		r.fail("an event has too many details")
	}
}

func (r *reader) word(word string) bool {
	if r.peek(); !strings.HasPrefix(string(r.data[r.at:min(r.at+len(word), len(r.data))]), word) {
		return false
	}
	r.at += len(word)
	return true
}

func (r *reader) null() bool { return r.word("null") }

func (r *reader) truth() bool {
	if r.word("true") {
		return true
	}
	if !r.word("false") {
		r.fail("true or false is expected at byte %d of an event", r.at)
	}
	return false
}

func (r *reader) integer() int64 {
	digits := r.number()
	number, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		r.fail("%.40q at byte %d of an event is no whole number of 64 bits", digits, r.at)
	}
	return number
}

// number is whatever could be one.
func (r *reader) number() []byte {
	r.peek()
	start := r.at
	for r.at < len(r.data) && strings.IndexByte("+-.0123456789Ee", r.data[r.at]) >= 0 {
		r.at++
	}
	return r.data[start:r.at]
}

func (r *reader) text() string {
	r.expect('"', "a text")
	start, escaped := r.at, false
	for ; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case '\\':
			r.at++
			escaped = true
		case '"':
			raw := r.data[start:r.at]
			r.at++
			if escaped {
				return r.unescape(r.data[start-1 : r.at])
			}
			return r.interned(raw)
		}
	}
	r.fail("a text has no end")
	return ""
}

func (r *reader) unescape(quoted []byte) (text string) {
	if err := json.Unmarshal(quoted, &text); err != nil {
		r.fail("%.40q is no text: %v", quoted, err)
	}
	return text
}

func (r *reader) interned(raw []byte) string {
	if text, found := r.known[string(raw)]; found {
		return text
	}
	text := string(raw)
	if len(r.known) < 1000 && len(text) <= 64 {
		r.known[text] = text
	}
	return text
}

// bytes is what follows the tag.
func (r *reader) bytes() []byte {
	r.next()
	decoded, err := hex.DecodeString(r.text())
	if err != nil {
		r.fail("bytes are no hexadecimal: %v", err)
	}
	r.last()
	return decoded
}

// skip goes over one item.
func (r *reader) skip() {
	switch r.peek() {
	case '"':
		r.text()
	case '[':
		r.enter()
		if r.peek() == ']' {
			r.at++
			r.depth--
			return
		}
		r.skip()
		for r.more() {
			r.skip()
		}
	case 'n', 't', 'f':
		if !r.null() {
			r.truth()
		}
	default:
		if len(r.number()) == 0 {
			r.fail("a value is expected at byte %d", r.at)
		}
	}
}
