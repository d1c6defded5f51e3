package rowgroup

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
)

// StacksFit reports whether matrices take no more than DecodedBytes or KeptBytes predict for the
// columns that they replace, so that these bound the blocks' memory either way. The blocks are the
// given number of parts of a slice of group g with rows rows, kept of which are kept.
func (m *Manifest) StacksFit(s *Stacks, g int, rows, kept int64, parts int) bool {
	r, group := m.groupRecord(g)
	all := m.groups[g].Rows
	e := estimate.New(&r, group)
	few := 2*kept < rows
	if few {
		e = m.keptEstimator(g, kept)
	}
	for i, n := range m.columnsOf(int(m.groups[g].Shard)) {
		switch {
		case !s.Drops(i):
		case few:
			e.Column(n, kept)
		default:
			e.Column(n, all)
		}
	}
	have := e.Filled()
	if !few {
		have = mem.MulDiv(have, rows, all)
	}
	var need estimate.Estimator
	for range max(1, parts) {
		of := (kept + int64(max(1, parts)) - 1) / int64(max(1, parts))
		for _, n := range s.RowSizes(m.schema) {
			need.Alloc(mem.MulDiv(of, int64(n), 1))
		}
	}
	return need.Filled() <= have
}
