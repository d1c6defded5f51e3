package shuffle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		tail           Tail
		rows, g, from  int64
		count          int64
		lastPos, lastN int64 // of the last step
		next           int64
	}{
		{Drop, 100, 10, 0, 10, 90, 10, 0},
		{Drop, 109, 10, 0, 10, 90, 10, 0},
		{Drop, 109, 10, 95, 1, 95, 10, 0},
		{Pad, 109, 10, 0, 11, 100, 9, 0},
		{Pad, 100, 10, 0, 10, 90, 10, 0},
		{Short, 109, 10, 100, 1, 100, 9, 0},
		{Short, 3, 10, 0, 1, 0, 3, 0},
		{Carry, 109, 10, 0, 10, 90, 10, -9},
		{Carry, 109, 10, -9, 11, 91, 10, -8},
		{Carry, 100, 10, 0, 10, 90, 10, 0},
		{Carry, 3, 10, 0, 0, 0, 3, -3},
		{Carry, 3, 10, -9, 1, -9, 10, -2},
	} {
		t.Run(fmt.Sprintf("%+v", c.tail), func(t *testing.T) {
			s := Steps{Rows: c.rows, GlobalBatch: c.g, Tail: c.tail}
			if got := s.Count(c.from); got != c.count {
				t.Errorf("%+v: %d steps", c, got)
			}
			if pos, n := s.At(c.from, max(0, c.count-1)); pos != c.lastPos || n != c.lastN {
				t.Errorf("%+v: last step at %d of %d rows", c, pos, n)
			}
			if got := s.Next(c.from); got != c.next {
				t.Errorf("%+v: the next epoch begins at %d", c, got)
			}
		})
	}
}

// Whatever the tail, the steps of many epochs take every row once, except the rows that Drop leaves
// out.
func TestStepsTakeEachRow(t *testing.T) {
	r := newRNG("test", 7)
	for n := range 2000 {
		s := Steps{Rows: 1 + int64(r.below(60)), GlobalBatch: 1 + int64(r.below(30)), Tail: []Tail{Drop, Pad, Short, Carry}[n%4]}
		const epochs = 7
		taken, from, steps := int64(0), int64(0), int64(0)
		for range epochs {
			count := s.Count(from)
			for i := range count {
				_, rows := s.At(from, i)
				taken += rows
			}
			steps += count
			from = s.Next(from)
		}
		want := epochs * s.Rows
		switch s.Tail {
		case Drop:
			want -= epochs * (s.Rows % s.GlobalBatch)
		case Carry:
			want -= want % s.GlobalBatch
			if steps != want/s.GlobalBatch {
				t.Errorf("%+v: %d steps", s, steps)
			}
		}
		if taken != want {
			t.Errorf("%+v: %d rows of %d taken", s, taken, want)
		}
	}
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		tail  Tail
		pos   int64
		epoch uint64
		want  int64
	}{
		{Drop, 0, 3, 0},
		{Drop, 90, 3, 90},
		{Drop, 99, 3, 99},
		{Drop, 100, 4, 0},
		{Drop, 109, 4, 0},
		{Pad, 100, 3, 100},
		{Pad, 109, 4, 0},
		{Short, 108, 3, 108},
		{Short, 109, 4, 0},
		{Carry, 100, 3, 100},
		{Carry, 109, 4, 0},
		{Carry, 111, 4, 2},
		{Carry, 330, 6, 3},
	} {
		t.Run(fmt.Sprintf("%+v", c.tail), func(t *testing.T) {
			s := Steps{Rows: 109, GlobalBatch: 10, Tail: c.tail}
			if e, pos := s.Normalize(3, c.pos); e != c.epoch || pos != c.want {
				t.Errorf("%s %d: epoch %d position %d", c.tail, c.pos, e, pos)
			}
		})
	}
}

func TestStepsRefuse(t *testing.T) {
	var few *Error
	if err := (Steps{Rows: 10, GlobalBatch: 16, Tail: Drop}).Validate(); !errors.As(err, &few) || few.Field != "tail" ||
		!strings.Contains(err.Error(), "10 rows") || !strings.Contains(err.Error(), "16") {
		t.Errorf("10 rows under drop: %v", err)
	}
	for _, s := range []Steps{{Rows: 10, GlobalBatch: 16, Tail: Pad}, {Rows: 10, GlobalBatch: 10, Tail: Drop}, {Rows: 0, GlobalBatch: 1, Tail: Short}} {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []Steps{{Rows: 10, Tail: Pad}, {Rows: -1, GlobalBatch: 1, Tail: Pad}, {Rows: 10, GlobalBatch: 1, Tail: "wrap"}, {Rows: 10, GlobalBatch: 1}} {
		if err := s.Validate(); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// Under carry the lanes run on: steps across the end of an epoch take the next epoch's rows, each
// once, in any world.
func TestCarryAcrossEpochs(t *testing.T) {
	for n := range cases(t, 100) {
		r := newRNG("test", 8, n)
		m := randomManifest(&r, 4, 3, 1, 40)
		p := newPlan(t, m, Options{Buffer: 1 + int64(r.below(60)), WorldSize: 1 + int(r.below(6)), Tail: Carry}, n)
		const epochs = 4
		var order [][]testRow
		lanes := make([][]testRow, p.params.Lanes) // from epoch 0 on, one epoch after the other
		for e := range uint64(epochs) {
			ep := p.Epoch(e)
			order = append(order, epochRows(t, ep))
			for slot := range lanes {
				lanes[slot] = append(lanes[slot], laneRows(ep.Lane(slot))...)
			}
		}
		world := 1 + int(r.below(9))
		g := int64(world) * int64(1+r.below(12))
		for pos := int64(0); pos+g <= epochs*p.Rows(); pos += g {
			var want, got []testRow
			for x := pos; x < pos+g; x++ {
				want = append(want, order[x/p.Rows()][x%p.Rows()])
			}
			for rank := range world {
				v, err := p.View(Worker{Rank: rank, WorldSize: world})
				if err != nil {
					t.Fatal(err)
				}
				rows := shareRows(t, v, p.Epoch(0), pos, g, lanes)
				if len(rows) != int(g)/world {
					t.Fatalf("case %d: rank %d of %d has %d rows", n, rank, world, len(rows))
				}
				got = append(got, rows...)
				// The same step told from the epoch that it begins in.
				e := p.Epoch(uint64(pos / p.Rows()))
				own := make([][]testRow, len(lanes))
				for slot := range lanes {
					before := int64(0)
					for k := range e.number {
						before += p.Epoch(k).LaneRows(slot)
					}
					own[slot] = lanes[slot][before:]
				}
				again := shareRows(t, v, e, pos%p.Rows(), g, own)
				for i := range rows {
					if rows[i] != again[i] {
						t.Fatalf("case %d: step at %d told from epoch %d differs", n, pos, e.number)
					}
				}
			}
			if !sameRows(got, want) {
				t.Fatalf("case %d: the step at %d has other rows", n, pos)
			}
		}
	}
}

func sameRows(a, b []testRow) bool {
	count := map[testRow]int{}
	for _, r := range a {
		count[r]++
	}
	for _, r := range b {
		count[r]--
	}
	for _, c := range count {
		if c != 0 {
			return false
		}
	}
	return true
}

// A window is a slice of an epoch's steps, and a state within it ends where the window does.
func TestWindow(t *testing.T) {
	for _, tail := range []Tail{Drop, Pad, Short} {
		for rows := int64(1); rows <= 14; rows++ {
			for global := int64(1); global <= 4; global++ {
				whole := Steps{Rows: rows, GlobalBatch: global, Tail: tail}
				for skip := range int64(6) {
					for take := range int64(6) {
						checkWindow(t, whole, skip, take)
					}
				}
			}
		}
	}
	if _, err := (Steps{Rows: 10, GlobalBatch: 2, Tail: Carry}).Window(0, 2); err == nil {
		t.Error("a window of epochs that carry rows over")
	}
}

func checkWindow(t *testing.T, whole Steps, skip, take int64) {
	t.Helper()
	count := whole.Count(0)
	w, err := whole.Window(skip, take)
	if skip > 0 && skip >= count {
		if err == nil {
			t.Errorf("%+v: skip %d leaves nothing, and is no error", whole, skip)
		}
		return
	}
	if err != nil && count > 0 {
		t.Fatalf("%+v: skip %d, take %d: %v", whole, skip, take, err)
	}
	want := count - skip
	if take > 0 {
		want = min(want, take)
	}
	for n := int64(0); n <= want; n++ {
		if got := w.Count(w.Begin(0) + n*w.GlobalBatch); got != want-n {
			t.Errorf("%+v: skip %d, take %d: %d steps are left after %d, want %d", whole, skip, take, got, n, want-n)
		}
	}
	if epoch, pos := w.Normalize(3, w.Begin(0)+want*w.GlobalBatch); epoch != 4 || pos != 0 {
		t.Errorf("%+v: skip %d, take %d: the end is epoch %d, position %d", whole, skip, take, epoch, pos)
	}
}
