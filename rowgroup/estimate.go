package rowgroup

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// DecodedBytes predicts the memory of the block that group g becomes with the projection, rather
// too high than too low: apart for columns of under 512 bytes a row, and for the wide ones, which a
// Layout can spread over parts.
func (m *Manifest) DecodedBytes(g int) (narrow, wide int64) {
	e := m.estimate(g, m.columnsOf(int(m.groups[g].Shard)))
	return e.Block()
}

// TotalBytes adds up DecodedBytes of all groups; and values, which leaves out what an arena takes
// beside the values, most of it where rows are few, and counts values in place of codes of a byte:
// what as many rows add to a large batch. It reads each record once.
func (m *Manifest) TotalBytes() (decoded, values int64) {
	for s := range m.files {
		r, err := footer.ParseRecord(m.files[s].record)
		if err != nil {
			continue // Open has parsed it
		}
		columns := m.columnsOf(s)
		for g := m.first[s]; g < m.first[s+1]; g++ {
			e := estimateGroup(&r, g-m.first[s], columns, m.groups[g].Rows)
			decoded = mem.Add(decoded, e.Total())
			values = mem.Add(values, mem.Add(e.Values, e.Wide))
		}
	}
	return decoded, values
}

// Items predicts how many items the lists of a column of group g have, nulls and empty lists among
// them. The column is a list of single values.
func (m *Manifest) Items(g, column int) int64 {
	r, group := m.groupRecord(g)
	e := estimate.New(&r, group)
	n := m.columnsOf(int(m.groups[g].Shard))[column]
	if n.Missing || n.Leaf != nil {
		return 0
	}
	return e.Items(n)
}

// FileBytes predicts the bytes of the byte strings of a column of group g, or of a member of
// structs that path leads to. It errs on the low side, and is 0 if the footer does not record them.
func (m *Manifest) FileBytes(g, column int, path []int) int64 {
	r, group := m.groupRecord(g)
	e := estimate.New(&r, group)
	n := m.columnsOf(int(m.groups[g].Shard))[column]
	for _, member := range path {
		if n.Missing || member >= len(n.Children) {
			return 0
		}
		n = n.Children[member]
	}
	if n.Missing {
		return 0
	}
	return e.Spread(n)
}

// WholeBytes predicts what [Decoder.Decode] cannot divide of the narrow columns of group g:
// dictionaries, and columns whose rows cannot change places. It leaves out Made.Drop.
func (m *Manifest) WholeBytes(g int) int64 {
	r, group := m.groupRecord(g)
	e := estimate.New(&r, group)
	for _, n := range m.staying(g) {
		e.Whole(n, m.groups[g].Rows)
	}
	return e.Undivided()
}

// estimate returns bytes without the estimator, so that the record, which is large, stays off the
// heap.
func (m *Manifest) estimate(g int, columns []*schema.Node) estimate.Bytes {
	r, group := m.groupRecord(g)
	return estimateGroup(&r, group, columns, m.groups[g].Rows)
}

func estimateGroup(r *footer.Record, group int, columns []*schema.Node, rows int64) estimate.Bytes {
	e := estimate.New(r, group)
	for _, n := range columns {
		e.Column(n, rows)
	}
	return e.Bytes
}

// Scratch predicts what a decoder of group g takes beside the block.
func (m *Manifest) Scratch(g int) Scratch {
	r, group := m.groupRecord(g)
	return estimate.ScratchOf(&r, group, m.groups[g].Rows, m.columnsOf(int(m.groups[g].Shard)), m.made.drops)
}
