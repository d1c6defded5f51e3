package rule

import (
	"math"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/half"
)

// lengths tests how many items lists and maps have, characters strings and bytes binary values.
type lengths struct {
	test keyTest
}

func (m lengths) match(dst, mask []uint64, a *column.Array) {
	switch {
	case m.test.lo > m.test.hi:
		clear(dst)
	case a.Field.Kind == column.Fixed || a.Offsets == nil: // all of one length
		n := a.Field.Width
		if a.Field.Kind != column.Fixed {
			n = a.Field.ListSize
		}
		fill(dst, a.Len, m.test.passes(uint64(n)))
	case isText(a.Field):
		eachRow(dst, mask, a.Len, func(i int) bool {
			return m.test.passes(uint64(utf8.RuneCount(a.Data[a.Offsets[i]:a.Offsets[i+1]])))
		})
	case m.test.set != nil:
		eachRow(dst, mask, a.Len, func(i int) bool { return m.test.passes(uint64(a.Offsets[i+1] - a.Offsets[i])) })
	default:
		m.matchRange(dst, mask, a)
	}
}

// matchRange needs one comparison a list, as [matchRange] does.
func (m lengths) matchRange(dst, mask []uint64, a *column.Array) {
	lo, span := m.test.lo, m.test.hi-m.test.lo
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		ends := a.Offsets[w*64+1 : min(w*64+64, a.Len)+1]
		begin, word := a.Offsets[w*64], uint64(0)
		for _, end := range ends {
			word = word>>1 | bit(uint64(end-begin)-lo <= span)<<63
			begin = end
		}
		dst[w] = word >> (64 - len(ends))
	}
}

// Bounds are of values and say nothing of their lengths or hashes.

func (lengths) within(_, _ []byte) (none, all bool) { return false, false }
func (lengths) members() [][]byte                   { return nil }

// isText reports whether the values are UTF-8.
func isText(f *column.Field) bool {
	return f.Kind == column.Binary && (f.Type == column.TypeString || f.Type == column.TypeEnum || f.Type == column.TypeJSON)
}

// fill sets n bits and clears the bits after them, or clears all.
func fill(dst []uint64, n int, on bool) {
	clear(dst)
	if !on {
		return
	}
	for w := range n / 64 {
		dst[w] = math.MaxUint64
	}
	if n%64 > 0 {
		dst[n/64] = 1<<(n%64) - 1
	}
}

// hashes tests hash(value, salt) % mod.
type hashes struct {
	test      keyTest
	salt, mod uint64
}

func (m hashes) match(dst, mask []uint64, a *column.Array) {
	of := hasher(a, m.salt)
	eachRow(dst, mask, a.Len, func(i int) bool { return m.test.passes(of(i) % m.mod) })
}

func (hashes) within(_, _ []byte) (none, all bool) { return false, false }
func (hashes) members() [][]byte                   { return nil }

// hasher returns the hash of value i: XXH64 with the salt as seed, over the bytes that doc.go
// lists.
func hasher(a *column.Array, salt uint64) func(i int) uint64 {
	if a.Field.Kind == column.Binary {
		return func(i int) uint64 { return hash64(salt, a.Data[a.Offsets[i]:a.Offsets[i+1]]) }
	}
	switch a.Field.Type {
	case column.TypeFloat16:
		v := asSlice[uint16](a.Data, a.Len)
		return func(i int) uint64 { return hashWord(salt, floatWord(float64(half.Value(v[i])))) }
	case column.TypeFloat32:
		v := asSlice[float32](a.Data, a.Len)
		return func(i int) uint64 { return hashWord(salt, floatWord(float64(v[i]))) }
	case column.TypeFloat64:
		v := asSlice[float64](a.Data, a.Len)
		return func(i int) uint64 { return hashWord(salt, floatWord(v[i])) }
	}
	if read := integerReader(a); read != nil {
		return func(i int) uint64 { return hashWord(salt, read(i)) }
	}
	width := a.Field.Width
	return func(i int) uint64 { return hash64(salt, a.Data[i*width:(i+1)*width]) }
}

// integerReader returns the values of a column that is stored as integers, sign-extended, or nil.
func integerReader(a *column.Array) func(i int) uint64 {
	switch a.Field.Type {
	case column.TypeBool, column.TypeUint8:
		return readAs[uint8](a)
	case column.TypeInt8:
		return readAs[int8](a)
	case column.TypeInt16:
		return readAs[int16](a)
	case column.TypeUint16:
		return readAs[uint16](a)
	case column.TypeInt32, column.TypeDate:
		return readAs[int32](a)
	case column.TypeUint32:
		return readAs[uint32](a)
	case column.TypeUint64:
		return readAs[uint64](a)
	case column.TypeInt64, column.TypeTime, column.TypeTimestamp:
		return readAs[int64](a)
	case column.TypeDecimal:
		if a.Field.Width == 8 {
			return readAs[int64](a)
		}
	}
	return nil
}

func readAs[T integer](a *column.Array) func(i int) uint64 {
	v := asSlice[T](a.Data, a.Len)
	return func(i int) uint64 { return uint64(v[i]) }
}

// floatWord is one number for equal floats: -0 is 0, and there is one NaN.
func floatWord(v float64) uint64 {
	switch {
	case v == 0:
		return 0
	case v != v:
		return 0x7ff8000000000000
	}
	return math.Float64bits(v)
}
