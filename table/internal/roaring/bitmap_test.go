package roaring

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A container of a test has a key and numbers in order.
type container struct {
	key     uint16
	numbers []uint16
	runs    bool
}

// encode writes one 32-bit bitmap.
func encode(key uint32, containers []container) []byte {
	b := binary.LittleEndian.AppendUint32(nil, key)
	runs := make([]byte, (len(containers)+7)/8)
	hasRuns := false
	for i, c := range containers {
		if c.runs {
			hasRuns = true
			runs[i/8] |= 1 << (i % 8)
		}
	}
	if hasRuns {
		b = binary.LittleEndian.AppendUint32(b, cookieRuns|uint32(len(containers)-1)<<16)
		b = append(b, runs...)
	} else {
		b = binary.LittleEndian.AppendUint32(b, cookieNoRuns)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(containers)))
	}
	for _, c := range containers {
		b = binary.LittleEndian.AppendUint16(b, c.key)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(c.numbers)-1))
	}
	if !hasRuns || len(containers) >= minOffsets {
		b = append(b, make([]byte, 4*len(containers))...) // which are not read
	}
	for _, c := range containers {
		b = c.encode(b)
	}
	return b
}

func (c container) encode(b []byte) []byte {
	switch {
	case c.runs:
		var pairs []uint16
		for i, v := range c.numbers {
			if i > 0 && v == c.numbers[i-1]+1 {
				pairs[len(pairs)-1]++
			} else {
				pairs = append(pairs, v, 0)
			}
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(len(pairs)/2))
		for _, v := range pairs {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	case len(c.numbers) <= maxArray:
		for _, v := range c.numbers {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	default:
		set := make([]byte, setBytes)
		for _, v := range c.numbers {
			set[v/8] |= 1 << (v % 8)
		}
		b = append(b, set...)
	}
	return b
}

// bitmap joins 32-bit bitmaps.
func bitmap(parts ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(parts)))
	return append(b, slices.Concat(parts...)...)
}

func numbers(t *testing.T, b []byte) (all []int64) {
	t.Helper()
	end := int64(-1)
	err := Each(b, func(lo, hi int64) error {
		if lo < end || hi <= lo {
			t.Fatalf("the range from %d to %d follows one to %d", lo, hi, end)
		}
		for end = hi; lo < hi; lo++ {
			all = append(all, lo)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A vector that Delta's other readers have in their tests.
func TestKnown(t *testing.T) {
	b, err := hex.DecodeString("d1d339640100000000000000000000003a3000000100000000000500100000000300040007000b0012001d00")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := numbers(t, b), []int64{3, 4, 7, 11, 18, 29}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// Random containers of all kinds come out as they were written.
func TestEach(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var parts [][]byte
		var want []int64
		key := uint32(0)
		for range random.IntN(3) {
			key += uint32(1 + random.IntN(3))
			var containers []container
			at := 0
			for range 1 + random.IntN(6) {
				c := randomContainer(random)
				c.key = uint16(at)
				at += 1 + random.IntN(100)
				containers = append(containers, c)
				for _, v := range c.numbers {
					want = append(want, int64(key)<<32|int64(c.key)<<16|int64(v))
				}
			}
			parts = append(parts, encode(key, containers))
		}
		if got := numbers(t, bitmap(parts...)); !slices.Equal(got, want) {
			t.Fatalf("%d numbers, want %d", len(got), len(want))
		}
	}
}

// randomContainer has numbers with a random density, and in one of three cases all of them.
func randomContainer(random *rand.Rand) container {
	c := container{runs: random.IntN(2) == 0}
	stay := random.Float64()
	on := random.IntN(2) == 0
	for v := range span {
		if random.Float64() > stay || random.IntN(300) == 0 {
			on = !on
		}
		if on {
			c.numbers = append(c.numbers, uint16(v))
		}
	}
	if len(c.numbers) == 0 {
		c.numbers = []uint16{7}
	}
	return c
}

func TestFrame(t *testing.T) {
	b := bitmap(encode(0, []container{{numbers: []uint16{1, 2, 9}}}))
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
	framed = append(framed, b...)
	framed = binary.BigEndian.AppendUint32(framed, crc32.ChecksumIEEE(b))
	got, err := Frame(framed)
	if err != nil || !slices.Equal(got, b) {
		t.Fatalf("%x, %v, want %x", got, err, b)
	}
	for i := range framed {
		bad := slices.Clone(framed)
		bad[i] ^= 4
		if _, err := Frame(bad); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d is wrong: %v", i, err)
		}
		if _, err := Frame(framed[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
}

// Damage is an error, and never a panic.
func TestDamage(t *testing.T) {
	one := []container{{numbers: []uint16{3, 5}}}
	whole := bitmap(encode(1, one))
	for name, b := range map[string][]byte{
		"empty":           nil,
		"magic":           append([]byte{1}, whole[1:]...),
		"trailing":        append(slices.Clone(whole), 0),
		"keys":            bitmap(encode(1, one), encode(1, one)),
		"large key":       bitmap(encode(1<<31, one)),
		"containers":      bitmap(encode(1, []container{{key: 1, numbers: []uint16{1}}, {key: 1, numbers: []uint16{1}}})),
		"numbers":         bitmap(encode(1, []container{{numbers: []uint16{5, 3}}})),
		"same numbers":    bitmap(encode(1, []container{{numbers: []uint16{5, 5}}})),
		"runs":            bitmap(encode(1, []container{{numbers: []uint16{5, 3}, runs: true}})),
		"many bitmaps":    binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, magic), 1<<63),
		"many containers": bitmap(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(make([]byte, 4), cookieNoRuns), 1<<31)),
		"cookie":          bitmap(make([]byte, 100)),
	} {
		if err := Each(b, func(int64, int64) error { return nil }); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range whole {
		if err := Each(whole[:i], func(int64, int64) error { return nil }); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

// The error of the caller ends the numbers.
func TestEachStops(t *testing.T) {
	stop := errors.New("stop")
	b := bitmap(encode(0, []container{{numbers: []uint16{1, 3, 5}}}))
	calls := 0
	err := Each(b, func(int64, int64) error { calls++; return stop })
	if err != stop || calls != 1 {
		t.Fatalf("%d calls, %v", calls, err)
	}
}

// Any bytes are numbers in order, or damage.
func FuzzEach(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	f.Add(bitmap(encode(0, []container{{numbers: []uint16{1, 2, 9}}, {key: 9, numbers: []uint16{1, 2, 3}, runs: true}})))
	f.Add(bitmap(encode(1, []container{randomContainer(random)}), encode(2, []container{randomContainer(random)})))
	f.Fuzz(func(t *testing.T, b []byte) {
		end := int64(-1)
		err := Each(b, func(lo, hi int64) error {
			if lo < 0 || lo < end || hi <= lo {
				t.Fatalf("the range from %d to %d follows one to %d", lo, hi, end)
			}
			end = hi
			return nil
		})
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if bitmap, err := Frame(b); err == nil && len(bitmap) != len(b)-FrameBytes {
			t.Fatalf("%d bytes of %d", len(bitmap), len(b))
		}
	})
}
