package loader

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
)

// SeedColumn is the column that Options.Seeds adds.
const SeedColumn = "_seed"

// A rowKey identifies the random numbers of one transform of one row: the same on any number of
// ranks and workers, in batches of any size, and after a resume.
type rowKey struct {
	seed      uint64 // the dataset's
	epoch     int64
	source    int32
	row       int64 // number among the rows of shards with samples
	copy      int   // of the row in the epoch
	transform int   // place in Options.Transforms, from 1; 0 is SeedColumn
}

// pcg returns the two words that seed math/rand/v2's PCG, by the chain of key.pcg. SeedColumn has
// the first.
func (k rowKey) pcg() (hi, lo uint64) {
	return chain(k.seed, uint64(k.epoch), uint64(uint32(k.source)), uint64(k.row), uint64(k.copy), uint64(k.transform))
}

// A rowNaming describes how a recipe uses the row ids of its data set.
type rowNaming struct {
	row, source int  // places of the columns in the schema
	hide        bool // they have no names, and are not part of the batches
	seeds       bool
}

// bindRowIDs finds the columns of row ids, or returns nil if nothing uses them.
func bindRowIDs(o Options, s *column.Schema) (*rowNaming, error) {
	made := func(t column.Type) int {
		return slices.IndexFunc(s.Fields, func(f *column.Field) bool { return f.Made && f.Type == t })
	}
	n := &rowNaming{row: made(column.TypeInt64), source: made(column.TypeInt32), seeds: o.Seeds}
	ofRows := slices.IndexFunc(o.Transforms, func(t Transform) bool { return t.Rows != nil })
	if n.row >= 0 && n.source >= 0 {
		n.hide = s.Fields[n.row].Name == ""
	} else if o.Seeds {
		return nil, &iterable.OptionError{Field: "Seeds", Text: "needs a data set with {RowKeys}"}
	} else if len(o.Images) > 0 {
		return nil, &iterable.OptionError{Field: "Images", Text: "needs a data set with {RowKeys}"}
	} else if ofRows >= 0 {
		return nil, &iterable.OptionError{Field: fmt.Sprintf("Transforms[%d].Rows", ofRows), Text: "needs a data set with {RowKeys}"}
	}
	if !o.Seeds && ofRows < 0 && !n.hide && len(o.Images) == 0 {
		return nil, nil
	}
	taken := slices.ContainsFunc(s.Fields, func(f *column.Field) bool { return f.Name == SeedColumn })
	if o.Seeds && taken {
		return nil, &iterable.OptionError{Field: "Seeds", Text: option.Sprintf("adds the column %q, and the data has one: leave it out of {Columns}", SeedColumn)}
	}
	return n, nil
}

// rowNames are the names of a batch's rows. They are valid while the batch is made of its draw.
type rowNames struct {
	keys    *iterable.RowKeys
	seed    uint64
	epoch   int64
	rows    []int64
	sources []int32
	epochs  []int32 // after epoch; nil: all are of that
}

// keyOf names row i for a transform, or 0.
func (n *rowNames) keyOf(i, transform int) rowKey {
	epoch := n.epoch
	if i < len(n.epochs) {
		epoch += int64(n.epochs[i])
	}
	return rowKey{seed: n.seed, epoch: epoch, source: n.sources[i], row: n.keys.Of(n.rows[i]), transform: transform}
}

// set takes the names of rows from columns.
func (n *rowNames) set(row, source *column.Array, rows int) error {
	if len(row.Data) < 8*rows || len(source.Data) < 4*rows {
		return errors.New("the columns of row ids are too short; this is a bug")
	}
	n.rows = unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(row.Data))), rows)
	n.sources = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(source.Data))), rows)
	return nil
}

// nameRows takes the names of a batch's rows from its columns, and adds the seeds.
func (c *collator) nameRows(b *Batch) error {
	r := c.naming
	if r == nil {
		return nil
	}
	row, source := b.Columns[r.row], b.Columns[r.source]
	if err := c.names.set(row, source, b.Rows); err != nil {
		return err
	}
	if r.hide {
		b.Columns = slices.DeleteFunc(b.Columns, func(a *column.Array) bool { return a == row || a == source })
	}
	if !r.seeds {
		return nil
	}
	seeds, err := AddTensor[int64](b, SeedColumn)
	for i := range seeds {
		hi, _ := c.names.keyOf(i, 0).pcg()
		seeds[i] = int64(hi)
	}
	return err
}
