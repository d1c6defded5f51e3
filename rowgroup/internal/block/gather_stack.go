package block

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A Matrix is columns side by side: a batch column of fixed-size lists, one for each row.
type Matrix struct {
	Field   *column.Field // a List of ListSize fixed values
	Members []Member
}

// A Member is a column of a matrix: fixed values or byte strings, or lists of one size, each of
// whose items is a feature.
type Member struct {
	Column int
	Name   string
	At     int   // the first of its features
	Items  int   // of each list; 0: the column has single values
	Places []int // where the items of a stored list are, in the order of features; nil: in that order
	Caster *Caster
	Null   []byte // the bytes that are in place of a null
}

// features is how many features the member has.
func (m *Member) features() int { return max(1, m.Items) }

// tileBytes is about how much of a matrix is made at once: it stays in the second-level cache while
// column after column is written into it. More rows at once find more of a column's pages in the
// processor's table of them.
const tileBytes = 512 << 10

// A stacking is the scratch of Stack.
type stacking struct {
	sources []castSource
	moved   []bool // by member
	nulls   []bool // by member: some block has nulls
	vecs    []*Vector
	srcs    []source
	rows    []*stackedRows // by block; nil where the block has the columns
}

// Stack makes the matrix of the picked rows, row by row. Rows of blocks that were decoded with the
// matrix are copied. Other values are converted on the way from the blocks to their places, column
// by column within tiles of rows. Validity is per feature.
func (g *Gatherer) Stack(m *Matrix, blocks []*Block, picks []Pick, alloc column.Alloc) (*column.Array, error) {
	item := m.Field.Children[0]
	n, w := m.Field.ListSize, item.Width
	if most := 1<<31 - 1; n > 0 && len(picks) > most/n {
		return nil, fmt.Errorf("column %q: %d rows of %d features do not fit one batch; lower the batch size", m.Field.Name, len(picks), n)
	}
	data, err := alloc(len(picks) * n * w)
	if err != nil {
		return nil, err
	}
	items := &column.Array{Field: item, Len: len(picks) * n, Data: data}
	a := &column.Array{Field: m.Field, Len: len(picks), Children: []*column.Array{items}}
	switch g.stacked.stacksOf(m, blocks) {
	case 0:
		err = g.stackColumns(m, blocks, picks, items)
	case len(blocks):
		g.copyStacked(m, picks, items)
	default:
		g.copyStacked(m, picks, items)
		err = g.stackOthers(m, blocks, picks, items)
	}
	clear(g.stacked.rows)
	if err != nil {
		return nil, err
	}
	if items.Nulls == 0 {
		return a, nil
	}
	if items.Valid, err = alloc((items.Len + 7) / 8); err != nil {
		return nil, err
	}
	copy(items.Valid, g.bits)
	return a, nil
}

// stackColumns makes the rows of blocks that have the columns.
func (g *Gatherer) stackColumns(m *Matrix, blocks []*Block, picks []Pick, items *column.Array) error {
	n, w := m.Field.ListSize, items.Field.Width
	g.stacked.bind(m, blocks)
	rows := max(16, tileBytes/(n*w))
	for lo := 0; lo < len(picks); lo += rows {
		some := picks[lo:min(lo+rows, len(picks))]
		for i := range m.Members {
			if err := g.stackTile(m, i, items, lo, some); err != nil {
				return err.of(blocks, m.Members[i].Name)
			}
		}
	}
	return nil
}

// bind finds where the members' values are.
func (s *stacking) bind(m *Matrix, blocks []*Block) {
	members := len(m.Members)
	s.sources, s.moved, s.nulls = slices.Grow(s.sources[:0], members)[:members], slices.Grow(s.moved[:0], members)[:members], slices.Grow(s.nulls[:0], members)[:members]
	s.vecs, s.srcs = slices.Grow(s.vecs[:0], members*len(blocks))[:members*len(blocks)], slices.Grow(s.srcs[:0], members*len(blocks))
	for i := range m.Members {
		from := &m.Members[i]
		c := castSource{caster: from.Caster, vecs: s.vecs[i*len(blocks) : (i+1)*len(blocks)]}
		s.moved[i] = vectorsOf(c.vecs, blocks, from.Column)
		s.nulls[i] = slices.ContainsFunc(c.vecs, func(v *Vector) bool { return v.Nulls > 0 || from.Items > 0 && v.HasItemNulls() })
		if from.Items == 0 && from.Caster.run != nil {
			before := len(s.srcs)
			s.srcs, c.stored = appendSources(s.srcs, c.vecs, from.Caster.from.Width)
			c.srcs = s.srcs[before:]
		}
		s.sources[i] = c
	}
}

// stackTile writes the values of one member of the rows from lo on.
func (g *Gatherer) stackTile(m *Matrix, member int, items *column.Array, lo int, picks []Pick) *misfit {
	from, s := &m.Members[member], &g.stacked.sources[member]
	n, w := m.Field.ListSize, items.Field.Width
	if g.stacked.moved[member] {
		values := g.picks.push(len(picks))
		defer g.picks.pop()
		picks = place(values, s.vecs, picks)
	}
	dst := unsafe.Pointer(&items.Data[(lo*n+from.At)*w])
	var wrong *misfit
	if from.Items > 0 {
		wrong = g.listTile(from, s, picks, dst, n*w)
	} else {
		wrong = g.castValues(s, picks, dst, n)
	}
	if wrong == nil && g.stacked.nulls[member] {
		g.nullTile(from, s, items, lo, n, picks)
	}
	if wrong == nil && from.Places != nil {
		g.orderTile(from, items, lo, n, len(picks))
	}
	return wrong
}

// orderTile puts the items of each row, and their validity, into the order of features.
func (g *Gatherer) orderTile(from *Member, items *column.Array, lo, n, rows int) {
	w := items.Field.Width
	g.raw = slices.Grow(g.raw[:0], from.Items*w)[:from.Items*w]
	valid := make([]byte, from.Items)
	for i := range rows {
		at := (lo+i)*n + from.At
		row := items.Data[at*w : (at+from.Items)*w]
		copy(g.raw, row)
		for to, p := range from.Places {
			copy(row[to*w:(to+1)*w], g.raw[p*w:])
		}
		if items.Nulls == 0 {
			continue
		}
		for k := range valid {
			valid[k] = g.bits[(at+k)>>3] >> ((at + k) & 7) & 1
		}
		for to, p := range from.Places {
			setBit(g.bits, at+to, valid[p])
		}
	}
}

// listTile writes lists of one size, the next row apart bytes after the last.
func (g *Gatherer) listTile(from *Member, s *castSource, picks []Pick, dst unsafe.Pointer, apart int) *misfit {
	m := s.caster
	g.reserve(len(picks))
	for i, p := range picks {
		ptr, n := s.vecs[p>>32].ItemBytes(int(uint32(p)), m.from.Width)
		prefetch(ptr, min(uintptr(n), prefetchBytes))
		g.ptrs[i], g.lens[i] = ptr, n
	}
	for i, p := range picks {
		n := min(int(g.lens[i])/m.from.Width, from.Items) // 0 where the list is null
		if n > 0 && m.run(unsafe.Add(dst, i*apart), 1, g.ptrs[i], n, &g.tmp) {
			if wrong := g.misfitItem(m, s.vecs, p, i); wrong != nil {
				return wrong
			}
		}
	}
	return nil
}

// nullTile writes what is in place of nulls, and their bits.
func (g *Gatherer) nullTile(from *Member, s *castSource, items *column.Array, lo, n int, picks []Pick) {
	for i, p := range picks {
		v, row := s.vecs[p>>32], int(uint32(p))
		at := (lo+i)*n + from.At
		switch {
		case v.Nulls > 0 && v.IsNull(row):
			for k := range from.features() {
				g.nullFeature(items, at+k, from.Null)
			}
		case from.Items > 0 && v.HasItemNulls():
			begin, end := v.ListRange(row)
			for k := begin; k < end; k++ {
				if v.Children[0].IsNull(int(k)) {
					g.nullFeature(items, at+int(k-begin), from.Null)
				}
			}
		}
	}
}

func (g *Gatherer) nullFeature(items *column.Array, at int, null []byte) {
	g.setNull(items, at)
	copy(items.Data[at*len(null):], null)
}

func (g *Gatherer) setNull(items *column.Array, at int) {
	if items.Nulls == 0 {
		g.bits = slices.Grow(g.bits[:0], (items.Len+7)/8)[:(items.Len+7)/8]
		for i := range g.bits {
			g.bits[i] = 0xff
		}
	}
	items.Nulls++
	clearBit(g.bits, at)
}
