package driver_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// ranges makes ranges out of pairs of offset and length.
func ranges(pairs ...int64) []shard.Range {
	var all []shard.Range
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, shard.Range{Off: pairs[i], P: make([]byte, pairs[i+1])})
	}
	return all
}

func TestPlan(t *testing.T) {
	const m = 1 << 20
	small, large := driver.Sizes{Hole: 5, Size: 100}, driver.Sizes{Hole: m, Size: 32 * m, Least: 4 * m}
	blocks := func(size int64) driver.Sizes {
		s := large
		s.Block = size
		return s
	}
	for _, c := range []struct {
		name   string
		shape  driver.Sizes
		unit   int64 // of ranges and want
		ranges []int64
		want   string
	}{
		{"nothing", small, 1, nil, ""},
		{"empty ones", small, 1, []int64{0, 0, 5, 0}, ""},
		{"one", small, 1, []int64{3, 7}, "3-10"},
		{"touching", small, 1, []int64{0, 10, 10, 10}, "0-20"},
		{"a hole", small, 1, []int64{0, 10, 15, 5}, "0-20"},
		{"a hole too long", small, 1, []int64{0, 10, 16, 4}, "0-10 16-20"},
		{"empty ones between", small, 1, []int64{0, 10, 12, 0, 14, 0, 15, 5, 500, 0}, "0-20"},
		{"empty ones do not bridge", small, 1, []int64{0, 10, 14, 0, 18, 2}, "0-10 18-20"},
		{"the longest part", small, 1, []int64{0, 100}, "0-100"},
		{"even parts", small, 1, []int64{0, 101}, "0-50 50-101"},
		{"three parts", small, 1, []int64{7, 300, 307, 0}, "7-107 107-207 207-307"},
		{"cut in a hole", small, 1, []int64{0, 59, 61, 59}, "0-59 61-120"},
		{"many ranges", large, m, []int64{0, 20, 20, 20, 41, 23}, "0-32 32-64"},
		{"ends with blocks", blocks(20 * m), m, []int64{0, 100}, "0-20 20-40 40-60 60-80 80-100"},
		{"begins in a block", blocks(20 * m), m, []int64{15, 30}, "15-20 20-40 40-45"},
		{"begins at its end", blocks(20 * m), m, []int64{18, 30}, "18-40 40-48"},
		{"large blocks", blocks(128 * m), m, []int64{100, 100}, "100-128 128-160 160-192 192-200"},
		{"a short end stays", blocks(128 * m), m, []int64{0, 34}, "0-34"},
		{"small blocks", blocks(m), m, []int64{0, 70}, "0-32 32-64 64-70"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.ranges {
				c.ranges[i] *= c.unit
			}
			var got []string
			for _, p := range driver.Plan(ranges(c.ranges...), c.shape) {
				got = append(got, fmt.Sprintf("%d-%d", p.Off()/c.unit, p.End()/c.unit))
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("%s, want %s", g, c.want)
			}
		})
	}
}

// TestPlanAndFill: for random ranges, each byte lands where it is wanted and nowhere else, requests
// are as few as merging allows, and no part is longer than allowed or much shorter than its
// fellows.
func TestPlanAndFill(t *testing.T) {
	content := make([]byte, 40_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		hole, size := r.Int64N(300), 1+r.Int64N(3000)
		var want []shard.Range
		for off := r.Int64N(5000); ; off += r.Int64N(2) * r.Int64N(600) {
			n := r.Int64N(2) * r.Int64N(4000)
			if off+n > int64(len(content)) || len(want) == 20 {
				break
			}
			want = append(want, shard.Range{Off: off, P: make([]byte, n)})
			off += n
		}
		parts := driver.Plan(want, driver.Sizes{Hole: hole, Size: size})
		if most := fewest(want, hole, size); len(parts) > most {
			t.Fatalf("%d parts, %d would do", len(parts), most)
		}
		last := int64(-1)
		for _, p := range parts {
			if p.Off() <= last || p.End() <= p.Off() || p.End()-p.Off() > size {
				t.Fatalf("part from %d to %d behind %d, of at most %d bytes", p.Off(), p.End(), last, size)
			}
			last = p.End() - 1
			pour(t, p, content, r)
		}
		for _, w := range want {
			if !bytes.Equal(w.P, content[w.Off:w.Span().End()]) {
				t.Fatalf("%d bytes from byte %d on are wrong", len(w.P), w.Off)
			}
		}
	}
}

// pour leads a part's bytes into its ranges in pieces of any size.
func pour(t *testing.T, p driver.Part, content []byte, r *rand.Rand) {
	t.Helper()
	to := driver.NewFill(p)
	defer to.Close()
	for next := to.Next(); next != nil; next = to.Next() {
		if int64(len(next)) > to.Left() {
			t.Fatalf("%d bytes are wanted of %d that are left", len(next), to.Left())
		}
		to.Took(copy(next, content[to.Off():to.Off()+1+r.Int64N(to.Left())]))
	}
	if to.Off() != p.End() || to.Left() != 0 {
		t.Fatalf("it ended at byte %d of %d", to.Off(), p.End())
	}
}

// fewest counts the requests by the definition: bytes that are wanted or lie in a short hole form
// runs, and a run takes one for each size.
func fewest(want []shard.Range, hole, size int64) int {
	n, start, end := 0, int64(-1), int64(-1)
	flush := func() {
		if start >= 0 {
			n += int((end - start + size - 1) / size)
		}
	}
	for _, w := range want {
		if len(w.P) == 0 {
			continue
		}
		if start < 0 || w.Off-end > hole {
			flush()
			start = w.Off
		}
		end = w.Span().End()
	}
	flush()
	return n
}

// TestPartsAreEven: long runs are cut into parts of half a part's size at least.
func TestPartsAreEven(t *testing.T) {
	const size = 16 << 20
	whole := make([]byte, 100<<20)
	for n := int64(size) + 1; n <= int64(len(whole)); n += 777_777 {
		for _, p := range driver.Plan([]shard.Range{{P: whole[:n]}}, driver.Sizes{Hole: 1 << 20, Size: size}) {
			if got := p.End() - p.Off(); got < size/2 || got > size {
				t.Fatalf("a run of %d bytes has a part of %d", n, got)
			}
		}
	}
}

// TestPartsCover: whatever the ranges and blocks, parts hold each of their bytes once and in order.
func TestPartsCover(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		file := make([]byte, 3<<10)
		var ranges []shard.Range
		for off := r.IntN(100); off < len(file); off += r.IntN(300) {
			n := min(r.IntN(700), len(file)-off)
			ranges = append(ranges, shard.Range{Off: int64(off), P: file[off : off+n]})
			off += n
		}
		size, block := int64(1+r.IntN(1000)), int64(r.IntN(800))
		last := int64(0)
		for _, p := range driver.Plan(ranges, driver.Sizes{Hole: r.Int64N(200), Size: size, Block: block, Least: r.Int64N(100)}) {
			if p.Off() < last {
				t.Fatal("parts overlap")
			}
			for _, x := range p {
				for i := range x.P {
					if &x.P[i] != &file[int(x.Off)+i] {
						t.Fatal("a range fills another's memory")
					}
					x.P[i]++
				}
			}
			last = p.End()
		}
		want := make([]byte, len(file))
		for _, x := range ranges {
			for i := range x.P {
				want[int(x.Off)+i] = 1
			}
		}
		if string(want) != string(file) {
			t.Fatalf("size %d, block %d: not each byte once", size, block)
		}
	}
}
