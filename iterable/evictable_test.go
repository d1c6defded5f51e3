package iterable

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shuffle"
)

// underestimated is a data set whose blocks are 16 times as large as foretold.
func underestimated(t *testing.T, o Options) *Dataset {
	d := open(t, prefixed(t), o)
	of := d.sources[0].sizes
	right := of.decoded
	of.decoded = func(g int) estimate.Group {
		x := right(g)
		return estimate.Group{Narrow: x.Narrow / 16, Wide: x.Wide / 16}
	}
	return d
}

// settled waits until a stream without a consumer has blocks that it read ahead, and does no work.
func settled(t *testing.T, s *Stream) {
	held := int64(0)
	waitFor(t, func() bool {
		before := held
		time.Sleep(5 * time.Millisecond)
		held = s.account.Used()[mem.Decode]
		return held == before && held > 6<<20
	})
}

// Blocks that are read ahead yield to a batch that is needed now, and their rows come later all the
// same.
func TestEarlyBlocksYield(t *testing.T) {
	d := underestimated(t, Options{Resources: Resources{Memory: 22 << 20}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 2, Parallel: 3, Epochs: 1})
	settled(t, s)
	const batch = 20 << 20
	turn := s.account.Turn()
	if err := turn.Grow(t.Context(), mem.Batch, batch, nil); err != nil {
		t.Fatal(err)
	}
	s.account.Release(mem.Batch, batch)
	turn.Over()
	if rows, err := readAll(t, s); rows != 4800 || !errors.Is(err, io.EOF) {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, most := s.account.Peak(); most > 22<<20 {
		t.Errorf("the account held\n%v", s.account)
	}
}

func readAll(t *testing.T, s *Stream) (rows int, err error) {
	for err == nil {
		var dr *Draw
		if dr, err = s.Next(t.Context()); err == nil {
			rows += len(dr.Picks)
			dr.Release()
		}
	}
	return rows, err
}
