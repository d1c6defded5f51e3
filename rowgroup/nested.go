package rowgroup

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// nestedShape keeps the levels of a whole leaf, one byte each, so that its ancestors can be
// assembled from them. A leaf that neither repeats nor has a null only has its levels counted.
type nestedShape struct {
	itemDef  int // definition level from which an entry has a slot
	entries  int
	expanded bool
	def, rep []byte
}

func (s *nestedShape) flushed(*leafDecoder) error { return nil }

func (s *nestedShape) page(c *leafDecoder, rep, def *parquet.LevelRun) (slots, present int, drop bool, err error) {
	if rep.Max > 0 {
		if drop, err = c.cut.page(c, rep); drop || err != nil {
			return 0, 0, drop, err
		}
	}
	all, err := def.AllMax()
	if err != nil {
		return 0, 0, false, err
	}
	if all && rep.Max == 0 && !s.expanded {
		s.entries += def.N
		c.rows += def.N
		return def.N, def.N, false, nil
	}
	if err := s.expand(c, rep, def); err != nil {
		return 0, 0, false, err
	}
	page := s.def[s.entries:]
	c.rows += s.countRows()
	s.entries += def.N
	if all {
		if c.valid != nil {
			c.valid.Set(c.slots, def.N)
		}
		return def.N, def.N, false, nil
	}
	c.needValid()
	slots, present = len(page), 0
	if s.itemDef == 0 {
		present = c.valid.AppendEqual(c.slots, page, byte(def.Max))
	} else {
		slots, present = s.slotBits(c, page, byte(def.Max))
	}
	c.nulls += slots - present
	return slots, present, false, nil
}

// slotBits sets the validity of the entries that have a slot.
func (s *nestedShape) slotBits(c *leafDecoder, page []byte, greatest byte) (slots, present int) {
	at := c.slots
	for _, l := range page {
		if l == greatest {
			c.valid.Or(at, 1)
			present++
		}
		if int(l) >= s.itemDef {
			at++
		}
	}
	return at - c.slots, present
}

// expand appends the page's levels to the leaf's.
func (s *nestedShape) expand(c *leafDecoder, rep, def *parquet.LevelRun) error {
	n := s.entries + def.N
	if !s.expanded {
		s.expanded = true
		s.def = c.d.def.take(max(n, c.room))[:s.entries]
		parquet.FillBytes(s.def, byte(def.Max))
		if rep.Max > 0 {
			s.rep = c.d.rep.take(max(n, c.room))[:0]
		}
	}
	s.def = c.d.def.extend(s.entries, n)[:n]
	if err := def.Expand(s.def[s.entries:]); err != nil {
		return err
	}
	if rep.Max == 0 {
		return nil
	}
	s.rep = c.d.rep.extend(s.entries, n)[:n]
	if err := rep.Expand(s.rep[s.entries:]); err != nil {
		return err
	}
	if c.cut.inside {
		s.rep[s.entries], c.cut.inside = 0, false
	}
	return nil
}

// countRows counts the rows that start in the entries that expand appended.
func (s *nestedShape) countRows() int {
	if len(s.rep) == 0 {
		return len(s.def) - s.entries
	}
	rows := 0
	for _, l := range s.rep[s.entries:] {
		if l == 0 {
			rows++
		}
	}
	return rows
}

// trim removes the entries outside of the unit's rows. It returns how many slots precede them and
// how many are left.
func (s *nestedShape) trim(skip, total int) (before, slots int) {
	if len(s.rep) == 0 || !s.expanded {
		if s.expanded {
			s.def = s.def[skip:total]
		}
		s.entries = total - skip
		return skip, s.entries
	}
	begin, end, row := 0, len(s.rep), -1
	for i, l := range s.rep {
		if l != 0 {
			continue
		}
		if row++; row == skip {
			begin = i
		}
		if row == total {
			end = i
			break
		}
	}
	if row < skip {
		begin = end
	}
	before, slots = s.slots(s.def[:begin]), s.slots(s.def[begin:end])
	s.def, s.rep, s.entries = s.def[begin:end], s.rep[begin:end], end-begin
	return before, slots
}

// slots counts the entries that have a slot.
func (s *nestedShape) slots(def []byte) (n int) {
	for _, l := range def {
		if int(l) >= s.itemDef {
			n++
		}
	}
	return n
}

// An ancestor is a Struct, List or Map on the way from a column to a leaf.
type ancestor struct {
	node *schema.Node
	vec  *block.Vector // nil until the first leaf below has been decoded
}

// An assembly puts a nested column together, leaf by leaf.
type assembly struct {
	d    *Decoder
	path []ancestor
	rows int
}

func (d *Decoder) nested(n *schema.Node) (*block.Vector, error) {
	a := assembly{d: d, rows: int(d.rows.Hi - d.rows.Lo)}
	return a.node(n)
}

// node returns the vector of a node. Members that the file lacks come last, when the others have
// told how many values there are.
func (a *assembly) node(n *schema.Node) (*block.Vector, error) {
	if n.Leaf != nil {
		return a.leaf(n)
	}
	depth := len(a.path)
	a.path = append(a.path, ancestor{node: n})
	kids := make([]*block.Vector, len(n.Children))
	for i, c := range n.Children {
		if c.Absent() {
			continue
		}
		v, err := a.node(c)
		if err != nil {
			return nil, err
		}
		kids[i] = v
	}
	v := a.path[depth].vec
	a.path = a.path[:depth]
	if v == nil {
		return nil, fmt.Errorf("%w: a node without leaves", errChunk)
	}
	for i, c := range n.Children {
		switch {
		case c.Partition != nil:
			kids[i] = a.d.constant(c, itemCount(v))
		case c.Missing:
			kids[i] = block.NewNull(c.Field, itemCount(v))
		}
	}
	v.Children = kids
	return v, nil
}

// items is the number of values that the children of a vector have.
func itemCount(v *block.Vector) int {
	if v.Field.Kind == column.Struct {
		return v.Len
	}
	return int(v.Offsets[v.Len])
}

// leaf decodes one leaf and assembles its ancestors, or compares them with the ancestors that
// earlier leaves gave.
func (a *assembly) leaf(n *schema.Node) (*block.Vector, error) {
	s := &a.d.nest
	*s = nestedShape{}
	for _, p := range a.path {
		if p.node.Rep <= n.Leaf.MaxRep && p.node.Field.Kind != column.Struct {
			s.itemDef = p.node.RepDef
		}
	}
	c, err := a.d.newColumn(n, s)
	if err != nil {
		return nil, err
	}
	if err := c.checkItems(); err != nil {
		return nil, err
	}
	if err := c.pages(); err != nil {
		return nil, err
	}
	before, slots, err := a.ancestors(c, s)
	if err != nil {
		return nil, err
	}
	if want := a.slots(); slots != want && n.Leaf.Convert != schema.ConvertNull {
		return nil, fmt.Errorf("%w: %d values where %d belong", parquet.ErrLevels, slots, want)
	}
	if n.Leaf.Convert == schema.ConvertNull || n.Field.Kind == column.Null {
		return a.nulls(n.Field), nil
	}
	v, err := c.vector(before + slots)
	if err != nil {
		return nil, err
	}
	dropFront(v, before, c)
	return v, nil
}

// nulls returns the values of a leaf that has only nulls. As items of a list they are plain.
func (a *assembly) nulls(f *column.Field) *block.Vector {
	v := block.NewNull(f, a.slots())
	if p := a.path; f.Kind == column.Fixed && len(p) > 0 && p[len(p)-1].node.Field.Kind == column.List && v.Len > 0 {
		v.Data = a.d.arena.Alloc(v.Len * f.Width)
		clear(v.Data)
		v.Valid = mem.As[uint64](a.d.arena.Alloc(8 * parquet.BitmapWords(v.Len)))
		clear(v.Valid)
	}
	return v
}

// ancestors assembles all ancestors of a leaf from the entries of the unit's rows. It returns how
// many slots precede those rows and how many they have.
func (a *assembly) ancestors(c *leafDecoder, s *nestedShape) (before, slots int, err error) {
	skip, total, err := c.window()
	if err != nil {
		return 0, 0, err
	}
	before, slots = s.trim(skip, total)
	for i := range a.path {
		if err := a.ancestor(i, c, s); err != nil {
			return 0, 0, err
		}
	}
	return before, slots, nil
}

// slots is the number of values of a node below the path.
func (a *assembly) slots() int {
	if len(a.path) == 0 {
		return a.rows
	}
	return itemCount(a.path[len(a.path)-1].vec)
}

// dropFront takes the first k values off a leaf's vector.
func dropFront(v *block.Vector, k int, c *leafDecoder) {
	if k == 0 {
		return
	}
	v.Len -= k
	switch {
	case v.Data != nil:
		v.Data = v.Data[k*c.unit:]
	case v.Codes != nil:
		v.Codes = v.Codes[k*c.unit:]
	case v.Views != nil:
		v.Views = v.Views[k:]
	}
	if v.Valid == nil {
		return
	}
	m := parquet.Bitmap(v.Valid)
	moved := c.newBitmap(v.Len)
	for i := 0; i < v.Len; i += 64 {
		moved[i>>6] = m.At(k + i)
	}
	v.Valid, v.Nulls = moved, v.Len-moved.Ones(0, v.Len)
	if v.Nulls == 0 {
		v.Valid = nil
	}
}
