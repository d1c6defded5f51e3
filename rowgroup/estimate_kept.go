package rowgroup

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A Kept is the predicted memory of blocks that hold some of a group's rows; see [Layout.Order].
type Kept struct {
	Narrow, Wide int64 // as of DecodedBytes, where rows that are kept are about as long as others
	Whole        int64 // of Narrow, as of WholeBytes
	Divided      int64 // the rest of Narrow, without what the buffers of one block leave empty
	Most         int64 // Narrow and Wide if the kept rows are longer than average: all text and items may be theirs
}

// KeptBytes predicts the memory of blocks that hold kept rows of group g when their lists are made,
// without these and without Made.Drop, and errs on the high side. From half of the rows on, it
// predicts the memory of all rows.
func (m *Manifest) KeptBytes(g int, kept int64) Kept {
	rows := m.groups[g].Rows
	var k Kept
	if 2*kept >= rows {
		e := m.estimate(g, m.staying(g))
		k.Narrow, k.Wide = e.decoded()
		k.Whole, k.Most = min(m.WholeBytes(g), k.Narrow), mem.Add(k.Narrow, k.Wide)
		k.Divided = k.Narrow - k.Whole
		return k
	}
	likely := m.keptEstimator(g, kept)
	most, whole := likely, likely
	most.allText = true
	for _, n := range m.staying(g) {
		likely.column(n, kept)
		most.column(n, kept)
		whole.tables(n)
	}
	k.Narrow, k.Wide = likely.decoded()
	large := mem.Add(most.narrow, most.wide)
	k.Most = mem.Add(large, most.smallBytes(large))
	k.Whole = min(mem.Add(whole.narrow, whole.smallBytes(whole.narrow)), k.Narrow)
	k.Divided = max(0, mem.Add(likely.narrow, likely.small)-mem.Add(whole.narrow, whole.small))
	return k
}

func (m *Manifest) keptEstimator(g int, kept int64) estimator {
	r, group := m.groupRecord(g)
	return estimator{r: &r, group: group, kept: kept, rows: m.groups[g].Rows, few: true}
}

// share estimates the kept share of n values or of their bytes.
func (e *estimator) share(n int64) int64 {
	const unevenPart = 8
	if !e.few || e.allText {
		return n
	}
	part := mem.MulDiv(n, e.kept, e.rows)
	return min(n, part+part/unevenPart+1)
}

// tables adds the dictionaries of a column.
func (e *estimator) tables(n *schema.Node) {
	switch {
	case n.Partition != nil:
		e.alloc(int64(len(n.Partition.Data)))
	case n.Missing:
	case n.Leaf != nil:
		e.dictionary(n)
	default:
		for _, c := range n.Children {
			e.tables(c)
		}
	}
}

// fewScratch estimates the scratch of a column of a group until its few rows are copied: all its
// rows, and the items that are copied. Wide values are copied page by page.
func fewScratch(r *footer.Record, group int, rows int64, n *schema.Node) int64 {
	e := estimator{r: r, group: group}
	e.column(n, rows)
	if _, isWide := e.wideSize(n, rows); !isWide {
		e.orders(n)
	}
	return mem.Add(scratchBytes(e.narrow), e.smallBytes(e.narrow))
}

// orders adds the places of the items of lists.
func (e *estimator) orders(n *schema.Node) {
	if n.Leaf != nil || n.Missing || n.Partition != nil {
		return
	}
	if n.Field.Kind != column.Struct {
		e.alloc(mem.MulDiv(e.items(n), 4, 1))
	}
	for _, c := range n.Children {
		e.orders(c)
	}
}
