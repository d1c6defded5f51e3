package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// listShape is the levels of a top-level list of leaves.
type listShape struct {
	node   *schema.Node
	starts []uint32       // the slot at which each row starts, and at the end that behind the last
	limit  int            // rows that the footer allows
	valid  parquet.Bitmap // of rows; nil until one is null
	nulls  int
	last   byte // definition level of the entry before the page

	need      int // rows decoded when the page is, at most
	validRoom int // rows that valid has room for

	mayBeWide bool // the rows can be spread over parts, as long as no item is null
}

func (s *listShape) page(c *leafDecoder, rep, def *parquet.LevelRun) (slots, present int, drop bool, err error) {
	if drop, err = c.cut.page(c, rep); drop || err != nil {
		return 0, 0, drop, err
	}
	s.reserve(c, rep.N)
	all, err := def.AllMax()
	if err != nil {
		return 0, 0, false, err
	}
	if all && !rep.Packed && !c.cut.inside {
		if c.valid != nil {
			c.valid.Set(c.slots, def.N)
		}
		return def.N, def.N, false, s.full(c, rep)
	}
	return s.mixed(c, rep, def)
}

// reserve makes room for the rows of a page with the given number of entries.
func (s *listShape) reserve(c *leafDecoder, entries int) {
	rows := min(entries, s.limit-len(s.starts))
	s.need = c.rows + rows
	if n := len(s.starts) + rows + 1; n > cap(s.starts) {
		s.starts = mem.As[uint32](c.d.starts.extend(4*len(s.starts), 4*max(n, cap(s.starts)*3/2)))[:len(s.starts)]
	}
	if s.valid != nil && s.need > s.validRoom {
		old := s.valid
		s.validRoom = max(s.need, s.validRoom*3/2)
		s.valid = c.newBitmap(s.validRoom)
		copy(s.valid, old)
	}
}

func (s *listShape) flushed(c *leafDecoder) error {
	if c.wide != nil {
		return c.wide.flushLists(c, s, false)
	}
	return nil
}

// full takes a page in which every level is an item that is present.
func (s *listShape) full(c *leafDecoder, rep *parquet.LevelRun) error {
	before := len(s.starts)
	var err error
	if s.starts, err = rep.AppendStarts(s.starts, s.limit, uint32(c.slots)); err != nil {
		return err
	}
	rows := len(s.starts) - before
	if goesOn := rep.N > 0 && (rows == 0 || s.starts[before] != uint32(c.slots)); goesOn && int(s.last) < s.node.RepDef {
		return errGoesOn
	}
	if s.valid != nil {
		s.valid.Set(c.rows, rows)
	}
	c.rows += rows
	s.last = byte(c.leaf.MaxDef)
	return nil
}

// mixed takes a page with nulls or empty lists. Eight entries that only add items to the list
// before them are taken at once.
func (s *listShape) mixed(c *leafDecoder, rep, def *parquet.LevelRun) (slots, present int, drop bool, err error) {
	d := c.d
	defLevels, repLevels := d.def.take(def.N), d.rep.take(rep.N)
	if err := def.Expand(defLevels); err != nil {
		return 0, 0, false, err
	}
	if err := rep.Expand(repLevels); err != nil {
		return 0, 0, false, err
	}
	if c.cut.inside {
		repLevels[0], c.cut.inside = 0, false
	}
	itemDef, greatest := byte(s.node.RepDef), byte(def.Max)
	for i := 0; i < len(defLevels); {
		if i+8 <= len(defLevels) && s.last >= itemDef && binary.LittleEndian.Uint64(repLevels[i:]) == parquet.Low1 {
			defs := binary.LittleEndian.Uint64(defLevels[i:])
			switch {
			case defs == uint64(greatest)*parquet.Low1 && c.valid == nil:
				present += 8
			case parquet.AllAtLeast(defs, itemDef):
				present += s.items(c, slots, parquet.EqualBytes(defs, greatest))
			default:
				defs = 0
			}
			if defs != 0 {
				s.last = defLevels[i+7]
				slots, i = slots+8, i+8
				continue
			}
		}
		for end := min(i+8, len(defLevels)); i < end; i++ {
			item, err := s.entry(c, repLevels[i], defLevels[i], slots)
			if err != nil {
				return 0, 0, false, err
			}
			if item {
				present += s.item(c, slots, defLevels[i] == greatest)
				slots++
			}
		}
	}
	c.nulls += slots - present
	return slots, present, false, nil
}

// entry takes one entry of a page that already has slots slots, and reports whether it is an item.
func (s *listShape) entry(c *leafDecoder, rep, def byte, slots int) (item bool, err error) {
	itemDef := byte(s.node.RepDef)
	switch {
	case rep == 0:
		if err := s.startRow(c, uint32(c.slots+slots), int(def) >= s.node.Def); err != nil {
			return false, err
		}
	case def < itemDef && def == s.last:
		return false, nil // DuckDB writes the entry of a null array as often as an array has items
	case def < itemDef || s.last < itemDef:
		return false, errGoesOn
	}
	s.last = def
	return def >= itemDef, nil
}

// item sets the bit of an item, and returns how many are there.
func (s *listShape) item(c *leafDecoder, slots int, there bool) int {
	if !there {
		s.nullItem(c, slots)
		return 0
	}
	if c.valid != nil {
		c.valid.Or(c.slots+slots, 1)
	}
	return 1
}

// items is item for eight, of which those are there whose bit is set.
func (s *listShape) items(c *leafDecoder, slots int, there uint64) int {
	if there != 0xff {
		s.nullItem(c, slots)
	}
	if c.valid != nil {
		c.valid.Or(c.slots+slots, there)
	}
	return bits.OnesCount64(there)
}

// nullItem makes the bitmap of items at the first null, which follows slots items of the page.
func (s *listShape) nullItem(c *leafDecoder, slots int) {
	if c.valid == nil {
		c.needValid()
		c.valid.Set(c.slots, slots)
	}
}

func (s *listShape) startRow(c *leafDecoder, at uint32, valid bool) error {
	if len(s.starts) == s.limit {
		return parquet.ErrRows
	}
	s.starts = append(s.starts, at)
	switch {
	case !valid:
		if s.valid == nil {
			s.validRoom = max(s.need, cap(s.starts))
			s.valid = c.newBitmap(s.validRoom)
			s.valid.Set(0, c.rows)
		}
		s.nulls++
	case s.valid != nil:
		s.valid.Or(c.rows, 1)
	}
	c.rows++
	return nil
}

var errGoesOn = fmt.Errorf("%w: an empty list goes on", parquet.ErrLevels)

// A rowCut leaves out pages before the unit's first row if only the levels determine which rows a
// page holds.
type rowCut struct {
	cut    bool // pages were left out
	inside bool // the next page starts inside of a row that was left out
}

// page reports whether the page can be left out, and counts its rows then.
func (s *rowCut) page(c *leafDecoder, rep *parquet.LevelRun) (drop bool, err error) {
	if rep.N == 0 || c.rows > 0 {
		return false, nil
	}
	first := *rep
	first.N = 1
	var level [1]byte
	if err := first.Expand(level[:]); err != nil {
		return false, err
	}
	if s.inside = level[0] != 0; s.inside && !s.cut {
		return false, fmt.Errorf("%w: the first page begins inside of a row", parquet.ErrLevels)
	}
	if c.scan.known || c.first >= c.d.rows.Lo {
		return false, s.enter(c)
	}
	rows, err := s.count(c, rep)
	if err != nil {
		return false, err
	}
	if c.first+rows > c.d.rows.Lo {
		return false, s.enter(c)
	}
	c.first += rows
	s.cut = true
	return true, nil
}

// count returns the rows that start in a page.
func (s *rowCut) count(c *leafDecoder, rep *parquet.LevelRun) (rows int64, err error) {
	if !rep.Packed {
		_, _, rows, err = rep.Rows(0, 0)
		return rows, err
	}
	levels := c.d.values.take(rep.N)
	err = rep.Expand(levels)
	for _, l := range levels {
		if l == 0 {
			rows++
		}
	}
	return rows, err
}

// enter takes the rest of a row that was left out as a row of its own, which precedes the unit.
func (s *rowCut) enter(c *leafDecoder) error {
	if s.inside {
		c.first--
	}
	return nil
}

func (d *Decoder) list(n *schema.Node) (*block.Vector, error) {
	chunks := d.chunks
	v, err := d.listOf(n, true)
	if errors.Is(err, errNotFlat) {
		d.chunks = chunks
		v, err = d.listOf(n, false)
	}
	return v, err
}

func (d *Decoder) listOf(n *schema.Node, mayBeWide bool) (*block.Vector, error) {
	s := &d.lists
	*s = listShape{node: n, mayBeWide: mayBeWide}
	c, skip, total, err := d.listRows(n.Children[0], s)
	if err != nil {
		return nil, err
	}
	v := &block.Vector{Field: n.Field, Len: total, Skip: skip, Nulls: s.nulls}
	if s.nulls > 0 {
		v.Valid = s.valid
	}
	if c.wide != nil {
		return v, s.fillWide(c, v)
	}
	return v, s.fill(c, v)
}

// listRows decodes the pages of a list's leaf. It returns how many rows precede the unit, and how
// many there are up to its end.
func (d *Decoder) listRows(leaf *schema.Node, s *listShape) (c *leafDecoder, skip, total int, err error) {
	if c, err = d.newColumn(leaf, s); err != nil {
		return nil, 0, 0, err
	}
	if err := c.checkItems(); err != nil {
		return nil, 0, 0, err
	}
	rows := c.chunk.lastRow - c.first
	s.limit = int(rows) + 1 // one may be cut
	s.starts = mem.As[uint32](d.starts.take(4 * (min(s.limit, estimate.LargePage) + 1)))[:0]
	if err := c.pages(); err != nil {
		return nil, 0, 0, err
	}
	skip, total, err = c.window()
	return c, skip, total, err
}

// fillWide gives the vector the items that are in the block's parts.
func (s *listShape) fillWide(c *leafDecoder, v *block.Vector) error {
	if err := c.wide.flushLists(c, s, true); err != nil {
		return err
	}
	v.Views, v.Base, v.ChunkShift = c.wide.views[:v.Len], c.wide.base, chunkShift
	v.Children = []*block.Vector{{Field: c.field}}
	if size := v.Field.ListSize; size > 0 {
		for i := v.Skip; i < v.Len; i++ {
			if n := int(uint32(v.Views[i])) / c.unit; n != size && !(n == 0 && v.Nulls > 0 && v.IsNull(i)) {
				return errListSize(i-v.Skip, n, size)
			}
		}
	}
	return nil
}

func errListSize(row, n, size int) error {
	return fmt.Errorf("row %d of the unit has a list of %d, where the schema declares lists of %d", row, n, size)
}

// fill gives the vector its items, flat if they are Fixed without nulls.
func (s *listShape) fill(c *leafDecoder, v *block.Vector) error {
	s.starts = append(s.starts, uint32(c.slots))
	ends := s.starts[:v.Len+1]
	if err := checkListSize(v, ends); err != nil {
		return err
	}
	items, err := c.vector(c.slots)
	if err != nil {
		return err
	}
	if items.Field.Kind != column.Fixed || c.nulls > 0 {
		v.Offsets = mem.As[uint32](c.arena.Alloc(4 * len(ends)))
		copy(v.Offsets, ends)
		v.Children = []*block.Vector{items}
		return nil
	}
	v.Children = []*block.Vector{{Field: items.Field}}
	if stride, ok := evenStride(ends); ok && s.nulls == 0 {
		v.Data, v.Stride = items.Data, stride
		return nil
	}
	if err := textBudget(int64(len(items.Data))); err != nil {
		return err
	}
	w := uint64(c.unit)
	v.Views = mem.As[uint64](c.arena.Alloc(8 * v.Len))
	for i := range v.Views {
		lo, hi := uint64(ends[i]), uint64(ends[i+1])
		v.Views[i] = lo*w<<32 | (hi-lo)*w
	}
	v.Base = [][]byte{items.Data}
	return nil
}

// checkListSize makes sure that lists of a declared length have it; a null list has no items.
func checkListSize(v *block.Vector, ends []uint32) error {
	size := v.Field.ListSize
	if size == 0 {
		return nil
	}
	for i := v.Skip; i < v.Len; i++ {
		if n := int(ends[i+1] - ends[i]); n != size && !(n == 0 && v.Nulls > 0 && v.IsNull(i)) {
			return errListSize(i-v.Skip, n, size)
		}
	}
	return nil
}

// evenStride returns the length of every list when it is one.
func evenStride(ends []uint32) (stride int, ok bool) {
	if len(ends) < 2 {
		return 0, false
	}
	n := ends[1] - ends[0]
	for i := 1; i < len(ends)-1; i++ {
		if ends[i+1]-ends[i] != n {
			return 0, false
		}
	}
	return int(n), n > 0
}
