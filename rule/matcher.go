package rule

import (
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A matcher tests values of one type. It is immutable.
type matcher interface {
	// match sets bit i of dst when value i of the array passes, in each word of dst whose word of
	// mask is not zero; a nil mask is all. Bits of nulls have no meaning.
	match(dst, mask []uint64, a *column.Array)

	// within reports whether none, or all, of the values between two bounds, as stored, pass. A nil
	// bound is unknown.
	within(least, most []byte) (none, all bool)

	// members lists all values that can pass, as stored, or returns nil when it does not know them.
	members() [][]byte
}

// noValues tests a column that is null in all shards.
type noValues struct{}

func (noValues) match(dst, _ []uint64, _ *column.Array) { clear(dst) }
func (noValues) within(_, _ []byte) (none, all bool)    { return true, false }
func (noValues) members() [][]byte                      { return nil }

// wordsFor is the number of words of a bitmap of n bits.
func wordsFor(n int) int { return (n + 63) / 64 }

// asSlice returns memory as values.
func asSlice[T any](data []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// asBytes returns a value's memory.
func asBytes[T any](v T) []byte {
	b := make([]byte, unsafe.Sizeof(v))
	*(*T)(unsafe.Pointer(unsafe.SliceData(b))) = v
	return b
}

// bit is 1 for true; the compiler makes no branch of it.
func bit(b bool) (n uint64) {
	if b {
		n = 1
	}
	return n
}

// eachRow asks f for each of n values; for tests that cost more than a call.
func eachRow(dst, mask []uint64, n int, f func(i int) bool) {
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		m := uint64(0)
		for i := w * 64; i < min(w*64+64, n); i++ {
			m |= bit(f(i)) << (i & 63)
		}
		dst[w] = m
	}
}

// A keyTest is a test of an unsigned number: a range, or a set of numbers.
type keyTest struct {
	lo, hi uint64 // nothing passes when lo > hi
	sorted []uint64
	set    *keySet // nil: all from lo to hi
}

// rangeTest passes what an operator with up to two numbers says.
func rangeTest(o op, keys []uint64) keyTest {
	const most = 1<<64 - 1
	k := keys[0]
	none := keyTest{lo: 1}
	switch o {
	case opLess:
		if k == 0 {
			return none
		}
		return keyTest{hi: k - 1}
	case opAtMost:
		return keyTest{hi: k}
	case opGreater:
		if k == most {
			return none
		}
		return keyTest{lo: k + 1, hi: most}
	case opAtLeast:
		return keyTest{lo: k, hi: most}
	case opBetween:
		return keyTest{lo: k, hi: keys[1]}
	case opIn:
		return setTest(keys)
	}
	return keyTest{lo: k, hi: k}
}

// setTest passes the numbers of a list.
func setTest(keys []uint64) keyTest {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	t := keyTest{lo: sorted[0], hi: sorted[len(sorted)-1], sorted: sorted}
	if t.hi-t.lo >= uint64(len(sorted)) {
		t.set = newKeySet(sorted)
	}
	return t
}

func (t *keyTest) passes(k uint64) bool {
	return k >= t.lo && k <= t.hi && (t.set == nil || t.set.has(k))
}

// within reports whether none, or all, of the numbers from least to most pass.
func (t *keyTest) within(least, most uint64) (none, all bool) {
	if t.lo > t.hi || most < t.lo || least > t.hi {
		return true, false
	}
	if t.set == nil {
		return false, t.lo <= least && most <= t.hi
	}
	at, found := slices.BinarySearch(t.sorted, least)
	return at == len(t.sorted) || t.sorted[at] > most, found && least == most
}

// maxMembers is up to how many values are worth to be looked up in a bloom filter.
const maxMembers = 1000

// keys lists the numbers that can pass, or nil.
func (t *keyTest) keys() []uint64 {
	if t.sorted == nil && t.lo == t.hi {
		return []uint64{t.lo}
	}
	if len(t.sorted) > maxMembers {
		return nil
	}
	return t.sorted
}

// A keySet is a set of numbers as a hash table with linear probing, at most a quarter full, so that
// most numbers that it lacks meet a free place at once.
type keySet struct {
	table []uint64
	empty uint64 // marks a free place; not in the set
	shift uint
}

func newKeySet(sorted []uint64) *keySet {
	s := &keySet{shift: 63}
	for 1<<(64-s.shift) < 4*len(sorted) {
		s.shift--
	}
	for _, k := range sorted { // the least number that the set lacks
		if k != s.empty {
			break
		}
		s.empty++
	}
	s.table = make([]uint64, 1<<(64-s.shift))
	for i := range s.table {
		s.table[i] = s.empty
	}
	for _, k := range sorted {
		i := s.place(k)
		for s.table[i] != s.empty {
			i = (i + 1) & (len(s.table) - 1)
		}
		s.table[i] = k
	}
	return s
}

// place is where a number is looked for first: Fibonacci hashing.
func (s *keySet) place(k uint64) int { return int(k * 0x9E3779B97F4A7C15 >> s.shift) }

func (s *keySet) has(k uint64) bool {
	if k == s.empty {
		return false
	}
	for i := s.place(k); ; i = (i + 1) & (len(s.table) - 1) {
		switch s.table[i] {
		case k:
			return true
		case s.empty:
			return false
		}
	}
}
