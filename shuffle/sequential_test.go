package shuffle

import (
	"testing"
)

func TestSequenceIsFileOrder(t *testing.T) {
	for n := range uint64(100) {
		r := newRNG("test", 16, n)
		m := randomManifest(&r, 5, 4, 0, 50)
		units := wholeUnits(t, m, int64(r.below(20)))
		s, err := NewSequence(m, ListUnits(units))
		if err != nil {
			t.Fatal(err)
		}
		var want []testRow
		for _, u := range units {
			for row := u.Lo; row < u.Hi; row++ {
				want = append(want, testRow{u.Group, row})
			}
		}
		if s.Rows() != int64(len(want)) {
			t.Fatalf("%d rows of %d", s.Rows(), len(want))
		}
		for range 20 {
			lo := int64(r.below(uint64(s.Rows() + 1)))
			hi := lo + int64(r.below(uint64(s.Rows()-lo+1)))
			p := lo
			s.Spans(lo, hi, func(span Span) {
				u := units[span.Unit]
				if span.From < 0 || span.From >= span.To || span.To > u.Rows() {
					t.Fatalf("span %+v of unit %+v", span, u)
				}
				if first := s.Start(span.Unit) + span.From; first != p || s.UnitAt(p) != span.Unit {
					t.Fatalf("span %+v at position %d, the unit says %d", span, p, first)
				}
				for i := span.From; i < span.To; i++ {
					if row := (testRow{u.Group, u.Lo + i}); row != want[p] {
						t.Fatalf("position %d has %v, not %v", p, row, want[p])
					}
					p++
				}
			})
			if p != hi {
				t.Fatalf("the positions [%d, %d) end at %d", lo, hi, p)
			}
		}
	}
}

// Blocks of ranks, and of workers in them, follow each other and differ by one row at most.
func TestBlocksOfAStep(t *testing.T) {
	for n := range uint64(2000) {
		r := newRNG("test", 17, n)
		world, workers := 1+int(r.below(20)), 1+int(r.below(5))
		pos, rows := int64(r.below(1<<40)), int64(r.below(100))
		if n%2 == 0 {
			rows = rows / int64(world) * int64(world)
		}
		at := pos
		for rank := range world {
			lo, hi := (Worker{Rank: rank, WorldSize: world}).Block(pos, rows)
			if lo != at || hi-lo < rows/int64(world) || hi-lo > ceilDiv(rows, int64(world)) {
				t.Fatalf("rank %d of %d has [%d, %d) of the %d rows from %d", rank, world, lo, hi, rows, pos)
			}
			for worker := range workers {
				from, to := (Worker{Rank: rank, WorldSize: world, Worker: worker, Workers: workers}).Block(pos, rows)
				if from != at || to < from {
					t.Fatalf("worker %d of rank %d has [%d, %d) where %d comes", worker, rank, from, to, at)
				}
				at = to
			}
			if at != hi {
				t.Fatalf("the workers of rank %d end at %d, not %d", rank, at, hi)
			}
		}
		if at != pos+rows {
			t.Fatalf("the ranks end at %d, not %d", at, pos+rows)
		}
	}
}
