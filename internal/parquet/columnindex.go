package parquet

import "fmt"

// PageStatistics has the statistics of a data page from a column index. Min and Max are as in
// [Statistics]; they are undefined if all values are null.
type PageStatistics struct {
	AllNull  bool
	Nulls    int64 // -1 when it is not stated
	Min, Max []byte
}

// ParseColumnIndex reads a ColumnIndex of a number of pages. The statistics alias b.
func ParseColumnIndex(b []byte, pages int) ([]PageStatistics, error) {
	if pages > len(b) { // each takes a byte at least
		return nil, fmt.Errorf("%w: a column index of %d bytes for %d pages", ErrShort, len(b), pages)
	}
	all := make([]PageStatistics, pages)
	for i := range all {
		all[i].Nulls = -1
	}
	r := &thriftReader{b: b}
	found := [4]int{}
	r.fields(func(id int16, typ byte) {
		if typ != thriftList {
			return
		}
		switch id {
		case 1:
			found[0] = r.each(thriftTrue, pages, func(i int) { all[i].AllNull = r.byte() == thriftTrue })
		case 2:
			found[1] = r.each(thriftBinary, pages, func(i int) { all[i].Min = r.bytes() })
		case 3:
			found[2] = r.each(thriftBinary, pages, func(i int) { all[i].Max = r.bytes() })
		case 5:
			found[3] = r.each(thriftI64, pages, func(i int) { all[i].Nulls = max(-1, r.int()) })
		}
	})
	if r.err != nil {
		return nil, r.err
	}
	if found[0] != pages || found[1] != pages || found[2] != pages || found[3] != pages && found[3] != 0 {
		return nil, fmt.Errorf("%w: a column index of %v pages for %d", ErrShort, found, pages)
	}
	return all, nil
}

// each reads a list of one element for each of n, and returns how many there are. A longer list
// fails. Booleans are taken under either of their types.
func (r *thriftReader) each(want byte, n int, read func(i int)) int {
	typ, count := r.list()
	if typ == thriftFalse {
		typ = thriftTrue
	}
	if count > n {
		r.fail()
	}
	for i := 0; i < count && r.expect(typ, want); i++ {
		read(i)
	}
	return count
}
