package image

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// fits reports whether the buffers of a node are as long as its values need.
func fits(v *block.Vector, x *node) bool {
	n, f := v.Len, v.Field
	ok := v.Valid == nil || len(v.Valid) >= parquet.BitmapWords(n)
	switch {
	case v.Codes != nil:
		ok = ok && (v.CodeWidth == 1 || v.CodeWidth == 2 || v.CodeWidth == 4) && len(v.Codes) == n*v.CodeWidth && x.dict
	case v.Views != nil:
		ok = ok && len(v.Views) == n
	case v.Offsets != nil:
		ok = ok && len(v.Offsets) == n+1
	case f.Kind == column.List && v.Data != nil:
		ok = ok && len(f.Children) == 1 && len(v.Data) == n*v.Stride*f.Children[0].Width
	case v.Data != nil:
		ok = ok && len(v.Data) == n*f.Width
	}
	return ok
}

// cutRows leaves rows from to of a column of a whole row group, and up to 63 before them.
func cutRows(v *block.Vector, from, to int64) error {
	if from < 0 || to > int64(v.Len) || from > to {
		return errNotImage
	}
	if v.Field.Kind == column.Struct || v.Stride > 0 && v.Data == nil { // members, or items, are counted from the first row on
		v.Skip, v.Len = int(from), int(to)
		return nil
	}
	lo, hi := int(from)&^63, int(to)
	v.Skip, v.Len = int(from)-lo, hi-lo
	if v.Valid != nil {
		v.Valid = v.Valid[lo/64:]
	}
	switch {
	case v.Codes != nil:
		v.Codes = v.Codes[lo*v.CodeWidth : hi*v.CodeWidth]
	case v.Views != nil:
		v.Views = v.Views[lo:hi]
	case v.Offsets != nil:
		v.Offsets = v.Offsets[lo : hi+1]
	case v.Field.Kind == column.List && v.Data != nil:
		w := v.Stride * v.Field.Children[0].Width
		v.Data = v.Data[lo*w : hi*w]
	case v.Data != nil:
		v.Data = v.Data[lo*v.Field.Width : hi*v.Field.Width]
	}
	return nil
}
