package rowgroup

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/format"
)

// A dictionary is the values that codes stand for: Fixed values, or views of Binary ones.
type dictionary struct {
	n     int
	table []byte // n entries of Field.Width bytes, or n views
}

// readDictionary decodes the dictionary page. The table is the block's when codes are kept, else scratch.
func (c *column) readDictionary() error {
	p := &c.scan.dict
	c.d.at = p.off
	if p.hasCRC && crc32.ChecksumIEEE(p.body) != p.crc {
		return errChecksum
	}
	if p.encoding != format.Plain && p.encoding != format.PlainDictionary {
		return fmt.Errorf("%w: %v for a dictionary", errEncoding, p.encoding)
	}
	c.dict.n = p.values
	unit := c.field.Width
	if c.field.Kind == Binary {
		unit = 8
	} else if c.leaf.typ == format.Boolean {
		return fmt.Errorf("%w: a dictionary of booleans", errEncoding)
	}
	raw, err := c.openDictionary(p)
	if err != nil {
		return err
	}
	if least := max(c.stored, 1); c.stored > 0 && p.values*least > len(raw) || c.stored == 0 && p.values > len(raw)/4 {
		return fmt.Errorf("%w: a dictionary of %d values in %d bytes", errShort, p.values, len(raw))
	}
	if c.form == codes {
		c.dict.table = c.arena.Alloc(p.values * unit)
	} else {
		c.dict.table = c.d.table.take(p.values * unit)
	}
	switch {
	case c.field.Kind == Binary && c.stored > 0:
		err = c.storeFixedText(format.Plain, asU64(c.dict.table), raw)
		c.textKept = c.textLen
		return err
	case c.field.Kind == Binary:
		err = c.textViews(asU64(c.dict.table), raw)
		c.textKept = c.textLen
		return err
	}
	return c.storeFixed(format.Plain, c.dict.table, raw, p.values)
}

// openDictionary returns the dictionary page's body: of Binary values at the beginning of the column's text.
func (c *column) openDictionary(p *page) ([]byte, error) {
	inText := c.field.Kind == Binary && c.stored == 0
	if c.chunk.codec == format.Uncompressed && !inText {
		return p.body, nil
	}
	dst := c.d.page.take(p.size)
	if inText {
		dst = c.textRoom(p.size)
	}
	err := c.d.codecs.decompress(c.chunk.codec, dst, p.body)
	return dst, err
}

// codeWidth is the number of bytes of a code into n values.
func codeWidth(n int) int {
	switch {
	case n <= 1<<8:
		return 1
	case n <= 1<<16:
		return 2
	}
	return 4
}

// vector returns the dictionary as a vector of its own.
func (c *column) dictVector() *vector {
	v := &vector{field: c.field, n: c.dict.n}
	if c.field.Kind == Binary {
		v.views, v.base = asU64(c.dict.table), [][]byte{c.text}
	} else {
		v.data = c.dict.table
	}
	return v
}

// storeCoded reads n codes of a data page and stores them, or what they stand for.
func (c *column) storeCoded(dst, src []byte, n int) error {
	if !c.scan.hasDict() {
		return fmt.Errorf("%w: a dictionary is used but missing", errChunk)
	}
	if len(src) == 0 {
		return errShort
	}
	width := uint(src[0])
	if width > 32 {
		return fmt.Errorf("%w: codes of %d bits", errChunk, width)
	}
	r := newCodeReader(src[1:], width)
	block := c.d.codes[:]
	for at := 0; at < n; at += len(block) {
		block = block[:min(len(block), n-at)]
		if err := r.read(block); err != nil {
			return err
		}
		if !c.storeBlock(dst[at*c.unit:], block) {
			return fmt.Errorf("%w: a code beyond its dictionary of %d values", errChunk, c.dict.n)
		}
	}
	return nil
}

// storeBlock stores a few codes; ok is false when one is out of range.
func (c *column) storeBlock(dst []byte, block []uint32) (ok bool) {
	if c.form == codes {
		switch c.unit {
		case 1:
			return narrowCodes(dst[:len(block)], block, c.dict.n)
		case 2:
			return narrowCodes(asU16(dst)[:len(block)], block, c.dict.n)
		default:
			return narrowCodes(asU32(dst)[:len(block)], block, c.dict.n)
		}
	}
	switch c.unit {
	case 4:
		return lookUp(asU32(dst)[:len(block)], asU32(c.dict.table), block)
	case 8:
		return lookUp(asU64(dst)[:len(block)], asU64(c.dict.table), block)
	case 1:
		return lookUp(dst[:len(block)], c.dict.table, block)
	case 2:
		return lookUp(asU16(dst)[:len(block)], asU16(c.dict.table), block)
	}
	for i, code := range block {
		if int(code) >= c.dict.n {
			return false
		}
		copy(dst[i*c.unit:(i+1)*c.unit], c.dict.table[int(code)*c.unit:])
	}
	return true
}

func lookUp[T any](dst, table []T, block []uint32) (ok bool) {
	dst = dst[:len(block)]
	for i, code := range block {
		if uint(code) >= uint(len(table)) {
			return false
		}
		dst[i] = table[code]
	}
	return true
}

func narrowCodes[T uint8 | uint16 | uint32](dst []T, block []uint32, n int) (ok bool) {
	dst = dst[:len(block)]
	greatest := uint32(0)
	for i, code := range block {
		greatest = max(greatest, code)
		dst[i] = T(code)
	}
	return int64(greatest) < int64(n)
}

// textViews finds PLAIN values in b, which lies at the end of the column's text, and takes b into the text.
func (c *column) textViews(dst []uint64, b []byte) error {
	begin := uint64(c.textLen)
	c.textLen += len(b)
	if err := plainViews(dst, b, begin); err != nil {
		return err
	}
	return c.checkText(dst, b, begin)
}

// plainViews finds len(dst) values in b: each is a length of four bytes and as many bytes. Places are counted from begin.
func plainViews(dst []uint64, b []byte, begin uint64) error {
	at := uint64(0)
	size := uint64(len(b))
	for i := range dst {
		if size-at < 4 {
			return errShort
		}
		n := uint64(binary.LittleEndian.Uint32(b[at:]))
		at += 4
		if n > size-at {
			return fmt.Errorf("%w: a value of %d bytes where %d are left", errShort, n, size-at)
		}
		dst[i] = (begin+at)<<32 | n
		at += n
	}
	return nil
}
