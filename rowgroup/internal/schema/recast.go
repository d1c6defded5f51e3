package schema

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// A recast changes the values of a leaf to the type of its column in the data set, where other
// shards have another.
type recast struct {
	Own     *column.Field // the leaf's, as its file has it
	convert Convert       // from stored values to values of own
	To      *column.Field
	run     *block.Recaster
}

// recastTile is the values that are changed at once.
const recastTile = 256

// bindTo is the leaf for a column of the data set; from is its own field.
func (l Leaf) bindTo(from, to *column.Field) (*Leaf, error) {
	switch {
	case from.Kind == column.Null && to.Kind != column.Null:
		l.Convert = ConvertNull
	case to.Kind != column.Fixed || sameLayout(from, to):
	case from.Type == column.TypeFloat32 && to.Type == column.TypeFloat64:
		l.Convert = ConvertWidenFloat
	case isDecimal(from) && isDecimal(to) && from.Scale == to.Scale:
		l.Convert = ConvertDecimal
	case widensTo(from.Type, to.Type):
		l.Convert = widenInt(from, to)
	default:
		run, err := block.NewRecaster(from, to)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", l.Path, err)
		}
		l.Recast, l.Convert = &recast{Own: from, convert: l.Convert, To: to, run: run}, ConvertRecast
	}
	return &l, nil
}

func isDecimal(f *column.Field) bool { return f.Type == column.TypeDecimal }

// sameLayout reports whether values of two fields are the same bytes.
func sameLayout(a, b *column.Field) bool {
	if a.Width != b.Width || isBytes(*a) && isBytes(*b) {
		return a.Width == b.Width
	}
	return a.Type == b.Type && a.Unit == b.Unit && a.Scale == b.Scale
}

// widensTo reports whether an integer type holds another.
func widensTo(from, to column.Type) bool {
	t, ok := uniteInts(from, to)
	return ok && t == to
}

// widenInt returns the conversion of an INT32 of one integer type to a wider one.
func widenInt(from, to *column.Field) Convert {
	switch {
	case to.Width == 8 && block.IsUnsigned(from.Type):
		return ConvertWidenUint
	case to.Width == 8:
		return ConvertWidenInt
	case to.Width == 4:
		return ConvertNone
	}
	return ConvertNarrow
}

// values changes n stored values of leaf l.
func (r *recast) values(l *Leaf, dst, src []byte, n int, scratch *block.CastScratch) error {
	if scratch == nil {
		scratch = &block.CastScratch{}
	}
	var own [recastTile * 32]byte
	stored := l.StoredWidth()
	inner := *l
	inner.Convert = r.convert
	for i := 0; i < n; i += recastTile {
		m := min(recastTile, n-i)
		part := src[i*stored : (i+m)*stored]
		if r.convert != ConvertNone {
			if err := inner.Values(own[:m*r.Own.Width], part, m, r.Own, nil); err != nil {
				return err
			}
			part = own[:m*r.Own.Width]
		}
		if err := r.run.Values(dst[i*r.To.Width:], part, m, scratch); err != nil {
			return err
		}
	}
	return nil
}

// byteDecimals changes decimals of BYTE_ARRAY, which are views of text.
func (r *recast) byteDecimals(dst, text []byte, views []uint64, scratch *block.CastScratch) error {
	var own [recastTile * 32]byte
	for len(views) > 0 {
		n := min(recastTile, len(views))
		if err := putDecimals(own[:], text, views[:n], r.Own.Width); err != nil {
			return err
		}
		if err := r.run.Values(dst, own[:n*r.Own.Width], n, scratch); err != nil {
			return err
		}
		dst, views = dst[n*r.To.Width:], views[n:]
	}
	return nil
}
