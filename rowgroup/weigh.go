package rowgroup

import "github.com/shardfeed/shardfeed/column"

// A Weight is what the picked values of a column take in a batch.
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
		row := p.Row() + v.skip
		if v.order != nil {
			row = v.skip + int(v.order[p.Row()])
		}
		n := v.weigh(row)
		if w.Bytes += n; n > w.Largest || i == 0 {
			w.Largest, w.Pick = n, p
		}
	}
	return w
}

// weigh returns the bytes of value i.
func (v *vector) weigh(i int) (n int64) {
	switch v.field.Kind {
	case column.Fixed:
		return int64(v.field.Width)
	case column.Binary:
		_, bytes := v.value(i)
		return int64(bytes)
	case column.Struct:
		for _, c := range v.children {
			n += c.weigh(i)
		}
		return n
	case column.List, column.Map:
		if item := v.field.Children[0]; item.Kind == column.Fixed {
			_, bytes := v.itemBytes(i, item.Width)
			return int64(bytes)
		}
		lo, hi := v.listRange(i)
		for k := lo; k < hi; k++ {
			n += v.children[0].weigh(int(k))
		}
	}
	return n
}

// Place is the shard and the row group that the block was made of.
func (b *Block) Place() (uri string, rowGroup int) { return b.uri, b.rowGroup }
