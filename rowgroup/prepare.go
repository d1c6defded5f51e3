package rowgroup

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// newColumn reads the headers of a leaf's chunk and gets the memory that they call for.
func (d *Decoder) newColumn(n *schema.Node, s shape) (*leafDecoder, error) {
	chunk, err := d.nextChunk(n)
	if err != nil {
		return nil, err
	}
	c := &d.col
	*c = leafDecoder{
		d: d, arena: d.arena, keep: d.dict, chunk: chunk, leaf: n.Leaf, field: n.Field, scan: &d.scan, levels: s,
		stored: n.Leaf.StoredWidth(), sink: d.sink,
	}
	if d.at, err = d.scan.scan(chunk, d.rows, d.largePage()); err != nil {
		return nil, err
	}
	d.at = -1
	c.first = d.scan.first
	c.noValues = n.Leaf.Convert == schema.ConvertNull || n.Field.Kind == column.Null
	c.chooseForm()
	c.chooseParts()
	if err := c.prepare(); err != nil {
		return nil, err
	}
	return c, nil
}

// chooseForm decides how slots are stored. Codes of Fixed values are kept if they and their
// dictionary are smaller than the values, but not in lists, which are copied whole.
func (c *leafDecoder) chooseForm() {
	s := c.scan
	n := s.dict.Values
	coded := s.hasDict() && s.coded == s.pages && s.pages > 0
	if coded && n == 0 && c.field.Kind == column.Fixed && c.leaf.MaxRep == 0 {
		c.noValues = true // a null takes no memory
	}
	switch {
	case c.noValues:
		c.unit = 0
	case c.field.Kind == column.Binary && coded:
		c.form, c.unit = codes, block.CodeWidth(n)
	case c.field.Kind == column.Binary:
		c.form, c.unit = views, 8
	default:
		c.unit = c.field.Width
		small := s.values*block.CodeWidth(n)+n*c.unit <= s.values*c.unit
		if c.d.layout.Order != nil {
			// Looking up in a large dictionary costs a gather more than values side by side.
			small = small && (block.CodeWidth(n) == 1 || n <= estimate.SmallTable*c.unit)
		}
		if coded && small && n > 0 && c.leaf.MaxRep == 0 && !c.d.Materialize {
			c.form, c.unit = codes, block.CodeWidth(n)
		}
	}
}

// chooseParts decides whether the column is spread over parts. Values of a dictionary are copied to
// the rows that have them, so hardly any value of it may repeat, as in the dictionary of the first
// rows of images.
func (c *leafDecoder) chooseParts() {
	s := c.scan
	rows := c.chunk.lastRow - c.first
	switch lists, _ := c.levels.(*listShape); {
	case lists != nil && lists.mayBeWide && c.field.Kind == column.Fixed:
		c.wide = c.d.newSpreader(int64(s.values)*int64(c.unit), rows)
	case c.field.Kind == column.Binary && c.leaf.MaxRep == 0 && !c.noValues && s.fewRepeats():
		c.wide = c.d.newSpreader(s.size+int64(s.dict.Size), rows)
		if c.wide != nil {
			c.form, c.unit = views, 8
		}
	}
}

// prepare gets room for slots and text, and reads the dictionary.
func (c *leafDecoder) prepare() error {
	s := c.scan
	share := 1.0
	if rows := c.chunk.lastRow - c.first; !s.known && rows > 0 {
		// Which pages the unit needs shows while they are decoded; the buffers grow if this guess
		// is short.
		share = min(1, 1.1*float64(c.d.rows.Hi-c.d.rows.Lo)/float64(rows))
	}
	c.room = int(share * float64(s.values))
	if c.wide != nil && c.form != views {
		c.room = 0 // of items: page by page
	}
	if s.pages > 0 && s.head.window.n == 0 && c.inPlace() {
		c.head = (max(0, s.head.Size-s.head.Values*c.unit) + 63) &^ 63
	}
	c.reserve(0)
	if c.leaf.Convert == schema.ConvertNull {
		return nil // the levels are all that is wanted
	}
	if c.field.Kind == column.Binary && c.stored == 0 {
		if err := c.prepareText(int64(share * float64(s.size))); err != nil {
			return err
		}
	}
	if s.coded > 0 && s.hasDict() {
		return c.readDictionary()
	}
	return nil
}

// prepareText gets room for the text of n bytes of pages.
func (c *leafDecoder) prepareText(n int64) error {
	switch {
	case c.form == codes:
		n = 0
	case c.wide != nil:
		n = int64(c.scan.largest)
	}
	if c.scan.hasDict() {
		n += int64(c.scan.dict.Size)
	}
	if err := textBudget(n); err != nil {
		return err
	}
	if c.wide != nil {
		c.text = c.d.wide.take(int(n)) // page by page
	} else {
		c.text = c.textArena().Alloc(int(n))
	}
	return nil
}
