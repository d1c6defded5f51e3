package loader

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// bandAlign is the alignment of each column of a band, from the band's first byte, which devices
// and readers expect of a buffer; so a column of a band is aligned like a single one.
const bandAlign = 256

// A band is a group of columns with the same type of fixed values, by their places in the schema.
// In a batch they are contiguous and equally spaced, so that a reader of wide batches finds them
// all by two numbers.
type band struct {
	like    *column.Field // one of them; nil: a single column
	columns []int
}

// bands divides the columns of a schema. Columns without fixed values, and columns marked in alone,
// are single. They come last, so that the places of the others are the same in most batches,
// whatever the sizes of strings and lists.
func bands(schema *column.Schema, alone []bool) []*band {
	var all []*band
	for i, f := range schema.Fields {
		if f.Kind != column.Fixed || alone[i] {
			all = append(all, &band{columns: []int{i}})
			continue
		}
		at := slices.IndexFunc(all, func(b *band) bool { return b.like != nil && b.like.Type == f.Type && b.like.Width == f.Width })
		if at < 0 {
			at = len(all)
			all = append(all, &band{like: f})
		}
		all[at].columns = append(all[at].columns, i)
	}
	slices.SortStableFunc(all, func(a, b *band) int { return min(len(b.columns), 2) - min(len(a.columns), 2) })
	return all
}
