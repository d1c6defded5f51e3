package tables

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/scan"
)

// defaultParallel is the requests at a time to a store that has no limit.
const defaultParallel = 16

// Open opens the table that addresses name, or returns nil. snapshot chooses one of its
// snapshots, "" the latest. kept has deleted rows that earlier openings found.
func Open(ctx context.Context, store shard.Store, formats table.Formats, addresses []string, snapshot string, kept table.Keeper) (*table.Snapshot, error) {
	if err := check(formats, addresses, snapshot); err != nil || !table.AnyTable(addresses) {
		return nil, err
	}
	address := addresses[0]
	_, at := table.Cut(address)
	t, err := formats.Open(ctx, address, table.Options{
		Store: store, Scan: scan.New(store), Snapshot: snapshot, Parallel: cmp.Or(shard.RemoteOf(store).Parallel(at), defaultParallel),
		Keeper: kept,
	})
	if err != nil {
		return nil, err
	}
	t.Asked = snapshot
	for i := range t.Files {
		s := &t.Files[i].Shard
		s.Immutable = s.Version == ""
	}
	shard.Sort(t.Files, func(f *table.File) string { return f.Shard.URI })
	return t, nil
}

// check refuses a snapshot without a table, and a table beside other addresses.
func check(formats table.Formats, addresses []string, snapshot string) error {
	any := table.AnyTable(addresses)
	if !any && snapshot != "" {
		return option.NewError("Snapshot", "is of a table, and no address names one, as "+option.Literal("delta+s3://bucket/table")+" does")
	}
	var text string
	switch {
	case any && len(addresses) > 1:
		text = fmt.Sprintf("a table must be one address, got %d; read several as {Sources}", len(addresses))
	case any && formats == nil:
		text = "this program has no formats of tables"
	default:
		return nil
	}
	return &shard.Error{Op: "table", URI: addresses[0], Err: fmt.Errorf("%w: %s", shard.ErrBadURI, text)}
}

// Shards are the shards of a table's files.
func Shards(t *table.Snapshot) []shard.Shard {
	all := make([]shard.Shard, len(t.Files))
	for i := range t.Files {
		all[i] = t.Files[i].Shard
	}
	return all
}

// Kept is a table with only the files of some shards, which are in the same order.
func Kept(t *table.Snapshot, shards []shard.Shard) *table.Snapshot {
	if t == nil || len(t.Files) == len(shards) {
		return t
	}
	c := *t
	c.Files = nil
	for i := range t.Files {
		if at := len(c.Files); at < len(shards) && t.Files[i].Shard.URI == shards[at].URI {
			c.Files = append(c.Files, t.Files[i])
		}
	}
	return &c
}

// Part is how rowgroup finds the columns of a table at an address; nil for no table.
func Part(t *table.Snapshot, address []string) *rowgroup.Table {
	if t == nil {
		return nil
	}
	p := &rowgroup.Table{Fields: t.Fields, FirstRows: t.FirstRows()}
	if len(address) > 0 {
		p.Address = address[0]
	}
	for i := range t.Files {
		if c := t.Files[i].Constants; len(c) > 0 {
			if p.Constants == nil {
				p.Constants = make([][]table.Constant, len(t.Files))
			}
			p.Constants[i] = c
		}
	}
	return p
}

// Name of the snapshot, as states have it; "" for no table.
func Name(t *table.Snapshot) string {
	if t == nil {
		return ""
	}
	return t.Name
}

// Check refuses a table whose metadata does not fit the footers of its files.
func Check(t *table.Snapshot, m *rowgroup.Reader) error {
	if t == nil {
		return nil
	}
	rows := make([]int64, len(t.Files))
	for _, g := range m.Groups() {
		rows[g.Shard] += g.Rows
	}
	for i := range t.Files {
		f := &t.Files[i]
		if f.Rows >= 0 && f.Rows != rows[i] {
			return &shard.Error{
				Op: "table", URI: f.Shard.URI, Err: fmt.Errorf("it has %d rows, and the table counts %d", rows[i], f.Rows),
				Hint: "something else than the table's writers changed the file",
			}
		}
		if last := f.Deleted.End() - 64; last >= rows[i] {
			return &shard.Error{Op: "table", URI: f.Shard.URI, Err: fmt.Errorf("it has %d rows, and the table deleted row %d or later ones", rows[i], last)}
		}
	}
	return nil
}
