package rowgroup

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
)

// PackedBytes predicts the bytes of the values of group g in columns that a packing does not lay
// out as tokens: each row once, texts in place of codes.
func (m *Manifest) PackedBytes(g int, p *Packing) int64 {
	r, group := m.groupRecord(g)
	e := estimate.New(&r, group)
	rows := m.groups[g].Rows
	for i, n := range m.columnsOf(int(m.groups[g].Shard)) {
		if p.Columns[i].Tokens || p.schema.Fields[i].Innermost().Kind == column.Null {
			continue
		}
		e.Column(n, rows)
		if n.Field.Kind == column.Binary && n.IsPlainLeaf() {
			e.Values = mem.Add(e.Values, mem.MulDiv(rows, codedText, 1))
		}
	}
	return mem.Add(e.Values, e.Wide)
}

// codedText estimates the bytes that a row takes of a text that a dictionary shares among many
// rows.
const codedText = 16

// ListItems is how many items the lists of a column have in group g by the footer, which counts an
// empty or null list as one.
func (m *Manifest) ListItems(g, col int) int64 {
	r, group := m.groupRecord(g)
	e := estimate.New(&r, group)
	n := m.columnsOf(int(m.groups[g].Shard))[col]
	if n.Missing || n.Partition != nil {
		return 0
	}
	return e.Items(n)
}
