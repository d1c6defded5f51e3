package rowgroup

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
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
		k.Narrow, k.Wide = e.Block()
		k.Whole, k.Most = min(m.WholeBytes(g), k.Narrow), mem.Add(k.Narrow, k.Wide)
		k.Divided = k.Narrow - k.Whole
		return k
	}
	likely := m.keptEstimator(g, kept)
	most, whole := likely, likely
	most.AllText = true
	for _, n := range m.staying(g) {
		likely.Column(n, kept)
		most.Column(n, kept)
		whole.Tables(n)
	}
	k.Narrow, k.Wide = likely.Block()
	k.Most = most.Total()
	k.Whole = min(whole.Undivided(), k.Narrow)
	k.Divided = max(0, likely.Filled()-whole.Filled())
	return k
}

func (m *Manifest) keptEstimator(g int, kept int64) estimate.Estimator {
	r, group := m.groupRecord(g)
	return estimate.NewKept(&r, group, kept, m.groups[g].Rows)
}
