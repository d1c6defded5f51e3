package hdfs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

const mib = 1 << 20

// spans makes ranges of pairs of MiB: where they begin, and how long they are.
func spans(pairs ...float64) (ranges []shard.Range) {
	for i := 0; i < len(pairs); i += 2 {
		ranges = append(ranges, shard.Range{Off: int64(pairs[i] * mib), P: make([]byte, int64(pairs[i+1]*mib))})
	}
	return ranges
}

func TestParts(t *testing.T) {
	for _, c := range []struct {
		name   string
		ranges []shard.Range
		block  int64
		want   string // in MiB
	}{
		{"none", nil, 0, ""},
		{"empty", spans(3, 0), 0, ""},
		{"one", spans(3, 1), 0, "3-4"},
		{"small hole", spans(0, 1, 2, 1), 0, "0-3"},
		{"wide hole", spans(0, 1, 2.5, 1), 0, "0-1 2.5-3.5"},
		{"long", spans(0, 100), 0, "0-32 32-64 64-96 96-100"},
		{"a short end stays", spans(0, 34), 0, "0-34"},
		{"ends with blocks", spans(0, 100), 20 * mib, "0-20 20-40 40-60 60-80 80-100"},
		{"begins in a block", spans(15, 30), 20 * mib, "15-20 20-40 40-45"},
		{"begins at its end", spans(18, 30), 20 * mib, "18-40 40-48"},
		{"large blocks", spans(100, 100), 128 * mib, "100-128 128-160 160-192 192-200"},
		{"many ranges", spans(0, 20, 20, 20, 40.5, 20), 0, "0-32 32-60.5"},
		{"cut in a hole", spans(0, 31.5, 32.25, 20), 0, "0-31.5 32.25-52.25"},
	} {
		var got []string
		for _, p := range splitParts(c.ranges, 32*mib, c.block) {
			got = append(got, fmt.Sprintf("%v-%v", float64(p.off())/mib, float64(p.end())/mib))
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: %s, want %s", c.name, g, c.want)
		}
	}
}

// TestPartsCover: whatever the ranges, parts hold each of their bytes once, in order, and no wide hole.
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
		for _, p := range splitParts(ranges, size, block) {
			if p.off() < last {
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
			last = p.end()
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
