package scan

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// New returns a [table.Scan] of the shards of a store.
func New(store shard.Store) table.Scan {
	return func(ctx context.Context, s shard.Shard, fields []table.Field, each func(first int64, columns []*column.Array) error) error {
		part := rowgroup.Part{Shards: []shard.Shard{s}, Table: &rowgroup.Table{Address: s.URI, Fields: numbered(fields), AsStored: true}}
		readers, err := rowgroup.OpenParts(ctx, store, []rowgroup.Part{part}, rowgroup.Options{Parallel: 1})
		if err != nil {
			return err
		}
		x := scanner{reader: readers[0], fields: fields, each: each, decoder: readers[0].NewDecoder()}
		x.arena = x.pool.NewArena()
		err = x.run(ctx)
		x.close()
		return errors.Join(err, readers[0].Close())
	}
}

// numbered are fields whose names are their places, by which [placed] finds them.
func numbered(fields []table.Field) []table.Field {
	all := slices.Clone(fields)
	for i := range all {
		all[i].Column = &column.Field{Name: strconv.Itoa(i)}
		all[i].Parts = numbered(all[i].Parts)
	}
	return all
}

// placed puts arrays into the places of fields.
func placed(arrays []*column.Array, fields []table.Field) []*column.Array {
	all := make([]*column.Array, len(fields))
	for _, a := range arrays {
		i, err := strconv.Atoi(a.Field.Name)
		if err != nil || i >= len(fields) {
			continue
		}
		all[i] = within(a, fields[i].Parts)
	}
	return all
}

// within is an array whose structs have their members in the places of parts.
func within(a *column.Array, parts []table.Field) *column.Array {
	if len(parts) == 0 {
		return a
	}
	switch a.Field.Kind {
	case column.Struct:
		a.Children = placed(a.Children, parts)
	case column.List:
		within(a.Children[0], parts[0].Parts)
	case column.Map:
		for i, member := range a.Children[0].Children {
			if i < len(parts[0].Parts) {
				within(member, parts[0].Parts[i].Parts)
			}
		}
	}
	return a
}

const (
	stepBytes   = 32 << 20 // about the memory of the rows that are decoded at once
	stepRows    = 1024     // the fewest of them
	gatherRows  = 8192     // rows for each
	gatherBytes = 8 << 20  // memory of these, unless one row takes more
)

var errGathered = errors.New("the rows take too much memory together")

// A scanner reads one file.
type scanner struct {
	reader  *rowgroup.Reader
	fields  []table.Field
	each    func(first int64, columns []*column.Array) error
	decoder *rowgroup.Decoder

	gatherer rowgroup.Gatherer
	pool     mem.Pool
	arena    *mem.Arena
}

func (x *scanner) close() {
	x.decoder.Close()
	x.arena.Free()
	x.pool.Trim(0)
}

func (x *scanner) run(ctx context.Context) error {
	if len(x.reader.Schema().Fields) == 0 {
		return nil
	}
	for g := range x.reader.Groups() {
		if err := x.group(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// group reads a row group, some rows at a time.
func (x *scanner) group(ctx context.Context, g int) error {
	group := x.reader.Groups()[g]
	raw, err := x.reader.Fetch(ctx, rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows})
	if err != nil {
		return err
	}
	defer raw.Release()
	narrow, wide := x.reader.DecodedBytes(g)
	step := max(stepRows, mem.MulDiv(group.Rows, stepBytes, narrow+wide+1))
	for lo := int64(0); lo < group.Rows; {
		hi := min(group.Rows, lo+step)
		err := x.step(ctx, raw, group.First, lo, hi)
		if errors.Is(err, rowgroup.ErrTooLarge) && hi-lo > 1 { // these rows are longer than most
			step = max(1, (hi-lo)/2)
			continue
		}
		if err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// step decodes rows of a row group, and hands them on.
func (x *scanner) step(ctx context.Context, raw *rowgroup.Raw, first, lo, hi int64) error {
	raw.Narrow(lo, hi)
	var blocks []*rowgroup.Block
	err := raw.Refetching(ctx, func() (err error) {
		blocks, err = x.decoder.Decode(raw, rowgroup.Layout{})
		return err
	})
	if err != nil {
		return err
	}
	defer blocks[0].Release()
	for at := lo; at < hi; {
		n := min(gatherRows, hi-at)
		columns, err := x.gather(blocks, int(at-lo), int(n))
		for ; errors.Is(err, errGathered); columns, err = x.gather(blocks, int(at-lo), int(n)) {
			n = (n + 1) / 2
		}
		if err == nil {
			err = x.each(first+at, placed(columns, x.fields))
		}
		if err != nil {
			return err
		}
		at += n
	}
	return ctx.Err()
}

// gather copies n rows of a block into arrays.
func (x *scanner) gather(blocks []*rowgroup.Block, first, n int) (columns []*column.Array, err error) {
	x.arena.Free()
	picks := make([]rowgroup.Pick, n)
	for i := range picks {
		picks[i] = rowgroup.MakePick(0, first+i)
	}
	total := 0
	room := func(size int) ([]byte, error) {
		if total += size; total > gatherBytes && n > 1 {
			return nil, errGathered
		}
		return x.arena.Alloc(size), nil
	}
	for c, f := range x.reader.Schema().Fields {
		a, err := x.gatherer.Gather(c, rowgroup.Timestamps(f), blocks, picks, room)
		if err != nil {
			return nil, err
		}
		columns = append(columns, a)
	}
	return columns, nil
}
