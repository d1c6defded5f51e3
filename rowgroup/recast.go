package rowgroup

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// A recast changes the values of a leaf to the type of its column in the data set, where other
// shards have another.
type recast struct {
	own     *column.Field // the leaf's, as its file has it
	convert convert       // how stored values become those of own
	to      *column.Field
	run     *block.Recaster
}

// recastTile is the values that are changed at once.
const recastTile = 256

// bindTo is the leaf for a column of the data set; from is its own field.
func (l leaf) bindTo(from, to *column.Field) (*leaf, error) {
	switch {
	case from.Kind == column.Null && to.Kind != column.Null:
		l.convert = convertNull
	case to.Kind != column.Fixed || sameLayout(from, to):
	case from.Type == column.TypeFloat32 && to.Type == column.TypeFloat64:
		l.convert = convertWidenFloat
	case isDecimal(from) && isDecimal(to) && from.Scale == to.Scale:
		l.convert = convertDecimal
	case widensTo(from.Type, to.Type):
		l.convert = widenInt(from, to)
	default:
		run, err := block.NewRecaster(from, to)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", l.path, err)
		}
		l.recast, l.convert = &recast{own: from, convert: l.convert, to: to, run: run}, convertRecast
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

// widenInt says how an INT32 of one integer type becomes a wider one.
func widenInt(from, to *column.Field) convert {
	switch {
	case to.Width == 8 && block.IsUnsigned(from.Type):
		return convertWidenUint
	case to.Width == 8:
		return convertWidenInt
	case to.Width == 4:
		return convertNone
	}
	return convertNarrow
}

// values changes n stored values. tmp is scratch of the kernels.
func (r *recast) values(dst, src []byte, n int, c *leafDecoder) error {
	var own [recastTile * 32]byte
	for i := 0; i < n; i += recastTile {
		m := min(recastTile, n-i)
		part := src[i*c.stored : (i+m)*c.stored]
		if r.convert != convertNone {
			l := *c.leaf
			l.convert = r.convert
			inner := leafDecoder{leaf: &l, field: r.own, stored: c.stored}
			if err := inner.convert(own[:m*r.own.Width], part, m); err != nil {
				return err
			}
			part = own[:m*r.own.Width]
		}
		if err := r.run.Values(dst[i*r.to.Width:], part, m, c.kernelScratch()); err != nil {
			return err
		}
	}
	return nil
}

// byteDecimals changes decimals of BYTE_ARRAY, which are views of text.
func (r *recast) byteDecimals(dst, text []byte, views []uint64, c *leafDecoder) error {
	var own [recastTile * 32]byte
	w := r.own.Width
	for len(views) > 0 {
		n := min(recastTile, len(views))
		for i, v := range views[:n] {
			if !putBigEndian(own[i*w:(i+1)*w], text[v>>32:][:uint32(v)]) {
				return errDecimal
			}
		}
		if err := r.run.Values(dst, own[:n*w], n, c.kernelScratch()); err != nil {
			return err
		}
		dst, views = dst[n*r.to.Width:], views[n:]
	}
	return nil
}

// kernelScratch is the decoder's; statistics are changed without one.
func (c *leafDecoder) kernelScratch() *block.CastScratch {
	if c.d == nil {
		return &block.CastScratch{}
	}
	if c.d.kernels == nil {
		c.d.kernels = &block.CastScratch{}
	}
	return c.d.kernels
}
