package rowgroup

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A dictionary is the values that codes represent: Fixed values, or views of Binary ones.
type dictionary struct {
	n     int
	table []byte // n entries of Field.Width bytes, or n views
}

// readDictionary decodes the dictionary page. The table is the block's when codes are kept, else
// scratch.
func (c *leafDecoder) readDictionary() error {
	p := &c.scan.dict
	c.d.at = p.off
	if err := c.verify(p); err != nil {
		return err
	}
	if p.Encoding != format.Plain && p.Encoding != parquet.PlainDictionary || c.leaf.Type == format.Boolean {
		return fmt.Errorf("%w: %v for a dictionary of %v", errEncoding, p.Encoding, c.leaf.Type)
	}
	least := c.stored // bytes of a value
	if least == 0 {
		least = 4
	}
	if p.Values > p.Size/least {
		return fmt.Errorf("%w: a dictionary of %d values in %d bytes", parquet.ErrShort, p.Values, p.Size)
	}
	c.dict.n = p.Values
	if c.inPlace() || c.form == codes && c.field.Kind == column.Fixed && c.leaf.Convert == schema.ConvertNone && c.stored > 0 {
		c.dict.table = c.tableRoom(p.Size)
		err := c.d.codecs.Decompress(c.chunk.codec, c.dict.table, p.body)
		c.dict.table = c.dict.table[:p.Values*c.stored]
		return err
	}
	if c.field.Kind == column.Binary {
		return c.readTextDictionary(p)
	}
	raw, err := c.openDictionary(p)
	if err != nil {
		return err
	}
	c.dict.table = c.tableRoom(p.Values * c.field.Width)
	return c.storeFixed(format.Plain, c.dict.table, raw, p.Values)
}

func (c *leafDecoder) tableRoom(n int) []byte {
	if c.form == codes {
		return c.keep.Alloc(n)
	}
	return c.d.table.take(n)
}

// openDictionary decompresses the dictionary page to scratch.
func (c *leafDecoder) openDictionary(p *page) ([]byte, error) {
	if c.chunk.codec == format.Uncompressed {
		return p.body, nil
	}
	dst := c.d.page.take(p.Size)
	return dst, c.d.codecs.Decompress(c.chunk.codec, dst, p.body)
}

// readTextDictionary reads the dictionary of a Binary column to the start of the column's text.
func (c *leafDecoder) readTextDictionary(p *page) (err error) {
	c.dict.table = c.tableRoom(8 * p.Values)
	if c.stored > 0 {
		raw, err := c.openDictionary(p)
		if err != nil {
			return err
		}
		err = c.storeFixedText(format.Plain, mem.As[uint64](c.dict.table), raw)
		c.textKept = c.textLen
		return err
	}
	raw := c.textRoom(p.Size)
	if err := c.d.codecs.Decompress(c.chunk.codec, raw, p.body); err != nil {
		return err
	}
	err = c.textViews(mem.As[uint64](c.dict.table), raw)
	c.textKept = c.textLen
	return err
}

func (c *leafDecoder) dictVector() *block.Vector {
	v := &block.Vector{Field: c.field, Len: c.dict.n}
	if c.field.Kind == column.Binary {
		v.Views, v.Base = mem.As[uint64](c.dict.table), [][]byte{c.text}
	} else {
		v.Data = c.dict.table
	}
	return v
}

// storeCoded reads n codes of a data page and stores them or their values: in dst, unless there is
// a sink.
func (c *leafDecoder) storeCoded(dst, src []byte, n int) error {
	r, err := c.runs(src)
	if err != nil {
		return err
	}
	for at := 0; at < n; at += r.N {
		if err := r.Next(); err != nil {
			return err
		}
		r.N = min(r.N, n-at)
		switch {
		case c.sink != nil:
			if err := c.sinkRun(&r); err != nil {
				return err
			}
		case !c.storeRun(dst[at*c.unit:], &r):
			return errCode(c.dict.n)
		}
	}
	return nil
}

// runs returns the runs of codes in a page.
func (c *leafDecoder) runs(src []byte) (r parquet.Runs, err error) {
	if !c.scan.hasDict() {
		return r, fmt.Errorf("%w: a dictionary is used but missing", errChunk)
	}
	if len(src) == 0 {
		return r, parquet.ErrShort
	}
	width := uint(src[0])
	if width > 32 {
		return r, fmt.Errorf("%w: codes of %d bits", errChunk, width)
	}
	return parquet.Runs{Src: src[1:], Width: width}, nil
}

func errCode(entries int) error {
	return fmt.Errorf("%w: a code beyond its dictionary of %d values", errChunk, entries)
}

// storeRun stores a run of codes or their values; ok is false when one is out of range.
func (c *leafDecoder) storeRun(dst []byte, r *parquet.Runs) (ok bool) {
	if r.Packed == nil {
		if int64(r.Value) >= int64(c.dict.n) {
			return false
		}
		c.storeRepeated(dst, r.Value, r.N)
		return true
	}
	if c.form == codes && c.unit < 4 && r.Width <= uint(8*c.unit) {
		return c.storePacked(dst, r)
	}
	packed, n := r.Packed, r.N
	for n > 0 {
		block := c.d.codes[:min(len(c.d.codes), n)]
		parquet.Unpack(block, packed, r.Width)
		if !c.storeBlock(dst, block) {
			return false
		}
		if n -= len(block); n > 0 {
			packed, dst = packed[len(block)*int(r.Width)/8:], dst[len(block)*c.unit:]
		}
	}
	return true
}

func (c *leafDecoder) storePacked(dst []byte, r *parquet.Runs) (ok bool) {
	if c.unit == 1 {
		parquet.UnpackNarrow(dst[:r.N], r.Packed, r.Width)
		return parquet.BytesBelow(dst[:r.N], c.dict.n)
	}
	parquet.UnpackShort(mem.As[uint16](dst)[:r.N], r.Packed, r.Width)
	return parquet.ShortsBelow(mem.As[uint16](dst)[:r.N], c.dict.n)
}

// storeRepeated stores n times the same code or its value.
func (c *leafDecoder) storeRepeated(dst []byte, code uint32, n int) {
	unit := c.unit
	switch {
	case n == 0:
		return
	case c.form == codes && unit == 1:
		dst[0] = byte(code)
	case c.form == codes && unit == 2:
		mem.As[uint16](dst)[0] = uint16(code)
	case c.form == codes:
		mem.As[uint32](dst)[0] = code
	default:
		copy(dst[:unit], c.dict.table[int(code)*unit:])
	}
	for done := unit; done < n*unit; done *= 2 {
		copy(dst[done:n*unit], dst[:done])
	}
}

// storeBlock stores a few codes; ok is false when one is out of range.
func (c *leafDecoder) storeBlock(dst []byte, block []uint32) (ok bool) {
	if c.form == codes {
		switch c.unit {
		case 1:
			return narrowCodes(dst[:len(block)], block, c.dict.n)
		case 2:
			return narrowCodes(mem.As[uint16](dst)[:len(block)], block, c.dict.n)
		default:
			return narrowCodes(mem.As[uint32](dst)[:len(block)], block, c.dict.n)
		}
	}
	switch c.unit {
	case 4:
		return lookUp(mem.As[uint32](dst)[:len(block)], mem.As[uint32](c.dict.table), block)
	case 8:
		return lookUp(mem.As[uint64](dst)[:len(block)], mem.As[uint64](c.dict.table), block)
	case 1:
		return lookUp(dst[:len(block)], c.dict.table, block)
	case 2:
		return lookUp(mem.As[uint16](dst)[:len(block)], mem.As[uint16](c.dict.table), block)
	}
	for i, code := range block {
		if int(code) >= c.dict.n {
			return false
		}
		copy(dst[i*c.unit:(i+1)*c.unit], c.dict.table[int(code)*c.unit:])
	}
	return true
}

// lookUp goes four codes at a time, by pointers: the loop is most of the work of columns with
// dictionaries.
func lookUp[T uint8 | uint16 | uint32 | uint64](dst, table []T, block []uint32) (ok bool) {
	n, size := uint32(len(table)), unsafe.Sizeof(*new(T))
	dst = dst[:len(block)]
	out, in, t := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(block)), unsafe.Pointer(unsafe.SliceData(table))
	i := 0
	for ; i+4 <= len(block); i += 4 {
		a, b, c, d := *(*uint32)(in), *(*uint32)(unsafe.Add(in, 4)), *(*uint32)(unsafe.Add(in, 8)), *(*uint32)(unsafe.Add(in, 12))
		if a >= n || b >= n || c >= n || d >= n {
			return false
		}
		*(*T)(out) = *(*T)(unsafe.Add(t, uintptr(a)*size))
		*(*T)(unsafe.Add(out, size)) = *(*T)(unsafe.Add(t, uintptr(b)*size))
		*(*T)(unsafe.Add(out, 2*size)) = *(*T)(unsafe.Add(t, uintptr(c)*size))
		*(*T)(unsafe.Add(out, 3*size)) = *(*T)(unsafe.Add(t, uintptr(d)*size))
		in, out = unsafe.Add(in, 16), unsafe.Add(out, 4*size)
	}
	for ; i < len(block); i++ {
		if block[i] >= n {
			return false
		}
		dst[i] = table[block[i]]
	}
	return true
}

// lookUpShorts is lookUp for codes of two bytes in a page, read four to a word.
func lookUpShorts[T uint32 | uint64](dst, table []T, packed []byte) (ok bool) {
	n, size := uint64(len(table)), unsafe.Sizeof(*new(T))
	words, t := mem.As[uint64](packed[:2*len(dst)]), unsafe.Pointer(unsafe.SliceData(table))
	out := unsafe.Pointer(unsafe.SliceData(dst))
	for _, w := range words {
		a, b, c, d := w&0xffff, w>>16&0xffff, w>>32&0xffff, w>>48
		if a >= n || b >= n || c >= n || d >= n {
			return false
		}
		*(*T)(out) = *(*T)(unsafe.Add(t, uintptr(a)*size))
		*(*T)(unsafe.Add(out, size)) = *(*T)(unsafe.Add(t, uintptr(b)*size))
		*(*T)(unsafe.Add(out, 2*size)) = *(*T)(unsafe.Add(t, uintptr(c)*size))
		*(*T)(unsafe.Add(out, 3*size)) = *(*T)(unsafe.Add(t, uintptr(d)*size))
		out = unsafe.Add(out, 4*size)
	}
	for i := 4 * len(words); i < len(dst); i++ {
		code := binary.LittleEndian.Uint16(packed[2*i:])
		if uint64(code) >= n {
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

// textViews finds PLAIN values in b, which is at the end of the column's text, and takes b into
// the text.
func (c *leafDecoder) textViews(dst []uint64, b []byte) error {
	begin := uint64(c.textLen)
	c.textLen += len(b)
	if err := plainViews(dst, b, begin); err != nil {
		return err
	}
	return c.checkText(dst, b, true)
}

// plainViews finds len(dst) values in b: each is a length of four bytes and as many bytes. Places
// are counted from begin.
func plainViews(dst []uint64, b []byte, begin uint64) error {
	at := uint64(0)
	size := uint64(len(b))
	for i := range dst {
		if size-at < 4 {
			return parquet.ErrShort
		}
		n := uint64(binary.LittleEndian.Uint32(b[at:]))
		at += 4
		if n > size-at {
			return fmt.Errorf("%w: a value of %d bytes where %d are left", parquet.ErrShort, n, size-at)
		}
		dst[i] = (begin+at)<<32 | n
		at += n
	}
	return nil
}
