package shuffle

import (
	"math"
	"sort"
)

// Limits of the cut of row groups into units.
const (
	minSliceBytes = 16 << 20  // a slice that is cut for the sake of mixing holds at least this
	maxUnitBytes  = 256 << 20 // more is cut whatever it costs
	maxUnitRows   = 1 << 24   // a unit's permutation then takes 64 MiB at most
	maxSlices     = 8
	maxGroupUnits = 1 << 24 // more means that the metadata is wrong or unit_rows absurd
)

// Unit is the rows that are loaded and permuted together: rows [Lo, Hi) of a row group. The order
// counts the samples that they make.
type Unit struct {
	Group   int // index into Manifest.Groups
	Lo, Hi  int64
	Samples int64 // Hi - Lo; under Manifest.Rule any number from 0 to 2^31-1
}

// Rows of the unit.
func (u Unit) Rows() int64 { return u.Hi - u.Lo }

// Layout describes a row group to the cut into units. It comes only from the files, not from the
// projection or the machine.
type Layout struct {
	Bytes int64   // uncompressed, all columns
	Pages []int64 // first rows of the data pages of the widest column, ascending; empty without a page index

	// Decoded returns the bytes to decode if the slices between these edges (ascending, without 0
	// and the end) are read one by one; pages across an edge count twice. It is not called without
	// Pages. If it is nil, nothing is cut for the sake of mixing.
	Decoded func(edges []int64) int64
}

// CutUnits cuts the groups of a manifest into units, in order; groups without rows have no unit.
// Each row is a sample. CutUnits calls layout once per group with its number. unitRows > 0 pins the
// size: a group becomes ceil(rows/unitRows) slices, with edges moved to pages if they are known.
// Otherwise a group is cut into the largest p of 8, 4, 2 whose slices keep 16 MiB and whose bytes
// to decode grow by at most a tenth, and units over 256 MiB or 2^24 rows are cut further by rows.
func CutUnits(m *Manifest, layout func(group int) Layout, unitRows int64) (Units, error) {
	if unitRows < 0 {
		return Units{}, refuse("unit_rows", "%d is not a number of rows", unitRows)
	}
	units := Units{groups: m.Groups}
	for g := range m.Groups {
		rows := m.Groups[g].Rows
		if rows == 0 {
			units.add(g, 0, nil)
			continue
		}
		l := layout(g)
		if need := leastUnits(rows, l.Bytes, unitRows); need > maxGroupUnits {
			return Units{}, refuse("unit_rows", "group %d of shard %q (%d rows, %d bytes) would be %d units, the limit is %d",
				m.Groups[g].Index, m.Shards[m.Groups[g].Shard].Path, rows, l.Bytes, need, maxGroupUnits)
		}
		if !units.add(g, rows, groupEdges(rows, l, unitRows)) {
			return Units{}, errManyUnits(g)
		}
	}
	return units, nil
}

func errManyUnits(group int) error {
	return refuse("unit_rows", "the units of %d row groups are more than %d", group+1, math.MaxInt32)
}

// leastUnits returns the number of units that a group's size demands: ceil(rows/q), where q is the
// rows of the largest allowed unit.
func leastUnits(rows, bytes, unitRows int64) int64 {
	q := unitRows
	if q == 0 {
		q = maxUnitRows
		if bytes > 0 {
			q = max(1, mulDiv(maxUnitBytes, rows, bytes))
		}
	}
	return ceilDiv(rows, min(q, maxUnitRows))
}

// groupEdges returns the inner edges of a group's units.
func groupEdges(rows int64, l Layout, unitRows int64) []int64 {
	if unitRows == 0 {
		if edges := mixEdges(rows, l); fits(rows, edges, l.Bytes) {
			return edges
		}
	}
	pieces := leastUnits(rows, l.Bytes, unitRows)
	edges := pageEdges(rows, pieces, l.Pages)
	if unitRows > 0 && largest(rows, edges) <= maxUnitRows || fits(rows, edges, l.Bytes) {
		return edges
	}
	return rowEdges(rows, pieces)
}

// mixEdges cuts a group for the sake of mixing, where that is cheap: a known page index, slices of
// 16 MiB, a tenth more to decode.
func mixEdges(rows int64, l Layout) []int64 {
	if len(l.Pages) == 0 || l.Decoded == nil {
		return nil
	}
	whole := l.Decoded(nil)
	for p := int64(maxSlices); p > 1; p /= 2 {
		if l.Bytes/p < minSliceBytes || rows < p {
			continue
		}
		edges := pageEdges(rows, p, l.Pages)
		if len(edges) > 0 && mulLE(l.Decoded(edges), 10, whole, 11) {
			return edges
		}
	}
	return nil
}

// fits reports whether no slice exceeds 256 MiB, counting each row as the group's mean row, or 2^24
// rows.
func fits(rows int64, edges []int64, bytes int64) bool {
	most := largest(rows, edges)
	return most <= maxUnitRows && mulLE(most, max(0, bytes), maxUnitBytes, rows)
}

func largest(rows int64, edges []int64) int64 {
	most, lo := int64(0), int64(0)
	for _, e := range edges {
		most, lo = max(most, e-lo), e
	}
	return max(most, rows-lo)
}

// rowEdges: edge c of p is floor(rows*c/p).
func rowEdges(rows, p int64) []int64 {
	edges := make([]int64, 0, p-1)
	for c := int64(1); c < p; c++ {
		edges = append(edges, mulDiv(rows, c, p))
	}
	return edges
}

// pageEdges moves each row edge to the nearest first row of a page, the lower of two equally near,
// and drops what then coincides.
func pageEdges(rows, p int64, pages []int64) []int64 {
	edges := rowEdges(rows, p)
	if len(pages) == 0 {
		return edges
	}
	kept, last := edges[:0], int64(0)
	for _, e := range edges {
		e = nearest(pages, e)
		if e > last && e < rows {
			kept, last = append(kept, e), e
		}
	}
	return kept
}

func nearest(pages []int64, row int64) int64 {
	i := sort.Search(len(pages), func(i int) bool { return pages[i] >= row })
	switch {
	case i == len(pages):
		return pages[i-1]
	case i > 0 && row-pages[i-1] <= pages[i]-row:
		return pages[i-1]
	}
	return pages[i]
}

// checkUnits checks that the units cover the groups of a manifest and have samples as its rule
// allows.
func checkUnits(m *Manifest, u Units) error {
	units := u.list
	if len(units) > math.MaxInt32 {
		return refuse("units", "%d are more than %d", len(units), math.MaxInt32)
	}
	if units == nil && u.n > 0 {
		return checkCut(m, u)
	}
	i := 0
	for g := range m.Groups {
		lo, rows := int64(0), m.Groups[g].Rows
		for ; i < len(units) && units[i].Group == g; i++ {
			u := units[i]
			if u.Lo != lo || u.Hi <= u.Lo || u.Hi > rows || u.Hi-u.Lo > math.MaxInt32 {
				return refuse("units", "unit %d is rows %d..%d of group %d of %d rows, where rows from %d on come", i, u.Lo, u.Hi, g, rows, lo)
			}
			if err := m.checkSamples(i, u); err != nil {
				return err
			}
			lo = u.Hi
		}
		if lo != rows {
			return refuse("units", "no unit has the rows from %d on of group %d, which has %d rows", lo, g, rows)
		}
	}
	if i < len(units) {
		return refuse("units", "unit %d of group %d does not follow the groups of the manifest", i, units[i].Group)
	}
	return nil
}

// checkCut checks that cut units belong to the manifest and have rows for samples.
func checkCut(m *Manifest, u Units) error {
	switch {
	case len(u.groups) != len(m.Groups) || &u.groups[0] != &m.Groups[0]:
		return refuse("units", "are cut from another manifest")
	case m.chooses():
		return refuse("units", "have the samples of a rule: they must be listed, not cut")
	case u.sizes.largest > math.MaxInt32:
		return refuse("units", "the largest has %d rows, the limit is %d", u.sizes.largest, math.MaxInt32)
	}
	return nil
}

// chooses reports whether a rule decides which rows are samples.
func (m *Manifest) chooses() bool { return m.Rule != "" && !m.EachRow }

// checkSamples checks the number of samples of unit i.
func (m *Manifest) checkSamples(i int, u Unit) error {
	switch {
	case !m.chooses() && u.Samples != u.Rows():
		return refuse("units", "unit %d has %d samples of %d rows; without a rule each row is one", i, u.Samples, u.Rows())
	case u.Samples < 0 || u.Samples > math.MaxInt32:
		return refuse("units", "unit %d has %d samples, it must be from 0 to %d", i, u.Samples, math.MaxInt32)
	}
	return nil
}

// hashUnits hashes how the groups of sampled shards were cut, and under a rule the samples of each
// unit.
func (p *Plan) hashUnits(sampled []bool) string {
	h := newHasher("shardfeed/units/1")
	for _, u := range p.units.All() {
		if sampled != nil && !sampled[p.manifest.Groups[u.Group].Shard] {
			continue
		}
		h.number(int64(p.groupID(u.Group)))
		h.number(u.Lo)
		if p.manifest.chooses() {
			h.number(-1) // which no group is: another list of units never writes the same
			h.number(u.Samples)
		}
	}
	return h.sum()[:16]
}
