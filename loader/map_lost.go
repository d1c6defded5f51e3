package loader

import (
	"context"
	"errors"
	"slices"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// take returns the rows of these numbers. Under Skip and Mask it leaves out row groups that are
// lost, and under Mask it fills their places with other rows, behind Valid.
func (m *Map) take(ctx context.Context, rows []int64) (*iterable.Draw, error) {
	good := rows
	for {
		d, err := m.taker.Take(ctx, fill(good, len(rows), m.making.onError))
		if err == nil {
			d.Valid, d.Lost = len(good), len(rows)-len(good)
			return d, nil
		}
		x, rest := m.lost(ctx, good, err)
		if m.making.onError == iterable.Raise || len(rest) == len(good) || len(rest) == 0 && m.making.onError == iterable.Mask {
			return nil, m.making.onError.Hinted(err)
		}
		m.taker.Lose(x, len(good)-len(rest))
		good = rest
	}
}

// fill returns n rows under Mask, the first ones again behind all, and the rows themselves else.
func fill(rows []int64, n int, how iterable.OnError) []int64 {
	if how != iterable.Mask || len(rows) == n {
		return rows
	}
	all := slices.Clip(rows)
	for i := 0; len(all) < n; i++ {
		all = append(all, all[i])
	}
	return all
}

// lost returns the row group that err says is lost, and the rows outside it: all rows if err is
// about something else.
func (m *Map) lost(ctx context.Context, rows []int64, err error) (x iterable.Loss, rest []int64) {
	var e *rowgroup.Error
	if !errors.As(err, &e) || !rowgroup.IsLoss(err) {
		return x, rows
	}
	x = iterable.Loss{URI: e.URI, RowGroup: e.RowGroup, Column: e.Column, Page: e.Page, Err: err}
	shards := m.data.Shards()
	inside := func(g rowgroup.Group) bool {
		return int(g.RowGroup) == e.RowGroup && shards[g.Shard].URI == e.URI
	}
	at := slices.IndexFunc(m.data.Groups(), inside)
	if at < 0 {
		return x, rows
	}
	group := m.data.Groups()[at]
	x.Hi = group.Rows
	for _, row := range rows {
		place, unknown := m.taker.Locate(ctx, row)
		if unknown != nil || place.Shard != int(group.Shard) || place.RowGroup != int(group.RowGroup) {
			rest = append(rest, row)
		}
	}
	return x, rest
}
