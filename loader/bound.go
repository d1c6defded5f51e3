package loader

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
)

// bufferAlign is the largest alignment of a buffer that allocators use.
const bufferAlign = 256

// BatchBound returns the most memory that a batch of a loader with these options takes, or 0 if
// that depends on the values of its rows.
func BatchBound(ds *iterable.Dataset, o Options) int64 {
	o = o.withDefaults()
	r, err := newRecipe(ds.BatchSchema(), o)
	if err != nil || len(r.padders) > 0 || len(r.transforms) > 0 || r.packed != nil || ds.Buckets() {
		return 0
	}
	total, rows := int64(0), int64(o.BatchSize)
	for _, f := range r.schema.Fields {
		n, ok := boundOf(f, rows)
		if !ok {
			return 0
		}
		total += n
	}
	for range r.geometry {
		total += alignedBytes(rows*2*4) + alignedBytes(rows*4*4)
	}
	return total
}

// boundOf returns the memory of n values of a field, if it does not depend on the values.
func boundOf(f *column.Field, n int64) (bytes int64, ok bool) {
	if f.Nullable {
		bytes = alignedBytes((n + 7) / 8)
	}
	switch {
	case f.Kind == column.Null || f.Kind == column.Struct:
	case f.Kind == column.Fixed:
		bytes += alignedBytes(n * int64(f.Width))
	case f.Kind == column.List && f.ListSize > 0 && !f.Nullable: // a null list has no items
		n *= int64(f.ListSize)
	default:
		return 0, false
	}
	for _, c := range f.Children {
		of, ok := boundOf(c, n)
		if !ok {
			return 0, false
		}
		bytes += of
	}
	return bytes, true
}

func alignedBytes(n int64) int64 { return (n + bufferAlign - 1) &^ (bufferAlign - 1) }
