package iterable

import (
	"context"
	"fmt"
	"sort"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

// A numbering numbers the rows of a data set from 0 on: the rows that its rule keeps, unit by unit,
// in the order of the files. It is immutable.
type numbering struct {
	source *source
	units  *shuffle.Units
	ends   []int64 // by unit: the number after its last row
}

// numbering counts the rows that units hold.
func (d *Dataset) numbering() (*numbering, error) {
	s, err := d.only("have no rows by number")
	if err != nil {
		return nil, err
	}
	if d.options.Weight != "" {
		return nil, &OptionError{Field: "Weight", Text: "repeats rows, and a row has one number; leave it out, and give the weights to a sampler"}
	}
	if d.options.Pack != nil {
		return nil, &OptionError{Field: "Pack", Text: "makes blocks of rows, which have no numbers; leave it out"}
	}
	if d.options.Bucket != nil {
		return nil, &OptionError{Field: "Bucket", Text: "makes batches of rows, which have no numbers; leave it out"}
	}
	units, err := s.ownUnits()
	if err != nil {
		return nil, err
	}
	n := &numbering{source: s, units: units, ends: make([]int64, units.Len())}
	end := int64(0)
	for i, u := range units.All() {
		end += u.Samples
		n.ends[i] = end
	}
	return n, nil
}

// rows is how many rows have numbers.
func (n *numbering) rows() int64 {
	if len(n.ends) == 0 {
		return 0
	}
	return n.ends[len(n.ends)-1]
}

// locate returns the unit of a row, and the row's place among the rows that the unit keeps.
func (n *numbering) locate(row int64) (unit int, at int64, err error) {
	if row < 0 || row >= n.rows() {
		return 0, 0, &RowError{Row: row, Rows: n.rows()}
	}
	unit = sort.Search(len(n.ends), func(i int) bool { return n.ends[i] > row })
	return unit, row - n.first(unit), nil
}

// first is the number of a unit's first row.
func (n *numbering) first(unit int) int64 { return n.ends[unit] - n.units.At(unit).Samples }

// A RowError is a row number that the data set does not have.
type RowError struct {
	Row, Rows int64
}

func (e *RowError) Error() string {
	if e.Rows == 0 {
		return fmt.Sprintf("there is no row %d: the data set has no rows", e.Row)
	}
	return fmt.Sprintf("there is no row %d: the data set has %d rows, numbered from 0 to %d", e.Row, e.Rows, e.Rows-1)
}

// Locate returns the place of a row: the one row of its row group. It reads nothing but the columns
// of the data set's rule.
func (t *Taker) Locate(ctx context.Context, row int64) (rowgroup.Rows, error) {
	unit, at, err := t.numbers.locate(row)
	if err != nil {
		return rowgroup.Rows{}, err
	}
	u := t.numbers.units.At(unit)
	if t.numbers.source.rules != nil {
		if at, err = t.kept(ctx, u, at); err != nil {
			return rowgroup.Rows{}, err
		}
	}
	return t.numbers.source.reading.RowsOf(u.Group, u.Lo+at, u.Lo+at+1), nil
}

// kept returns which row of a unit is the k-th that the rule keeps.
func (t *Taker) kept(ctx context.Context, u shuffle.Unit, k int64) (row int64, err error) {
	d, rows := t.numbers.source, t.numbers.source.reading.RowsOf(u.Group, u.Lo, u.Hi)
	defer panics.Caught(d.manifest, rows, &err)
	var columns []rule.Column
	if d.rules.Reads() {
		fetch, decoded := d.manifest.RuleBytes(u.Group)
		t.account.Charge(mem.Fetch, fetch)
		defer t.account.Release(mem.Fetch, fetch)
		t.account.Charge(mem.Decode, decoded)
		defer func() { t.account.Release(mem.Decode, decoded) }()
		raw, err := d.manifest.FetchRule(ctx, rows)
		if err != nil {
			return 0, err
		}
		defer raw.Release()
		decoder := d.manifest.NewDecoder()
		defer decoder.Close()
		decoder.Allow(decoded, t.account.Growing(mem.Decode, &decoded))
		err = raw.Refetching(ctx, func() (err error) {
			columns, err = decoder.DecodeRule(raw)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	sel, err := d.rules.NewSelector().Finish(u.Group, u.Lo, u.Hi, columns, false)
	if err == nil && sel.Samples(0, sel.Rows) != u.Samples {
		err = samples.Miscounted("rows", u.Samples, sel.Samples(0, sel.Rows))
	}
	if err != nil {
		return 0, samples.Error(d.manifest, rows, err)
	}
	sel.Each(0, sel.Rows, func(i int) {
		if k == 0 {
			row = int64(i)
		}
		k--
	})
	return row, nil
}
