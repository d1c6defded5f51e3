package rowio

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/table"
)

// Take reads rows by ascending numbers in the data set, and hands them on in that order, many
// at once. It reads only their pages if the file has a page index, else their column chunks. The
// arguments of do are valid until it returns.
func Take(ctx context.Context, ds *iterable.Dataset, shape *loader.Shape, rows []int64, do func(columns []*column.Array, n int) error) error {
	t := NewTaker(ds.Manifest(), shape, do)
	t.transform = ds.Transform
	return t.take(ctx, rows)
}

// TakeOf is Take of a manifest.
func TakeOf(ctx context.Context, m *rowgroup.Reader, shape *loader.Shape, rows []int64, do func(columns []*column.Array, n int) error) error {
	return NewTaker(m, shape, do).take(ctx, rows)
}

// take reads rows, and closes the taker.
func (t *Taker) take(ctx context.Context, rows []int64) error {
	defer t.Close()
	first := int64(0)
	for g, group := range t.manifest.Groups() {
		n, _ := slices.BinarySearch(rows, first+group.Rows)
		if err := t.group(ctx, g, group, first, rows[:n]); err != nil {
			return err
		}
		rows, first = rows[n:], first+group.Rows
	}
	return nil
}

// A Taker reads rows by their numbers.
type Taker struct {
	manifest *rowgroup.Reader
	do       func(columns []*column.Array, n int) error

	decoder *rowgroup.Decoder
	gather  *Gather

	transform func(d *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32) error // nil leaves values as they are
}

// NewTaker makes a Taker that hands rows on to do.
func NewTaker(m *rowgroup.Reader, shape *loader.Shape, do func(columns []*column.Array, n int) error) *Taker {
	return &Taker{manifest: m, gather: NewGather(shape), do: do, decoder: m.NewDecoder()}
}

// Close frees the memory.
func (t *Taker) Close() {
	t.decoder.Close()
	t.gather.Close()
}

// All reads all rows of group g that are live.
func (t *Taker) All(ctx context.Context, g int, live *table.Live) error {
	const atOnce = 1 << 20
	group := t.manifest.Groups()[g]
	var rows []int64
	for lo := int64(0); lo < group.Rows; lo += atOnce {
		rows = rows[:0]
		for row := lo; row < min(group.Rows, lo+atOnce); row++ {
			if live.Has(g, row) {
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := t.span(ctx, g, group, 0, rows); err != nil {
			return err
		}
	}
	return nil
}

// group reads rows of group g, whose first row is number first. Rows of one page are read together.
func (t *Taker) group(ctx context.Context, g int, group rowgroup.Group, first int64, rows []int64) error {
	edges := t.manifest.PageEdges(g)
	for len(rows) > 0 {
		n := len(rows)
		if len(edges) > 0 {
			next, _ := slices.BinarySearch(edges, rows[0]-first+1)
			if next < len(edges) {
				n, _ = slices.BinarySearch(rows, first+edges[next])
			}
		}
		if err := t.span(ctx, g, group, first, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// stepBytes is about the memory of the rows that are decoded together.
const stepBytes = 64 << 20

// span fetches a run of rows and hands on the wanted ones. It decodes a step of rows at a time.
func (t *Taker) span(ctx context.Context, g int, group rowgroup.Group, first int64, rows []int64) error {
	span := rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Lo: rows[0] - first, Hi: rows[len(rows)-1] - first + 1}
	raw, err := t.manifest.Fetch(ctx, span)
	if err != nil {
		return err
	}
	defer raw.Release()
	narrow, wide := t.manifest.DecodedBytes(g)
	step := max(MaxGather, mem.MulDiv(group.Rows, stepBytes, narrow+wide+1))
	for len(rows) > 0 {
		n, _ := slices.BinarySearch(rows, rows[0]+step)
		err := t.step(ctx, raw, first, rows[:n])
		if errors.Is(err, rowgroup.ErrTooLarge) && n > 1 { // these rows are longer than most
			step = max(1, min(step, rows[n-1]-rows[0])/2)
			continue
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// step decodes some of the rows that were fetched and hands them on.
func (t *Taker) step(ctx context.Context, raw *rowgroup.Raw, first int64, rows []int64) error {
	lo := rows[0] - first
	raw.Narrow(lo, rows[len(rows)-1]-first+1)
	var blocks []*rowgroup.Block
	err := raw.Refetching(ctx, func() (err error) {
		blocks, err = t.decoder.Decode(raw, rowgroup.Layout{})
		return err
	})
	if err != nil {
		return err
	}
	defer blocks[0].Release()
	if t.transform != nil {
		wanted := make([]uint32, len(rows))
		for i, row := range rows {
			wanted[i] = uint32(row - first - lo)
		}
		if err := t.transform(t.decoder, blocks, wanted); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(rows, MaxGather) {
		picks := make([]rowgroup.Pick, len(some))
		for i, row := range some {
			picks[i] = rowgroup.MakePick(0, int(row-first-lo))
		}
		if err := t.hand(blocks, picks); err != nil {
			return err
		}
	}
	return nil
}

func (t *Taker) hand(blocks []*rowgroup.Block, picks []rowgroup.Pick) error {
	for len(picks) > 0 {
		columns, n, err := t.gather.First(blocks, picks)
		if err == nil {
			err = t.do(columns, n)
		}
		if err != nil {
			return err
		}
		picks = picks[n:]
	}
	return nil
}
