package block

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// Cast is Gather of a column of fixed values or byte strings, or of lists of fixed values, whose
// values a caster converts as they are copied. to is the field that the column has then. The values
// of a column without lists go into data, if it is not nil.
func (g *Gatherer) Cast(col int, to *column.Field, m *Caster, blocks []*Block, picks []Pick, data []byte, alloc column.Alloc) (*column.Array, error) {
	g.blocks, g.name = blocks, to.Name
	defer func() { g.blocks = nil }()
	vecs := g.vecs.push(len(blocks))
	defer g.vecs.pop()
	moved := vectorsOf(vecs, blocks, col)
	if moved {
		values := g.picks.push(len(picks))
		defer g.picks.pop()
		picks = place(values, vecs, picks)
	}
	a := &column.Array{Field: to, Len: len(picks), Data: data}
	if err := g.valid(a, vecs, picks, alloc); err != nil {
		return nil, err
	}
	if to.Kind == column.List {
		g.cast = m
		defer func() { g.cast = nil }()
		return a, g.list(a, vecs, picks, alloc)
	}
	if a.Data == nil {
		var err error
		if a.Data, err = alloc(a.Len * m.width); err != nil {
			return nil, err
		}
	}
	a.Data = a.Data[:a.Len*m.width]
	return a, g.castFixed(a, m, vecs, picks)
}

// castFixed converts fixed values or byte strings into the array's data. Bytes under a null become
// zero.
func (g *Gatherer) castFixed(a *column.Array, m *Caster, vecs []*Vector, picks []Pick) error {
	s := castSource{caster: m, vecs: vecs}
	s.srcs, s.stored = appendSources(g.srcs[:0], vecs, m.from.Width)
	g.srcs = s.srcs
	if len(picks) == 0 {
		return nil
	}
	if wrong := g.castValues(&s, picks, unsafe.Pointer(&a.Data[0]), 1); wrong != nil {
		return wrong.of(g.blocks, g.name)
	}
	if a.Nulls > 0 {
		clearNulls(a.Data, a.Valid, m.width, a.Len)
	}
	return nil
}

// vectorsOf are a column's vectors, and whether rows of blocks are at other places of them.
func vectorsOf(vecs []*Vector, blocks []*Block, col int) (moved bool) {
	for i, b := range blocks {
		vecs[i] = b.cols[col]
		moved = moved || vecs[i].Skip != 0 || vecs[i].Order != nil
	}
	return moved
}

// place makes picks of values of picks of rows.
func place(values []Pick, vecs []*Vector, picks []Pick) []Pick {
	for i, p := range picks {
		v := vecs[p>>32]
		if v.Order != nil {
			p = p&^0xffffffff | Pick(v.Order[uint32(p)])
		}
		values[i] = p + Pick(v.Skip)
	}
	return values
}

// A castSource is where a caster's values are.
type castSource struct {
	caster *Caster
	vecs   []*Vector
	srcs   []source // of Fixed values
	stored bool     // by all of srcs
}

// A misfit is a value that a cast cannot make.
type misfit struct {
	pick Pick
	in   *Vector
	err  *CastError
}

// of is the error for the user. It names the place of the value: the row too where the column is
// the block's own and has the rows in the order of the file.
func (m *misfit) of(blocks []*Block, name string) error {
	b := blocks[m.pick.Block()]
	e := &Error{Op: "cast", URI: b.from.URI, RowGroup: b.from.RowGroup, Column: name, Page: -1, Err: m.err, Hint: m.err.Hint()}
	if (b.from.InOrder || m.in.Order != nil) && slices.Contains(b.cols, m.in) {
		e.Err = fmt.Errorf("row %d of the row group: %w", b.from.First+int64(m.pick.Row()-m.in.Skip), m.err)
	}
	return e
}

// castValues converts the values of picks. What it makes of nulls means nothing.
func (g *Gatherer) castValues(s *castSource, picks []Pick, dst unsafe.Pointer, stride int) *misfit {
	if m := s.caster; m.gather != nil && s.stored && !m.gather(dst, stride, s.srcs, picks) {
		return nil
	}
	for lo := 0; lo < len(picks); lo += tileRows { // and if one does not fit, to find it
		some := picks[lo:min(lo+tileRows, len(picks))]
		if wrong := g.castTile(s, some, unsafe.Add(dst, lo*stride*s.caster.width), stride); wrong != nil {
			return wrong
		}
	}
	return nil
}

// castTile is castValues of at most tileRows picks.
func (g *Gatherer) castTile(s *castSource, picks []Pick, dst unsafe.Pointer, stride int) *misfit {
	m, n := s.caster, len(picks)
	if m.run == nil {
		g.hashTile(s, picks)
		m.store(dst, stride, unsafe.Pointer(&g.hashes), n, &g.tmp)
		return nil
	}
	w := m.from.Width
	g.raw = slices.Grow(g.raw[:0], tileRows*w)[:n*w]
	gatherValues(g.raw, s.srcs, s.stored, w, picks)
	raw := unsafe.Pointer(unsafe.SliceData(g.raw))
	if !m.run(dst, stride, raw, n, &g.tmp) {
		return nil
	}
	for i, p := range picks {
		v := s.vecs[p>>32]
		if at := unsafe.Add(raw, i*w); (v.Nulls == 0 || !v.IsNull(int(uint32(p)))) && m.one(at, &g.tmp) {
			return &misfit{p, v, m.misfit(at)}
		}
	}
	return nil
}

// hashTile hashes byte strings.
func (g *Gatherer) hashTile(s *castSource, picks []Pick) {
	g.reserve(len(picks))
	for i, p := range picks {
		ptr, n := s.vecs[p>>32].Value(int(uint32(p)))
		prefetch(ptr, min(uintptr(n), prefetchBytes))
		g.ptrs[i], g.lens[i] = ptr, n
	}
	for i := range picks {
		g.hashes[i] = s.caster.hash(unsafe.Slice((*byte)(g.ptrs[i]), g.lens[i]))
	}
}

// castItems is fixedItems with a conversion in place of the copy.
func (g *Gatherer) castItems(a *column.Array, m *Caster, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	from, size := m.from.Width, a.Field.ListSize
	g.reserve(len(picks))
	total, itemNulls := uint64(0), false
	for i, p := range picks {
		v := vecs[p>>32]
		ptr, n := v.ItemBytes(int(uint32(p)), from)
		prefetch(ptr, min(uintptr(n), prefetchBytes))
		g.ptrs[i], g.lens[i] = ptr, n
		total += uint64(n)
		itemNulls = itemNulls || v.HasItemNulls()
	}
	total /= uint64(from)
	if size > 0 {
		total = uint64(len(picks)) * uint64(size)
	} else if err := g.offsets(a, total*uint64(from), uint32(from), alloc); err != nil {
		return err
	}
	items := &column.Array{Field: a.Field.Children[0], Len: int(total)}
	a.Children = []*column.Array{items}
	var err error
	if items.Data, err = alloc(items.Len * m.width); err != nil {
		return err
	}
	for i, dst := 0, items.Data; i < len(picks); i++ {
		n := int(g.lens[i]) / from
		if size > 0 {
			n = min(n, size)
		}
		if n > 0 && m.run(unsafe.Pointer(unsafe.SliceData(dst)), 1, g.ptrs[i], n, &g.tmp) {
			if wrong := g.misfitItem(m, vecs, picks[i], i); wrong != nil {
				return wrong.of(g.blocks, g.name)
			}
		}
		if size > 0 {
			clear(dst[n*m.width : size*m.width])
			n = size
		}
		dst = dst[n*m.width:]
	}
	if !itemNulls {
		return nil
	}
	if err := gatherItemNulls(a, items, vecs, picks, alloc); err != nil || items.Nulls == 0 {
		return err
	}
	clearNulls(items.Data, items.Valid, m.width, items.Len)
	return nil
}

// misfitItem looks for an item of row i that does not fit.
func (g *Gatherer) misfitItem(m *Caster, vecs []*Vector, p Pick, i int) *misfit {
	v := vecs[p>>32]
	lo := uint32(0)
	if v.HasItemNulls() {
		lo, _ = v.ListRange(int(uint32(p)))
	}
	for k := range int(g.lens[i]) / m.from.Width {
		if v.HasItemNulls() && v.Children[0].IsNull(int(lo)+k) {
			continue
		}
		if at := unsafe.Add(g.ptrs[i], k*m.from.Width); m.one(at, &g.tmp) {
			return &misfit{p, v, m.misfit(at)}
		}
	}
	return nil
}
