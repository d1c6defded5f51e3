package rowgroup

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// largePage returns from how many values on a page is decoded in part.
func (d *Decoder) largePage() int {
	if d.windowFrom > 0 {
		return d.windowFrom
	}
	return estimate.LargePage
}

// A window is the values of a page that the unit needs. The zero value is all of them. A run of
// equal values takes a few bytes however long it is, so that a page can hold far more rows than a
// unit.
type window struct{ skip, n int }

// windowOf chooses the values of the unit's rows in a page that starts at a row.
func windowOf(l *schema.Leaf, p *page, row int64, rows Rows, from int) window {
	lo, hi := max(rows.Lo, row), min(rows.Hi, row+int64(p.Values))
	if p.Values < from || l.MaxRep > 0 || hi <= lo || hi-lo == int64(p.Values) || !p.divisible(l) {
		return window{}
	}
	return window{skip: int(lo - row), n: int(hi - lo)}
}

// divisible reports whether values can be found in the page without decoding those before them.
func (p *page) divisible(l *schema.Leaf) bool {
	if p.Kind == format.DataPage && l.MaxDef > 0 && p.DefEncoding != format.RLE {
		return false
	}
	return p.Encoding == format.Plain || p.IsDictionary()
}

// of returns how many of the page's values are decoded, and about how many bytes they take.
func (w window) of(p *page) (n int, bytes int64) {
	if w.n == 0 {
		return p.Values, int64(p.Size)
	}
	return w.n, int64(float64(p.Size) * float64(w.n) / float64(p.Values))
}

// narrowed is the levels and codes of a window, as a page of its own would have them.
type narrowed struct{ levels, starts, codes []byte }

// dividesLists reports whether only the unit's rows of a page of lists are decoded. Its levels show
// which entries are theirs.
func (c *leafDecoder) dividesLists(p *page) bool {
	if c.leaf.MaxRep == 0 || c.sink != nil || p.Values < c.d.largePage() || p.Kind == format.DataPage && p.RepEncoding != format.RLE {
		return false
	}
	return p.divisible(c.leaf)
}

// listWindow chooses the entries of the unit's rows in a page of lists. It passes a page without
// such entries.
func (c *leafDecoder) listWindow(p *page, o *openPage) error {
	if !c.dividesLists(p) {
		return nil
	}
	next := c.first + int64(c.rows) // the row that starts next
	skip, end := max(0, c.d.rows.Lo-next), max(0, c.d.rows.Hi-next)
	from, to, rows, err := o.rep.Rows(skip, end)
	switch {
	case err != nil:
		return err
	case c.rows > 0 || skip == 0:
		from = 0
	case rows > skip:
		c.first += skip
	case !c.scan.known:
		c.first += rows
		c.cut.cut, o.passed = true, true
		return nil
	}
	c.ended = to < p.Values
	o.passed = from >= to
	if from > 0 || c.ended {
		p.window = window{skip: from, n: to - from}
	}
	return nil
}

// narrow leaves the levels and values of the page's window.
func (c *leafDecoder) narrow(p *page, o *openPage) (err error) {
	if err := c.listWindow(p, o); err != nil || p.window.n == 0 || o.passed {
		return err
	}
	to := &c.d.narrowed
	before, within := p.window.skip, p.window.n
	if o.def.Max > 0 {
		if to.levels, before, within, err = o.def.Window(to.levels[:0], p.window.skip, p.window.n); err != nil {
			return err
		}
		o.def.Src = to.levels
	}
	if o.rep.Max > 0 {
		if to.starts, _, _, err = o.rep.Window(to.starts[:0], p.window.skip, p.window.n); err != nil {
			return err
		}
		o.rep.Src = to.starts
	}
	o.def.N, o.rep.N = p.window.n, p.window.n
	switch {
	case c.noValues:
	case p.IsDictionary():
		o.values, err = c.narrowCodes(o.values, before, within)
	case c.leaf.Type == format.Boolean:
		o.values, err = c.narrowBools(o.values, before, within)
	case c.stored > 0:
		o.values, err = part(o.values, int64(before)*int64(c.stored), int64(within)*int64(c.stored))
	default:
		o.values, err = narrowText(o.values, before, within)
	}
	return err
}

func (c *leafDecoder) narrowCodes(b []byte, before, n int) ([]byte, error) {
	if n == 0 {
		return b, nil
	}
	r, err := c.runs(b)
	if err != nil {
		return nil, err
	}
	to := &c.d.narrowed
	to.codes, err = r.Window(append(to.codes[:0], b[0]), before, n)
	return to.codes, err
}

func (c *leafDecoder) narrowBools(b []byte, before, n int) ([]byte, error) {
	if (before+n+7)/8 > len(b) {
		return nil, parquet.ErrShort
	}
	to := &c.d.narrowed
	to.codes = append(to.codes[:0], make([]byte, (n+7)/8)...)
	for i := range n {
		at := before + i
		to.codes[i/8] |= b[at/8] >> (at % 8) & 1 << (i % 8)
	}
	return to.codes, nil
}

// narrowText leaves the byte strings of a window, each with its length of four bytes before it.
func narrowText(b []byte, before, n int) ([]byte, error) {
	skip, err := textBytes(b, before)
	if err != nil {
		return nil, err
	}
	size, err := textBytes(b[skip:], n)
	if err != nil {
		return nil, err
	}
	return part(b, int64(skip), int64(size))
}

// textBytes is the bytes that n byte strings take.
func textBytes(b []byte, n int) (size int, err error) {
	for range n {
		if len(b)-size < 4 {
			return 0, parquet.ErrShort
		}
		k := uint64(binary.LittleEndian.Uint32(b[size:])) + 4
		if k > uint64(len(b)-size) {
			return 0, parquet.ErrShort
		}
		size += int(k)
	}
	return size, nil
}

// part returns n bytes from a place on.
func part(b []byte, at, n int64) ([]byte, error) {
	if at > int64(len(b)) || n > int64(len(b))-at || n > math.MaxInt {
		return nil, parquet.ErrShort
	}
	return b[at : at+n : at+n], nil
}
