package iterable

import "sort"

// RowKeys numbers the rows of the shards that the order depends on, so that random numbers drawn
// for a row stay the same when other shards are added or removed. nil leaves the numbers of
// [Options.RowIDs] as they are.
type RowKeys struct {
	from []int64 // numbers of rows, ascending
	less []int64 // rows before from[i] of shards that the order does not depend on
}

// RowKeys of the data set, or nil.
func (d *Dataset) RowKeys() *RowKeys {
	k, skipped := &RowKeys{}, int64(0)
	for _, s := range d.sources {
		if s.sampled.shards == nil && skipped == 0 {
			continue
		}
		for _, g := range s.manifest.Groups() {
			if !s.sampled.has(int(g.Shard)) {
				skipped += g.Rows
				continue
			}
			if last := len(k.less) - 1; last < 0 && skipped > 0 || last >= 0 && k.less[last] < skipped {
				k.from, k.less = append(k.from, g.First), append(k.less, skipped)
			}
		}
	}
	if k.from == nil {
		return nil
	}
	return k
}

// Of a row by its number.
func (k *RowKeys) Of(row int64) int64 {
	if k == nil {
		return row
	}
	i := sort.Search(len(k.from), func(i int) bool { return k.from[i] > row })
	if i == 0 {
		return row
	}
	return row - k.less[i-1]
}
