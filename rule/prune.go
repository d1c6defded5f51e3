package rule

import "github.com/shardfeed/shardfeed/column"

// A Verdict is the result of a filter on statistics of a range of rows.
type Verdict uint8

const (
	Some Verdict = iota // it is not known which rows stay
	None                // no row stays
	All                 // every row stays
)

func (v Verdict) String() string { return [...]string{"some", "none", "all"}[v] }

// Stats has statistics of the columns in a range of rows: a shard, a row group, a page.
type Stats interface {
	// Column returns the statistics of column i of [Filter.Inputs]. The zero value knows nothing.
	Column(i int) ColumnStats
}

// ColumnStats has statistics of a column's values in a range of rows. Each may be missing, but must
// be true if present.
//
// Values are given as [column.Array] stores them: Width bytes of a Fixed one, the bytes of a Binary
// one. Bounds may be wider than the values need, as truncated ones are, but must hold: a truncated
// maximum is one that was rounded up. Do not pass
//   - the deprecated min and max of strings, binary, decimal and unsigned columns, which some
//     writers ordered as signed bytes;
//   - bounds of a column whose order the footer does not define, such as INT96 in files;
//   - nulls that a nested column counts by its items.
//
// A bound that is NaN is ignored.
type ColumnStats struct {
	Rows       int64 // with NullsKnown
	Nulls      int64
	NullsKnown bool

	Min, Max []byte // nil is unknown; an empty string is not nil

	// Distinct holds every value that occurs, and perhaps others, but no nulls: the dictionary of
	// a chunk whose pages are all coded, or the one value of a partition.
	Distinct *column.Array

	// MayContain asks a bloom filter for a value.
	MayContain func(value []byte) bool
}

// Prune reports whether all rows of a range pass, or none, as far as statistics show.
func (f *Filter) Prune(s Stats) Verdict { return f.prune(f.root, s) }

func (f *Filter) prune(n bound, s Stats) Verdict {
	var b *branch
	switch n := n.(type) {
	case *branch:
		b = n
	case *leaf:
		c := s.Column(n.input)
		return n.prune(&c, &f.inputs[n.input])
	default:
		return Some
	}
	ends, other := None, All // in an and, one None makes it None, all All make it All
	if b.or {
		ends, other = All, None
	}
	whole := other
	for _, m := range b.of {
		switch f.prune(m, s) {
		case ends:
			return ends
		case other:
		default:
			whole = Some
		}
	}
	return whole
}

func (l *leaf) prune(c *ColumnStats, in *Input) Verdict {
	noNulls, allNulls := c.NullsKnown && c.Nulls == 0, c.NullsKnown && c.Nulls >= c.Rows
	if l.match == nil {
		isNull := Some
		switch {
		case allNulls:
			isNull = All
		case noNulls:
			isNull = None
		}
		if l.negate {
			isNull = isNull.opposite()
		}
		return isNull
	}
	if allNulls {
		return None
	}
	none, all := l.proof(c, in)
	if l.negate {
		none, all = all, none
	}
	switch {
	case none:
		return None
	case all && noNulls:
		return All
	}
	return Some
}

func (v Verdict) opposite() Verdict {
	switch v {
	case None:
		return All
	case All:
		return None
	}
	return v
}

// proof reports whether none, or all, of the non-null values pass.
func (l *leaf) proof(c *ColumnStats, in *Input) (none, all bool) {
	if d := c.Distinct; d != nil && d.Len > 0 && d.Field.Kind == in.Field.Kind && d.Field.Width == in.Field.Width && stored(d) {
		entries := make([]uint64, wordsFor(d.Len))
		l.match.match(entries, nil, d)
		return isZero(entries), isFull(entries, d.Len)
	}
	least, most := c.Min, c.Max
	if in.Field.Kind == column.Fixed && (len(least) != in.Field.Width && least != nil || len(most) != in.Field.Width && most != nil) {
		least, most = nil, nil
	}
	if none, all = l.match.within(least, most); none || all || c.MayContain == nil {
		return none, all
	}
	members := l.match.members()
	for _, v := range members {
		if c.MayContain(v) {
			return false, false
		}
	}
	return len(members) > 0, false
}
