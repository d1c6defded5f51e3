package loader

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// An imageLists is the lists of images in the rows of a batch: a column of several images a row.
type imageLists struct {
	edges []int32 // the first image of each row, and the end of the last row
	null  []bool  // by row: its list is null
}

// bounds returns the range of a row's images among the column's.
func (j *imageJob) bounds(k, row int) (lo, hi int) {
	if j.columns[k].list == nil {
		return row, row + 1
	}
	l := &j.lists[k]
	if l.null[row] {
		return 0, 0
	}
	return int(l.edges[row]), int(l.edges[row+1])
}

// clearNull makes the images of null lists of one size zeros.
func (j *imageJob) clearNull(k int) {
	l, bytes := &j.lists[k], j.columns[k].bytes
	for row, null := range l.null {
		if null {
			clear(j.tensors[k][int(l.edges[row])*bytes : int(l.edges[row+1])*bytes])
		}
	}
}

// compact moves the images of good rows to the front. Failed rows, which follow, have an empty
// list, or images of zeros where all lists have one size.
func (j *imageJob) compact(k int) {
	l, m := &j.lists[k], j.columns[k]
	edges, null := l.edges[:1], l.null[:0]
	failed, at := j.failed, int32(0)
	for row, lo := 0, l.edges[0]; row < len(l.null); row++ {
		hi := l.edges[row+1]
		if len(failed) > 0 && failed[0].row == row {
			failed = failed[1:]
		} else {
			copy(j.tensors[k][int(at)*m.bytes:], j.tensors[k][int(lo)*m.bytes:int(hi)*m.bytes])
			at += hi - lo
			edges, null = append(edges, at), append(null, l.null[row])
		}
		lo = hi
	}
	clear(j.tensors[k][int(at)*m.bytes:])
	for range j.failed {
		at += int32(m.list.ListSize)
		edges, null = append(edges, at), append(null, false)
	}
	l.edges, l.null = edges, null
}

// listArray is the column of a batch's lists of images.
func (c *collator) listArray(m *imageColumn, b *Batch) (*column.Array, error) {
	k := slices.Index(c.images, m)
	l := &c.job.lists[k]
	edges := l.edges[:b.Rows+1]
	n := int(edges[b.Rows])
	a := &column.Array{Field: m.list, Len: b.Rows, Children: []*column.Array{tensor(m.field, n, c.job.tensors[k][:n*m.bytes])}}
	if m.list.ListSize == 0 {
		offsets, err := b.Alloc(4 * len(edges))
		if err != nil {
			return nil, err
		}
		a.Offsets = mem.As[int32](offsets)
		copy(a.Offsets, edges)
	}
	if !slices.Contains(l.null[:b.Rows], true) {
		return a, nil
	}
	var err error
	if a.Valid, err = b.Alloc((b.Rows + 7) / 8); err != nil {
		return nil, err
	}
	clear(a.Valid)
	for row, null := range l.null[:b.Rows] {
		if null {
			a.Nulls++
		} else {
			a.Valid[row>>3] |= 1 << (row & 7)
		}
	}
	return a, nil
}
