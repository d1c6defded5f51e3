package s3

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
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
	for _, c := range []struct {
		name   string
		ranges []shard.Range
		want   []shard.Span
	}{
		{"nothing", nil, nil},
		{"empty ones", ranges(0, 0, 5, 0), nil},
		{"one", ranges(3, 7), []shard.Span{{Off: 3, N: 7}}},
		{"touching", ranges(0, 10, 10, 10), []shard.Span{{Off: 0, N: 20}}},
		{"a hole", ranges(0, 10, 15, 5), []shard.Span{{Off: 0, N: 20}}},
		{"a hole too long", ranges(0, 10, 16, 4), []shard.Span{{Off: 0, N: 10}, {Off: 16, N: 4}}},
		{"empty ones between", ranges(0, 10, 12, 0, 14, 0, 15, 5, 500, 0), []shard.Span{{Off: 0, N: 20}}},
		{"empty ones do not bridge", ranges(0, 10, 14, 0, 18, 2), []shard.Span{{Off: 0, N: 10}, {Off: 18, N: 2}}},
		{"the longest part", ranges(0, 100), []shard.Span{{Off: 0, N: 100}}},
		{"even parts", ranges(0, 101), []shard.Span{{Off: 0, N: 50}, {Off: 50, N: 51}}},
		{"three parts", ranges(7, 300, 307, 0), []shard.Span{{Off: 7, N: 100}, {Off: 107, N: 100}, {Off: 207, N: 100}}},
		{"cut in a hole", ranges(0, 59, 61, 59), []shard.Span{{Off: 0, N: 60}, {Off: 61, N: 59}}},
	} {
		var got []shard.Span
		for _, p := range plan(c.ranges, 5, 100) {
			got = append(got, shard.Span{Off: p.off, N: p.end - p.off})
		}
		if c.name == "cut in a hole" { // the cut at 60 lies between 59 and 61
			c.want[0].N = 59
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

// TestPlanAndScatter: for random ranges, each byte lands where it is wanted and nowhere else, requests are as few as merging allows, and no
// part is longer than allowed or much shorter than its fellows.
func TestPlanAndScatter(t *testing.T) {
	content := random(1, 40_000)
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
		parts := plan(want, hole, size)
		if most := fewest(want, hole, size); len(parts) > most {
			t.Fatalf("%d parts, %d would do", len(parts), most)
		}
		last := int64(-1)
		for _, p := range parts {
			if p.off <= last || p.end <= p.off || p.end-p.off > size {
				t.Fatalf("part from %d to %d behind %d, of at most %d bytes", p.off, p.end, last, size)
			}
			last = p.end - 1
			pour(t, p, content, r, hole)
		}
		for _, w := range want {
			if !bytes.Equal(w.P, content[w.Off:w.Span().End()]) {
				t.Fatalf("%d bytes from byte %d on are wrong", len(w.P), w.Off)
			}
		}
	}
}

// pour leads a part's bytes into its ranges in pieces of any size.
func pour(t *testing.T, p part, content []byte, r *rand.Rand, hole int64) {
	t.Helper()
	to := newScatter(p, make([]byte, 1+r.IntN(50)))
	over := int64(0)
	for !to.done() {
		next := to.next()
		if len(next) == 0 {
			t.Fatal("no place for the next byte")
		}
		if &next[0] == &to.skipped[0] {
			over++
		} else {
			over = 0
		}
		if over > hole {
			t.Fatal("more was read over than a hole is long")
		}
		n := copy(next, content[to.off:to.off+1+r.Int64N(to.end-to.off)])
		to.took(n)
	}
	if len(to.ranges) != 0 {
		t.Fatalf("%d ranges want more", len(to.ranges))
	}
}

// fewest counts the requests by the definition: bytes that are wanted or lie in a short hole form runs, and a run takes one for each size.
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

// TestPartsAreEven: the defaults cut long runs into parts of 8 to 16 MiB.
func TestPartsAreEven(t *testing.T) {
	whole := make([]byte, 100<<20)
	for n := int64(defaultPartSize) + 1; n <= int64(len(whole)); n += 777_777 {
		for _, p := range plan([]shard.Range{{P: whole[:n]}}, maxHole, defaultPartSize) {
			if got := p.end - p.off; got < defaultPartSize/2 || got > defaultPartSize {
				t.Fatalf("a run of %d bytes has a part of %d", n, got)
			}
		}
	}
}
