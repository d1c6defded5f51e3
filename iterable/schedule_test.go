package iterable

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/shuffle"
)

// allLoads lists a schedule.
func allLoads(s ahead.Schedule) []*ahead.Load {
	var out []*ahead.Load
	for {
		l, ok := s.Next()
		if !ok {
			return out
		}
		out = append(out, l)
	}
}

func laneEpochsOf(t *testing.T, d *Dataset, w shuffle.Worker, start stepper) *laneEpochs {
	t.Helper()
	w.WorldSize, w.Workers = max(w.WorldSize, 1), max(w.Workers, 1)
	p, err := d.sources[0].plan(w.WorldSize, StreamOptions{Tail: start.Tail}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.View(w)
	if err != nil {
		t.Fatal(err)
	}
	return &laneEpochs{plan: p, view: v, start: start, made: map[uint64]*laneEpoch{}}
}

// Each span that a stream needs is wanted once, in the order in which it is needed, and a load
// covers exactly what it is wanted for.
func TestLaneSchedule(t *testing.T) {
	groups, rows := uneven()
	store := files(t, groups, noImage)
	for _, c := range []struct {
		lanes, world        int
		pos, global, buffer int64
		tail                shuffle.Tail
	}{
		{4, 1, 0, 24, 150, "drop"},
		{8, 2, 0, 24, 150, "short"},
		{1, 1, 300, 24, 150, "drop"},
		{6, 3, 411, 24, 150, "pad"},
		{5, 2, 77, 24, 150, "carry"},
		{16, 1, 800, 24, 150, "short"},
		{2, 1, 0, 24, 10000, "drop"}, // all units are there from the start on
		{3, 1, 555, 24, 10000, "carry"},
		{2, 1, 0, 300, 10, "drop"}, // a third of the rows is left out, and the units that hold no others
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			d := open(t, store, Options{Order: Order{Shuffle: true, Lanes: c.lanes}, ShuffleBuffer: Size{Rows: c.buffer}})
			start := stepper{Steps: shuffle.Steps{Rows: rows, GlobalBatch: c.global, Tail: c.tail}, pos: c.pos, end: 2}
			e := laneEpochsOf(t, d, shuffle.Worker{WorldSize: c.world}, start)
			seen := map[ahead.Key]*ahead.Load{}
			var last *ahead.Load
			for _, l := range allLoads(newLaneSchedule(e, d.sources[0].sizes)) {
				if last != nil && l.Wanted[0].Epoch == last.Wanted[0].Epoch && l.Need < last.Need {
					t.Errorf("%d is needed after %d", l.Need, last.Need)
				}
				last = l
				low, high := l.Rows.Hi, l.Rows.Lo
				for _, w := range l.Wanted {
					if seen[w.Key] != nil {
						t.Errorf("%v is wanted twice", w.Key)
					}
					seen[w.Key] = l
					sp := w.Lane.Span(int(w.Span))
					first := e.plan.Units().At(sp.Unit).Lo
					lo, hi := first+sp.From, first+sp.To
					if lo != l.Rows.Lo+int64(w.Offset) || int(sp.Rows()) != w.Rows {
						t.Errorf("%v is rows %d..%d, wanted at %d of %d..%d", w.Key, lo, hi, w.Offset, l.Rows.Lo, l.Rows.Hi)
					}
					low, high = min(low, lo), max(high, hi)
				}
				if low != l.Rows.Lo || high != l.Rows.Hi {
					t.Errorf("rows %d..%d are loaded for %d..%d", l.Rows.Lo, l.Rows.Hi, low, high)
				}
			}
			for epoch := range uint64(2) {
				checkWanted(t, e.at(epoch), seen)
			}
		})
	}
}

// checkWanted compares with what walking the lanes asks for: the spans of all rows that steps take,
// each no later than its first row, and no others but the ones that arrive with them.
func checkWanted(t *testing.T, e *laneEpoch, seen map[ahead.Key]*ahead.Load) {
	t.Helper()
	there := map[ahead.Key]bool{}
	for _, slot := range e.slots {
		it, tick := e.lanes[slot].Iter(), shuffle.Tick{}
		it.SeekRow(e.RowsBefore(e.read.from, slot))
		for it.Next(&tick) && e.position(slot, tick.Row) < e.read.to {
			for _, j := range tick.Load {
				there[ahead.Key{Epoch: e.Number(), Slot: int32(slot), Span: int32(j)}] = true
			}
			for i, p := range tick.Picks {
				k, pos := ahead.Key{Epoch: e.Number(), Slot: int32(slot), Span: int32(p.Span)}, e.position(slot, tick.Row+int64(i))
				switch l := seen[k]; {
				case pos >= e.read.to:
				case l == nil:
					t.Errorf("%v is never loaded", k)
				case l.Need > pos:
					t.Errorf("%v is needed at %d, and said to be at %d", k, pos, l.Need)
				}
			}
		}
	}
	for k := range seen {
		if k.Epoch == e.Number() && !there[k] {
			t.Errorf("%v is loaded for nothing", k)
		}
	}
}

// The position of a lane row is the one whose row it is.
func TestPositionOfALaneRow(t *testing.T) {
	groups, rows := uneven()
	d := open(t, files(t, groups, noImage), Options{Order: Order{Shuffle: true, Lanes: 6, Tail: shuffle.Carry}})
	start := stepper{Steps: shuffle.Steps{Rows: rows, GlobalBatch: 7, Tail: shuffle.Carry}, end: 4}
	l := laneEpochsOf(t, d, shuffle.Worker{}, start)
	for epoch := range uint64(4) {
		e := l.at(epoch)
		next := make([]int64, 6)
		for p := range rows {
			slot := e.Slot(p)
			if got := e.position(slot, next[slot]); got != p {
				t.Fatalf("epoch %d: row %d of slot %d is position %d, want %d", epoch, next[slot], slot, got, p)
			}
			next[slot]++
		}
	}
	l.forget(3)
	if len(l.made) != 1 {
		t.Errorf("%d epochs are kept", len(l.made))
	}
}

// In file order each unit is loaded once an epoch: all of it, or from the stream's first row of it
// to its last when that is little.
func TestFileSchedule(t *testing.T) {
	groups, rows := uneven()
	d := open(t, files(t, groups, noImage), Options{})
	q, err := d.sources[0].sequence(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []shuffle.Worker{{WorldSize: 1, Workers: 1}, {Rank: 1, WorldSize: 3, Workers: 1}, {Rank: 3, WorldSize: 4, Worker: 1, Workers: 2}} {
		start := stepper{Steps: shuffle.Steps{Rows: rows, GlobalBatch: int64(8 * w.WorldSize), Tail: shuffle.Drop}, end: 2}
		o := &fileReading{sequence: q, worker: w, start: start}
		want := map[ahead.Key][2]int64{}
		var keys []ahead.Key
		for steps := start; ; {
			st, ok := steps.next()
			if !ok {
				break
			}
			o.parts(st, func(f fileSpan) {
				k := f.key()
				x, seen := want[k]
				lo := q.Units().At(f.Unit).Lo
				if !seen {
					keys = append(keys, k)
					x = [2]int64{lo + f.From, lo + f.To}
				}
				want[k] = [2]int64{min(x[0], lo+f.From), max(x[1], lo+f.To)}
			})
		}
		var got []ahead.Key
		for _, l := range allLoads(newFileSchedule(o, d.sources[0].sizes)) {
			k := l.Wanted[0].Key
			got = append(got, k)
			x, first := want[k], l.Rows.Lo+int64(l.Wanted[0].Offset)
			if len(l.Wanted) != 1 || first != x[0] || l.Wanted[0].Rows != int(x[1]-x[0]) {
				t.Errorf("%+v: %v is wanted from %d on, %d rows, of %v", w, k, first, l.Wanted[0].Rows, x)
			}
			if u := q.Units().At(int(k.Span)); l.Rows.Hi-l.Rows.Lo != u.Rows() && l.Rows.Hi-l.Rows.Lo != x[1]-x[0] || l.Shared != (w.WorldSize > 1) {
				t.Errorf("%+v: %v is loaded as %d..%d for %v, shared %t", w, k, l.Rows.Lo, l.Rows.Hi, x, l.Shared)
			}
		}
		if !slices.Equal(got, keys) {
			t.Errorf("%+v: loads %v, want %v", w, got, keys)
		}
	}
}
