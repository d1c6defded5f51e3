package rowio

import (
	"context"
	"errors"
	"io"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// TakeChosen reads some of the rows that a rule chooses, by their ascending numbers, and hands them
// on as Take does. It streams up to the last one: only evaluating the rule finds them.
func TakeChosen(ctx context.Context, ds *iterable.Dataset, shape *loader.Shape, rows []int64, do func(columns []*column.Array, n int) error) (err error) {
	if len(rows) == 0 {
		return nil
	}
	t := Taker{manifest: ds.Manifest(), gather: NewGather(shape), do: do}
	defer t.gather.Close()
	s, err := ds.Stream(ctx, shuffle.Worker{WorldSize: 1, Workers: 1}, iterable.StreamOptions{BatchSize: MaxGather, Tail: shuffle.Short, Epochs: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for len(rows) > 0 {
		draw, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		var picks []rowgroup.Pick
		for len(rows) > 0 && rows[0] < draw.Position+int64(draw.Valid) {
			picks = append(picks, draw.Picks[rows[0]-draw.Position])
			rows = rows[1:]
		}
		if len(picks) > 0 {
			err = t.hand(draw.Blocks, picks)
		}
		draw.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
