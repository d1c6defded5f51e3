package iterable

import (
	"context"
	"fmt"
	"sort"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A numbering numbers the rows of a data set from 0 on: the rows that its rule keeps, unit by unit,
// in the order of the files. It is immutable.
type numbering struct {
	units []shuffle.Unit
	ends  []int64 // by unit: the number after its last row
}

// numbering counts the rows that units hold.
func (d *Dataset) numbering() (*numbering, error) {
	if d.options.Weight != "" {
		return nil, &OptionError{Field: "Weight", Text: "repeats rows, and a row has one number; leave it out, and give the weights to a sampler"}
	}
	units, err := d.cut(d.options.UnitRows)
	if err != nil {
		return nil, err
	}
	n := &numbering{units: units, ends: make([]int64, len(units))}
	end := int64(0)
	for i, u := range units {
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
func (n *numbering) first(unit int) int64 { return n.ends[unit] - n.units[unit].Samples }

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

// Locate returns where a row lies: the one row of its row group. It reads nothing, unless a rule
// keeps some rows of the unit: then it reads the rule's columns.
func (t *Taker) Locate(row int64) (rowgroup.Rows, error) {
	unit, at, err := t.numbers.locate(row)
	if err != nil {
		return rowgroup.Rows{}, err
	}
	u := t.numbers.units[unit]
	if u.Samples != u.Rows() {
		if at, err = t.ahead.keptRow(t.ctx, u, at); err != nil {
			return rowgroup.Rows{}, err
		}
	}
	g := t.dataset.manifest.Groups()[u.Group]
	return rowgroup.Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Lo: u.Lo + at, Hi: u.Lo + at + 1}, nil
}

// keptRow is the place in a unit of the row that the rule keeps as its at-th.
func (r *readahead) keptRow(ctx context.Context, u shuffle.Unit, at int64) (place int64, err error) {
	l := r.rowsOf(u)
	defer r.caught("filter", l.rows, &err)
	y := r.newLayer()
	defer y.close()
	if r.rules.reads() {
		fetch, decoded := r.manifest.RuleBytes(u.Group)
		r.account.Charge(mem.Fetch, fetch)
		defer r.account.Release(mem.Fetch, fetch)
		r.account.Charge(mem.Decode, decoded)
		defer r.account.Release(mem.Decode, decoded)
		if l.raw, err = r.manifest.FetchRule(ctx, l.rows); err != nil {
			return 0, err
		}
		defer l.raw.Release()
	}
	if err := y.choose(l); err != nil {
		return 0, err
	}
	return int64(y.rows[at]), nil
}

// rowsOf is a load of all samples of a unit, for its rows alone.
func (r *readahead) rowsOf(u shuffle.Unit) *load {
	g := r.manifest.Groups()[u.Group]
	return &load{
		rows:  rowgroup.Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Lo: u.Lo, Hi: u.Hi},
		group: u.Group, span: wholeUnit(u), samples: u.Samples,
	}
}
