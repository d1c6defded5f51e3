package block

import (
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// rowsAhead is how many rows before its copy a row is asked for: it was written long ago.
const rowsAhead = 8

// stacksOf finds where blocks have the rows of a matrix, and how many do.
func (s *stacking) stacksOf(m *Matrix, blocks []*Block) (have int) {
	s.rows = slices.Grow(s.rows[:0], len(blocks))[:len(blocks)]
	for i, b := range blocks {
		s.rows[i] = nil
		if at := slices.IndexFunc(b.stacks, func(r stackedRows) bool { return r.matrix == m }); at >= 0 {
			s.rows[i] = &b.stacks[at]
			have++
		}
	}
	return have
}

// copyStacked copies the picked rows of blocks that have the matrix; of others there is nothing.
func (g *Gatherer) copyStacked(m *Matrix, picks []Pick, items *column.Array) {
	rows, size := g.stacked.rows, m.rowBytes()
	dst, nulls := items.Data, false
	for i, p := range picks {
		if i+rowsAhead < len(picks) {
			p := picks[i+rowsAhead]
			if s := rows[p>>32]; s != nil {
				prefetch(unsafe.Pointer(&s.data[p.Row()*size]), min(uintptr(size), prefetchBytes))
			}
		}
		s := rows[p>>32]
		if s == nil {
			continue
		}
		copy(dst[i*size:(i+1)*size], s.data[p.Row()*size:])
		nulls = nulls || s.valid != nil
	}
	if nulls {
		g.copyValid(m, picks, items)
	}
}

// copyValid notes which features of the picked rows are null.
func (g *Gatherer) copyValid(m *Matrix, picks []Pick, items *column.Array) {
	n, octets := m.Field.ListSize, m.octets()
	for i, p := range picks {
		s := g.stacked.rows[p>>32]
		if s == nil || s.valid == nil {
			continue
		}
		for k, bits := range s.valid[p.Row()*octets : (p.Row()+1)*octets] {
			for feature := k * 8; bits != 0xff; feature++ {
				if bits&1 == 0 {
					g.setNull(items, i*n+feature)
				}
				bits = bits>>1 | 0x80
			}
		}
	}
}

// stackOthers makes the rows of blocks that have the columns in place of the matrix, and puts them
// among the others.
func (g *Gatherer) stackOthers(m *Matrix, blocks []*Block, picks []Pick, items *column.Array) error {
	var others []*Block
	places := make([]int, len(blocks)) // among others
	for i, s := range g.stacked.rows {
		places[i] = -1
		if s == nil {
			places[i] = len(others)
			others = append(others, blocks[i])
		}
	}
	var some []Pick
	var at []int
	for i, p := range picks {
		if k := places[p.Block()]; k >= 0 {
			some, at = append(some, MakePick(k, p.Row())), append(at, i)
		}
	}
	var other Gatherer
	a, err := other.Stack(m, others, some, func(n int) ([]byte, error) { return make([]byte, n), nil })
	if err != nil {
		return err
	}
	n, size := m.Field.ListSize, m.rowBytes()
	for k, i := range at {
		copy(items.Data[i*size:(i+1)*size], a.Children[0].Data[k*size:])
		for feature := range n {
			if a.Children[0].IsNull(k*n + feature) {
				g.setNull(items, i*n+feature)
			}
		}
	}
	return nil
}
