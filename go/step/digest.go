package step

import (
	"encoding/binary"
	"math/bits"
	"reflect"
)

// Digest is D(x) of a value: eight bytes that nothing else has. It goes as bytes, and is a string to be a map's key.
type Digest string

// DigestOf is the digest of anything that a message may hold; nil is such a thing.
func (c *core) DigestOf(x Value) Digest {
	return Digest(blake2b(c.types.canonical(nil, reflect.ValueOf(x)), 8))
}

// Digests is DigestOf for whoever is no node: of values whose types go by their names if they are among these.
func Digests(values []Value) func(x Value) Digest {
	c := core{types: newTypes(values)}
	return c.DigestOf
}

// canonical bytes are equal exactly when the values are. A struct that goes by its name begins with that, and has all its
// numbers and bools before what else it holds.
func (t *types) canonical(buf []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Invalid:
		return append(buf, 'N')
	case reflect.Interface, reflect.Pointer:
		return t.canonical(buf, v.Elem()) // of nil it is invalid
	case reflect.Bool:
		if v.Bool() {
			return append(buf, 'T')
		}
		return append(buf, 'F')
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return appendNumber(append(buf, 'i'), v)
	case reflect.String:
		if v.Type() == reflect.TypeFor[Digest]() {
			return appendCounted(append(buf, 'b'), v.String())
		}
		return appendCounted(append(buf, 's'), v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return appendCounted(append(buf, 'b'), string(v.Bytes()))
		}
		buf = appendCount(append(buf, '('), v.Len())
		for i := range v.Len() {
			buf = t.canonical(buf, v.Index(i))
		}
		return buf
	default:
		return t.canonicalStruct(buf, v)
	}
}

func (t *types) canonicalStruct(buf []byte, v reflect.Value) []byte {
	named := t.isNamed(v.Type())
	fields := t.coder(v.Type()).fields
	if named {
		buf = appendCounted(append(buf, 'v'), v.Type().Name())
	} else {
		buf = appendCount(append(buf, '('), len(fields))
	}
	for _, field := range fields {
		if named && isNumber(field) {
			buf = appendNumber(buf, v.FieldByIndex(field.Index))
		}
	}
	for _, field := range fields {
		switch value := v.FieldByIndex(field.Index); {
		case named && isNumber(field):
		case isNullable(field) && value.IsZero():
			buf = append(buf, 'N')
		default:
			buf = t.canonical(buf, value)
		}
	}
	return buf
}

// isNumber says whether a field is an integer or a bool, and never null.
func isNumber(field reflect.StructField) bool {
	kind := field.Type.Kind()
	return reflect.Bool <= kind && kind <= reflect.Int64 && !isNullable(field)
}

func appendNumber(buf []byte, v reflect.Value) []byte {
	number := uint64(0)
	if v.CanInt() {
		number = uint64(v.Int())
	} else if v.Bool() {
		number = 1
	}
	return binary.LittleEndian.AppendUint64(buf, number)
}

func appendCount(buf []byte, n int) []byte { return binary.LittleEndian.AppendUint32(buf, uint32(n)) }

func appendCounted(buf []byte, text string) []byte {
	return append(appendCount(buf, len(text)), text...)
}

// -- BLAKE2b (RFC 7693), without a key --------------------------------------------------------------------------------

const blockSize = 128 // bytes

var initial = [8]uint64{ // of the hash, §2.6
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

var schedule = [12][16]byte{ // which word of the message when, §2.7; the last two rounds are as the first two
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
}

var mixed = [8][4]int{ // columns, then diagonals, §3.2
	{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
	{0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14},
}

// blake2b of the data, in so many bytes: 1 to 64. §3.3
func blake2b(data []byte, size int) []byte {
	h := initial
	h[0] ^= 0x01010000 ^ uint64(size)
	done := 0
	for ; len(data)-done > blockSize; done += blockSize {
		compress(&h, data[done:done+blockSize], done+blockSize, false)
	}
	var last [blockSize]byte
	copy(last[:], data[done:])
	compress(&h, last[:], len(data), true)
	var out []byte
	for _, word := range h {
		out = binary.LittleEndian.AppendUint64(out, word)
	}
	return out[:size]
}

// compress takes a block into the hash; so many bytes were taken then. F of §3.2
func compress(h *[8]uint64, block []byte, taken int, last bool) {
	var m, v [16]uint64
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(block[8*i:])
	}
	copy(v[:8], h[:])
	copy(v[8:], initial[:])
	v[12] ^= uint64(taken)
	if last {
		v[14] = ^v[14]
	}
	for _, order := range schedule {
		for i, at := range mixed {
			a, b, c, d := at[0], at[1], at[2], at[3]
			v[a] += v[b] + m[order[2*i]]
			v[d] = bits.RotateLeft64(v[d]^v[a], -32)
			v[c] += v[d]
			v[b] = bits.RotateLeft64(v[b]^v[c], -24)
			v[a] += v[b] + m[order[2*i+1]]
			v[d] = bits.RotateLeft64(v[d]^v[a], -16)
			v[c] += v[d]
			v[b] = bits.RotateLeft64(v[b]^v[c], -63)
		}
	}
	for i := range h {
		h[i] ^= v[i] ^ v[i+8]
	}
}
