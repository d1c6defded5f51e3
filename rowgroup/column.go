package rowgroup

import (
	"fmt"
	"hash/crc32"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A leafDecoder decodes one leaf of a unit into slots: the places of its vector, one for each value
// that is there or null.
//
// Each page's values are decoded to the end of the page's slots, without gaps, and then spread
// towards the front if there are nulls between them; so pages without nulls need no second step,
// and pages with nulls no second buffer.
type leafDecoder struct {
	d     *Decoder
	arena *mem.Arena // memory of the slots, and of the values they point into
	keep  *mem.Arena // memory of the dictionary that codes need
	chunk *rawChunk
	leaf  *schema.Leaf
	field *column.Field // of the leaf's values
	scan  *pageScan

	form   form
	unit   int // bytes of a slot: of a value, a code or a view
	stored int // bytes of a Fixed value as stored

	slots int
	room  int    // slots that buf has room for
	buf   []byte // head bytes for the levels of the first page, then the slots
	head  int
	valid parquet.Bitmap // nil while no slot is null
	nulls int

	text     []byte // Binary: what views point into; the dictionary's values come first
	textLen  int
	textKept int    // bytes of the dictionary
	ownText  []byte // the column's own text while text is the Raw's, from the storing of a page to its spreading over parts
	noValues bool   // every value is null: only the levels are of interest

	dict   dictionary
	levels shape
	first  int64 // row of the row group of the first row that was decoded
	rows   int   // rows decoded
	cut    rowCut
	ended  bool // rows behind the unit's have begun
	data   page // that is decoded
	now    openPage
	wide   *spreader  // nil when the column is not spread over parts
	sink   *tokenSink // takes the values in place of slots, or nil
}

// form is how a column's slots are stored.
type form uint8

const (
	plain form = iota // Fixed values
	codes             // positions in the dictionary
	views             // Binary: place and length of the bytes
)

// A shape turns the levels of one page into slots.
type shape interface {
	// page takes the levels of the next page. It returns the number of slots and of values that are
	// present, having set their bits in valid, or drop when no row of the page is needed.
	page(c *leafDecoder, rep, def *parquet.LevelRun) (slots, present int, drop bool, err error)
	// flushed is called when the page's values are stored.
	flushed(c *leafDecoder) error
}

// openPage is a page whose levels and values are at hand.
type openPage struct {
	rep, def parquet.LevelRun
	values   []byte
	inText   bool   // values are in the column's text
	passed   bool   // no entry of the page is needed
	steps    bool   // values are decompressed in steps
	more     int    // bytes of them that are still to come
	restore  int    // where bytes of the slots before were overwritten
	saved    []byte // those bytes
}

// pages decodes the pages that the scan found.
func (c *leafDecoder) pages() error {
	at := c.scan.begin
	row := c.first - int64(c.scan.head.window.skip)
	for range c.scan.pages {
		if c.ended || !c.scan.known && c.first+int64(c.rows) > c.d.rows.Hi {
			break // a row behind the last has begun, so the last is whole
		}
		p := &c.data
		c.d.at = at.at
		if err := at.nextData(p); err != nil {
			return err
		}
		p.window = windowOf(c.leaf, p, row, c.d.rows, c.d.largePage())
		row += int64(p.Values)
		if err := c.page(p); err != nil {
			return err
		}
		// Whatever of the page is needed from here on was copied: its values are in slots and text,
		// its levels became lists.
		if err := c.d.raw.doneWith(p.span()); err != nil {
			return err
		}
	}
	return nil
}

func (c *leafDecoder) page(p *page) error {
	divided := c.dividesLists(p)
	n, _ := p.window.of(p)
	if !divided {
		c.reserve(n)
	}
	o := &c.now // not a variable: it would be allocated for each page, because it is passed as an interface
	if err := c.open(p, o); err != nil || o.passed {
		return err
	}
	if divided {
		n, _ = p.window.of(p)
		c.reserve(n)
	}
	slots, present, drop, err := c.levels.page(c, &o.rep, &o.def)
	if err == nil && (present > slots || slots > n) {
		err = fmt.Errorf("%w: %d values in %d places of %d", parquet.ErrLevels, present, slots, n)
	}
	switch {
	case err != nil || drop:
	case c.sink != nil:
		err = c.sinkPage(p, o, slots, present)
	default:
		err = c.store(p, o, slots, present)
	}
	if o.restore >= 0 {
		// Not before the values are stored: where a writer pads pages, they start in front of the
		// slots.
		copy(c.buf[o.restore:], o.saved)
	}
	if err != nil || drop {
		return err
	}
	c.slots += slots
	if c.wide != nil && c.form == views {
		c.wide.before = c.d.rows.Lo - c.first
		c.wide.flushText(c, c.slots-slots)
	}
	return c.levels.flushed(c)
}

// store decodes the page's values into the next slots.
func (c *leafDecoder) store(p *page, o *openPage, slots, present int) error {
	if c.noValues {
		if present > 0 && c.leaf.Convert != schema.ConvertNull && c.field.Kind != column.Null {
			return errCode(0)
		}
		return nil
	}
	all := c.buf[c.head+c.slots*c.unit:][:slots*c.unit]
	dense := all[(slots-present)*c.unit:]
	if present > 0 {
		var err error
		switch {
		case p.IsDictionary():
			err = c.storeCoded(dense, o.values, present)
		case c.form == views:
			err = c.storeViews(p, o, mem.As[uint64](dense))
		default:
			err = c.storeFixed(p.Encoding, dense, o.values, present)
		}
		if err != nil {
			return err
		}
	}
	if present < slots {
		parquet.Spread(all, dense, c.unit, c.valid, c.slots, slots)
	}
	return nil
}

// open checks and decompresses a page and finds its parts.
func (c *leafDecoder) open(p *page, o *openPage) (err error) {
	*o = openPage{restore: -1}
	if err := c.verify(p); err != nil {
		return err
	}
	body, size := p.body, p.Size
	o.rep, o.def = parquet.LevelRun{N: p.Values, Max: c.leaf.MaxRep}, parquet.LevelRun{N: p.Values, Max: c.leaf.MaxDef}
	if p.Kind == format.DataPageV2 {
		o.rep.Src, o.def.Src = body[:p.RepBytes], body[p.RepBytes:p.RepBytes+p.DefBytes]
		body, size = body[p.RepBytes+p.DefBytes:], size-p.RepBytes-p.DefBytes
	}
	if c.leaf.Convert == schema.ConvertNull && p.Kind == format.DataPageV2 { // the levels are not compressed
		return c.narrow(p, o)
	}
	if c.levelsAlone(p) {
		dst := c.d.page.take(size)
		n, err := c.d.codecs.DecompressLevels(c.chunk.codec, dst, body, min(1, c.leaf.MaxRep)+min(1, c.leaf.MaxDef))
		if err != nil {
			return err
		}
		body = dst[:n]
	} else if c.inSteps(p, size) {
		if body, err = c.openSteps(p, body, size, o); err != nil {
			return err
		}
	} else if c.chunk.codec != format.Uncompressed && !p.PlainBody {
		dst := c.place(p, size, o)
		if err := c.decompress(p, dst, body); err != nil {
			return err
		}
		body = dst
	} else if len(body) != size {
		return parquet.ErrLength
	}
	if p.Kind == format.DataPage {
		if o.rep, body, err = parquet.SplitLevels(body, p.Values, c.leaf.MaxRep, p.RepEncoding); err != nil {
			return err
		}
		if o.def, body, err = parquet.SplitLevels(body, p.Values, c.leaf.MaxDef, p.DefEncoding); err != nil {
			return err
		}
	}
	o.values = body
	return c.narrow(p, o)
}

// levelsAlone reports whether only the page's levels are needed, and the levels precede the values.
func (c *leafDecoder) levelsAlone(p *page) bool {
	const rle = format.RLE
	return c.leaf.Convert == schema.ConvertNull && p.Kind == format.DataPage && c.chunk.codec != format.Uncompressed && !p.PlainBody &&
		(c.leaf.MaxRep == 0 || p.RepEncoding == rle) && (c.leaf.MaxDef == 0 || p.DefEncoding == rle)
}

// decompress decompresses a page's body. One that was lent and that hardly compresses is verified
// on the way: it may be larger than the processor's caches.
func (c *leafDecoder) decompress(p *page, dst, body []byte) error {
	if c.chunk.codec != format.Snappy || p.Kind != format.DataPage || !c.d.raw.mapped || len(body) < 2*recheckBytes || len(body) < len(dst)/8*7 {
		return c.d.codecs.Decompress(c.chunk.codec, dst, body)
	}
	return parquet.WalkSnappy(dst, body, recheckBytes, func(n int) error {
		return c.d.raw.doneWith(shard.Span{Off: p.off, N: int64(p.Bytes + n)})
	})
}

// verify holds a page against its checksum, which covers the body as stored.
func (c *leafDecoder) verify(p *page) error {
	if p.HasCRC && !c.d.skipChecksums && crc32.ChecksumIEEE(p.body) != p.CRC {
		return errChecksum
	}
	return nil
}

// place returns where to decompress a page of size bytes. PLAIN values go directly to the end of
// the page's slots: the levels that precede them overwrite slots that are already filled, and those
// are saved.
func (c *leafDecoder) place(p *page, size int, o *openPage) []byte {
	switch {
	case c.noValues || p.IsDictionary() || p.window.n > 0 || c.dividesLists(p):
	case c.form == views && c.stored == 0 && (p.Encoding == format.Plain || p.Encoding == format.DeltaLengthByteArray):
		o.inText = true
		return c.textRoom(size)
	case p.Encoding == format.Plain && c.inPlace() && c.sink == nil:
		filled := c.head + c.slots*c.unit
		begin := filled + p.Values*c.unit - size
		if begin < 0 {
			break
		}
		if begin < filled {
			o.restore, o.saved = begin, c.d.saved.take(filled-begin)
			copy(o.saved, c.buf[begin:filled])
		}
		return c.buf[begin : begin+size : begin+size+parquet.CodecSlack]
	}
	return c.d.page.take(size)
}

// inPlace reports whether PLAIN values are stored as the slots want them.
func (c *leafDecoder) inPlace() bool {
	return c.form == plain && c.leaf.Convert == schema.ConvertNone && c.leaf.Type != format.Boolean && c.stored > 0
}

// reserve makes room for n more slots.
func (c *leafDecoder) reserve(n int) {
	need := c.slots + n
	if c.sink != nil {
		c.room = max(c.room, need) // bits of the page that has the first null, which ends the decoding
		return
	}
	if need <= c.room && c.buf != nil {
		return
	}
	if c.buf != nil {
		need = max(need, c.room+c.room/2)
	}
	need = max(need, c.room)
	old := c.valid
	if c.wide != nil && c.form != views {
		c.buf = c.d.wide.extend(len(c.buf), c.head+need*c.unit)
	} else if c.buf == nil {
		c.buf = c.arena.Alloc(c.head + need*c.unit)
	} else {
		c.buf = c.arena.Grow(c.buf, c.head+need*c.unit)
	}
	c.room = need
	if old != nil {
		c.valid = c.newBitmap(need)
		copy(c.valid, old)
	}
}

// checkItems refuses lists of more items than 32-bit offsets can count.
func (c *leafDecoder) checkItems() error {
	if most := math.MaxUint32 - 1; c.scan.values > most {
		return &sizeError{err: fmt.Errorf("%d items in one unit, %d at most", c.scan.values, most), hint: "write smaller row groups"}
	}
	return nil
}

func (c *leafDecoder) newBitmap(n int) parquet.Bitmap {
	m := parquet.Bitmap(mem.As[uint64](c.arena.Alloc(8 * parquet.BitmapWords(n))))
	clear(m)
	return m
}

// needValid makes the bitmap of slots, those so far all present.
func (c *leafDecoder) needValid() {
	if c.valid == nil {
		c.valid = c.newBitmap(c.room)
		c.valid.Set(0, c.slots)
	}
}

// window returns how many of the decoded rows precede the unit, and how many there are up to its
// end.
func (c *leafDecoder) window() (skip, total int, err error) {
	skip, total = int(c.d.rows.Lo-c.first), int(c.d.rows.Hi-c.first)
	if skip < 0 || total > c.rows {
		return 0, 0, fmt.Errorf("%w: its pages hold rows %d to %d, wanted are %d to %d", errChunk, c.first, c.first+int64(c.rows), c.d.rows.Lo, c.d.rows.Hi)
	}
	return skip, total, nil
}

// vector returns the first n slots.
func (c *leafDecoder) vector(n int) (*block.Vector, error) {
	if n > c.slots {
		return nil, fmt.Errorf("%w: %d values, %d expected", errChunk, c.slots, n)
	}
	if c.noValues {
		return block.NewNull(c.field, n), nil
	}
	v := &block.Vector{Field: c.field, Len: n, Nulls: c.nulls}
	if c.nulls > 0 {
		v.Valid = c.valid
	}
	data := c.buf[c.head:][:n*c.unit]
	switch c.form {
	case plain:
		v.Data = data
	case codes:
		v.Codes, v.CodeWidth, v.Dict = data, c.unit, c.dictVector()
	case views:
		if err := textBudget(int64(c.textLen)); err != nil {
			return nil, err
		}
		v.Views, v.Base = mem.As[uint64](data), [][]byte{c.text}
		if c.wide != nil {
			v.Base, v.ChunkShift = c.wide.base, chunkShift
		}
	}
	return v, nil
}
