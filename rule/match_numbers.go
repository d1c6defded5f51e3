package rule

import (
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/half"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// ints tests integers, and all that is stored as one: booleans, dates, times, timestamps, decimals
// of 8 bytes. A key is the value, sign-extended, plus bias, so that keys order as values do.
type ints[T integer] struct {
	test keyTest
	bias uint64 // 1<<63 for signed types, else 0
}

func (m ints[T]) match(dst, mask []uint64, a *column.Array) {
	values := asSlice[T](a.Data, a.Len)
	switch {
	case m.test.lo > m.test.hi:
		clear(dst)
	case len(m.test.sorted) > fewMembers && m.test.set != nil:
		matchSet(dst, mask, values, m.test.set, m.bias)
	case m.test.set != nil:
		matchFew(dst, mask, values, m.test.sorted, m.bias)
	default:
		matchRange(dst, mask, values, m.test.lo-m.bias, m.test.hi-m.test.lo)
	}
}

// matchRange needs one comparison a value: v is in lo..lo+span when v-lo, unsigned, is at most
// span.
func matchRange[T integer](dst, mask []uint64, values []T, lo, span uint64) {
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		part := values[w*64 : min(w*64+64, len(values))]
		m := uint64(0)
		for _, v := range part {
			m = m>>1 | bit(uint64(v)-lo <= span)<<63
		}
		dst[w] = m >> (64 - len(part))
	}
}

// fewMembers is up to how many members it is faster to compare with each.
const fewMembers = 8

func matchFew[T integer](dst, mask []uint64, values []T, members []uint64, bias uint64) {
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		part := values[w*64 : min(w*64+64, len(values))]
		all := uint64(0)
		for _, k := range members {
			m := uint64(0)
			for _, v := range part {
				m = m>>1 | bit(uint64(v)+bias == k)<<63
			}
			all |= m
		}
		dst[w] = all >> (64 - len(part))
	}
}

func matchSet[T integer](dst, mask []uint64, values []T, set *keySet, bias uint64) {
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		part := values[w*64 : min(w*64+64, len(values))]
		m := uint64(0)
		for _, v := range part {
			m = m>>1 | bit(set.has(uint64(v)+bias))<<63
		}
		dst[w] = m >> (64 - len(part))
	}
}

func (m ints[T]) within(least, most []byte) (none, all bool) {
	lo, hi := uint64(0), uint64(math.MaxUint64)
	if least != nil {
		lo = uint64(asSlice[T](least, 1)[0]) + m.bias
	}
	if most != nil {
		hi = uint64(asSlice[T](most, 1)[0]) + m.bias
	}
	return m.test.within(lo, hi)
}

func (m ints[T]) members() (all [][]byte) {
	for _, k := range m.test.keys() {
		v := T(k - m.bias)
		if uint64(v)+m.bias == k {
			all = append(all, asBytes(v))
		}
	}
	return all
}

// A floatTest tests float32 and float64, as IEEE 754 compares: NaN passes nothing, -0 is 0.
type floatTest[T float32 | float64] struct {
	lo, hi T // nothing passes when lo > hi
	set    []T
}

// newFloatTest tests by an operator; next is math.Nextafter of the type.
func newFloatTest[T float32 | float64](o op, v []T, next func(x, y T) T) floatTest[T] {
	inf := T(math.Inf(1))
	none := floatTest[T]{lo: 1, hi: -1}
	if o != opIn && slices.ContainsFunc(v, func(x T) bool { return x != x }) {
		return none
	}
	switch o {
	case opLess:
		if v[0] == -inf {
			return none
		}
		return floatTest[T]{lo: -inf, hi: next(v[0], -inf)}
	case opAtMost:
		return floatTest[T]{lo: -inf, hi: v[0]}
	case opGreater:
		if v[0] == inf {
			return none
		}
		return floatTest[T]{lo: next(v[0], inf), hi: inf}
	case opAtLeast:
		return floatTest[T]{lo: v[0], hi: inf}
	case opBetween:
		return floatTest[T]{lo: v[0], hi: v[1]}
	case opIn:
		set := slices.DeleteFunc(slices.Clone(v), func(x T) bool { return x != x })
		if len(set) == 0 {
			return none
		}
		slices.Sort(set)
		return floatTest[T]{lo: set[0], hi: set[len(set)-1], set: set}
	}
	return floatTest[T]{lo: v[0], hi: v[0]}
}

func (m floatTest[T]) match(dst, mask []uint64, a *column.Array) {
	values := asSlice[T](a.Data, a.Len)
	if m.set != nil {
		eachRow(dst, mask, a.Len, func(i int) bool { return m.has(values[i]) })
		return
	}
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		part := values[w*64 : min(w*64+64, len(values))]
		word := uint64(0)
		for _, v := range part {
			word = word>>1 | (bit(v >= m.lo)&bit(v <= m.hi))<<63
		}
		dst[w] = word >> (64 - len(part))
	}
}

// has reports whether v is in the set.
func (m floatTest[T]) has(v T) bool {
	if !(v >= m.lo && v <= m.hi) { // NaN too
		return false
	}
	_, found := slices.BinarySearch(m.set, v)
	return found
}

// within never proves that all values pass: NaN is outside of all bounds.
func (m floatTest[T]) within(least, most []byte) (none, all bool) {
	lo, hi := T(math.Inf(-1)), T(math.Inf(1))
	if least != nil {
		lo = asSlice[T](least, 1)[0]
	}
	if most != nil {
		hi = asSlice[T](most, 1)[0]
	}
	if lo != lo || hi != hi {
		return false, false
	}
	if m.lo > m.hi || hi < m.lo || lo > m.hi {
		return true, false
	}
	if m.set == nil {
		return false, false
	}
	at, _ := slices.BinarySearch(m.set, lo)
	return at == len(m.set) || m.set[at] > hi, false
}

func (m floatTest[T]) members() (all [][]byte) {
	values := m.set
	if values == nil && m.lo == m.hi {
		values = []T{m.lo}
	}
	if len(values) > maxMembers {
		return nil
	}
	for _, v := range values {
		all = append(all, asBytes(v))
		if v == 0 {
			all = append(all, asBytes(-v), asBytes(T(0)))
		}
	}
	return all
}

// halves tests float16, by keys that order as the values do: the bits of a value with -0 as 0.
type halves struct {
	test keyTest
}

const halfZero = 0x8000

// halfKey is the key of a float16; ok is false for NaN.
func halfKey(bits uint16) (key uint64, ok bool) {
	magnitude := uint64(bits & 0x7fff)
	if bits&0x8000 != 0 {
		return halfZero - magnitude, magnitude <= half.Infinity
	}
	return halfZero + magnitude, magnitude <= half.Infinity
}

// newHalves tests by an operator. v cannot have a number that matches NaN.
func newHalves(o op, v []uint16) halves {
	var keys []uint64
	for _, h := range v {
		k, ok := halfKey(h)
		if !ok && o != opIn {
			return halves{keyTest{lo: 1}}
		}
		if ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return halves{keyTest{lo: 1}}
	}
	return halves{rangeTest(o, keys)}
}

func (m halves) match(dst, mask []uint64, a *column.Array) {
	values := asSlice[uint16](a.Data, a.Len)
	eachRow(dst, mask, a.Len, func(i int) bool {
		k, ok := halfKey(values[i])
		return ok && m.test.passes(k)
	})
}

func (m halves) within(least, most []byte) (none, all bool) {
	lo, hi, fine := uint64(halfZero-half.Infinity), uint64(halfZero+half.Infinity), true
	if least != nil {
		lo, fine = halfKey(asSlice[uint16](least, 1)[0])
	}
	if most != nil && fine {
		hi, fine = halfKey(asSlice[uint16](most, 1)[0])
	}
	if !fine {
		return false, false
	}
	none, _ = m.test.within(lo, hi)
	return none, false
}

func (m halves) members() (all [][]byte) {
	for _, k := range m.test.keys() {
		switch {
		case k == halfZero:
			all = append(all, asBytes(uint16(0)), asBytes(uint16(0x8000)))
		case k > halfZero:
			all = append(all, asBytes(uint16(k-halfZero)))
		default:
			all = append(all, asBytes(uint16(halfZero-k)|0x8000))
		}
	}
	return all
}
