package block

import "github.com/shardfeed/shardfeed/column"

// A Weight is the size of the picked values of a column in a batch.
type Weight struct {
	Bytes   int64 // of all, without offsets
	Largest int64 // of one
	Pick    Pick  // which
}

// Weigh adds up the values of a column of blocks, for errors: it looks at each of them.
func Weigh(col int, blocks []*Block, picks []Pick) (w Weight) {
	for i, p := range picks {
		v := blocks[p.Block()].cols[col]
		if v == nil { // it is in matrices alone
			continue
		}
		row := p.Row() + v.Skip
		if v.Order != nil {
			row = v.Skip + int(v.Order[p.Row()])
		}
		n := v.weigh(row)
		if w.Bytes += n; n > w.Largest || i == 0 {
			w.Largest, w.Pick = n, p
		}
	}
	return w
}

// weigh returns the bytes of value i.
func (v *Vector) weigh(i int) (n int64) {
	switch v.Field.Kind {
	case column.Fixed:
		return int64(v.Field.Width)
	case column.Binary:
		_, bytes := v.Value(i)
		return int64(bytes)
	case column.Struct:
		for _, c := range v.Children {
			n += c.weigh(i)
		}
		return n
	case column.List, column.Map:
		if item := v.Field.Children[0]; item.Kind == column.Fixed {
			_, bytes := v.ItemBytes(i, item.Width)
			return int64(bytes)
		}
		lo, hi := v.ListRange(i)
		for k := lo; k < hi; k++ {
			n += v.Children[0].weigh(int(k))
		}
	}
	return n
}
