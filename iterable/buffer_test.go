package iterable

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/shuffle"
)

// held makes the buffer of a stream without a reader, and the residents of all row groups of its
// data set.
func held(t *testing.T, d *Dataset) (*buffer, []*resident) {
	t.Helper()
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Shuffle: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	b := &buffer{ahead: d.readAhead(d.sources[0].manifest, ahead.Options{Account: a})}
	var all []*resident
	for g, group := range d.sources[0].manifest.Groups() {
		l := d.sources[0].sizes.newLoad(shuffle.Unit{Group: g, Hi: group.Rows}, shuffle.Span{To: group.Rows}, true)
		l.Wanted = []ahead.Wanted{{Rows: int(group.Rows)}}
		if err := b.ahead.LoadNow(t.Context(), l, new(Trail)); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.admit(l)...)
	}
	t.Cleanup(func() {
		if used := a.Used(); used != (mem.Amounts{}) {
			t.Errorf("still taken: %v", used)
		}
	})
	return b, all
}

// What has left is freed when the draw that holds the last of it and all draws before are released,
// and not sooner, in whatever order they are.
func TestBufferFreesBehindTheDraws(t *testing.T) {
	d := open(t, files(t, [][]int{{5, 5, 5, 5, 5, 5, 5, 5}}, noImage), Options{})
	r := rand.New(rand.NewPCG(2, 3))
	for range 50 {
		b, all := held(t, d)
		holds := make([]*hold, len(all))
		leaves := make([]int64, len(all)) // the draw with which each leaves
		for i, x := range all {
			holds[i] = x.hold
			leaves[i] = 1 + int64(i/2)
		}
		const draws = 4
		open := []int64{1, 2, 3, 4}
		for n := int64(1); n <= draws; n++ {
			b.begin(n)
			for i, x := range all {
				if leaves[i] == n {
					b.left(x, 3, n)
					if x.hold == nil {
						t.Fatal("a span left before its last row did")
					}
					b.left(x, 5, n)
				}
			}
		}
		for len(open) > 0 {
			k := r.IntN(len(open))
			b.release(open[k])
			open = slices.Delete(open, k, k+1)
			for i, h := range holds {
				free := len(open) == 0 || leaves[i] < open[0]
				if free != (h.users == 0) {
					t.Fatalf("draws %v are out, the block that left with draw %d has %d users", open, leaves[i], h.users)
				}
			}
		}
		if !b.idle() || len(b.queue) != 0 {
			t.Fatalf("idle %t, %d in the queue", b.idle(), len(b.queue))
		}
	}
}

// The blocks of a load's parts are freed one by one as their rows leave; the account follows.
func TestBufferFreesParts(t *testing.T) {
	d := open(t, pictures(t), Options{})
	b, all := held(t, d)
	x := all[0]
	if x.parts < 2 {
		t.Fatalf("%d parts", x.parts)
	}
	used := func() int64 { return b.ahead.Account.Used()[mem.Shuffle] }
	held := func() int64 {
		n := int64(0)
		for _, b := range x.hold.Blocks {
			if b != nil {
				n += b.Bytes()
			}
		}
		return n
	}
	before, block := used(), held()
	for p := range x.parts - 1 {
		b.left(x, ahead.PartEnd(x.rows, x.parts, p)-1, 0)
		if used() != before {
			t.Fatalf("part %d was freed before its last row left", p)
		}
		b.left(x, ahead.PartEnd(x.rows, x.parts, p), 0)
		freed := before - used()
		if freed < block/int64(x.parts)/2 || held() != block-freed {
			t.Fatalf("part %d of blocks of %d bytes: %d are freed, the blocks say %d", p, block, freed, block-held())
		}
		before, block = before-freed, block-freed
	}
	for _, x := range all {
		b.drop(x, 0)
	}
}

// The queue does not grow without end while the oldest draw is held.
func TestBufferQueueIsCompacted(t *testing.T) {
	d := open(t, files(t, [][]int{{5}}, noImage), Options{})
	b, all := held(t, d)
	h := all[0].hold
	h.users = 1 << 20
	for n := int64(1); n <= 5000; n++ {
		b.begin(n)
		b.free(leftovers{draw: n, hold: h})
		if n > 3 {
			b.release(n - 3)
		}
	}
	if len(b.queue) > 2100 {
		t.Errorf("the queue is %d long for 3 draws", len(b.queue))
	}
	for n := int64(4998); n <= 5000; n++ {
		b.release(n)
	}
	h.users = 1
	b.drop(all[0], 0)
}
