package rowgroup

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// An image is decoded columns of a whole row group as a [TierFile] holds them, in the forms that
// blocks have, for use where they lie. Columns with one fixed-width value, code or view to a row
// stand side by side in records, one for each row: a row that is picked at random is a few cache
// lines then, not one for each column. All else is in buffers of its own, as the decoder makes it.
// Numbers are little-endian, words in buffers have the machine's byte order; images stay on the
// machine.
//
//	offset  bytes  what
//	0       8      "SFIMAGE1"
//	8       8      rows
//	16      8      bytes of buffers, which begin at the next multiple of 64 KiB behind the nodes
//	24      8      nanoseconds that it took to decode them
//	32      4      CRC-32 (IEEE 802.3) of the buffers
//	36      4      nodes
//	40      4      bytes of a record; records are the first buffer, one for each row
//	44      4      CRC-32 of the header and the nodes, these 4 bytes zero
//	48      16     zeros
//	64      128n   nodes: the vectors of each column in pre-order, a dictionary before the children
//
// A node:
//
//	offset  bytes  what
//	0       8      values
//	8       8      nulls, at least 1 if there are any
//	16      8      items of each list where lists have one length, else 0
//	24      1      bytes of a code, 0 where values are not coded
//	25      1      bit 0: a dictionary follows; bit 1: it lies in records
//	26      2      children that follow
//	28      4      position of the column in the projection; all ones below a column
//	32      96     where its buffers lie, 8 bytes each for the first byte and the length, 64-byte
//	               aligned: validity, values, codes, views, bytes of views, offsets; all 0 for one
//	               that is absent. In records validity is the bit of the record, its length 1 where
//	               there is one, and values are the byte of the record where the slot begins
//
// Two processes may write parts of one image. Equal shards and forms give equal bytes, except
// for the time in the header; if they do not, the sum shows it.
type image struct {
	rows   int64
	bytes  int64
	nanos  int64
	sum    uint32
	record int64
	nodes  []imageNode

	place   int64 // of the buffers in the file
	written int64 // TierFile.Written as the image was verified
}

const (
	imageMagic  = "SFIMAGE1"
	imageHeader = 64
	nodeBytes   = 128
	maxNodes    = 8 << 10
	noColumn    = math.MaxUint32
)

var errImage = errors.New("not an image of a row group")

// An imageNode is a vector without its memory.
type imageNode struct {
	n, nulls, stride int64
	codeWidth        int
	dict, inRecords  bool
	children         int
	column           uint32
	buffers          [buffers]imageSpan
}

// An imageSpan is where a buffer lies among the bytes of an image.
type imageSpan struct{ off, n int64 }

// The buffers of a node.
const (
	validBuffer = iota
	dataBuffer
	codesBuffer
	viewsBuffer
	textBuffer
	offsetsBuffer
	buffers
)

// head is the bytes of the place before the buffers.
func (i *image) head() int64 {
	return int64(imageHeader+nodeBytes*len(i.nodes)+tierBlock-1) / tierBlock * tierBlock
}

// format returns the header.
func (i *image) format() []byte {
	b := make([]byte, imageHeader+nodeBytes*len(i.nodes))
	copy(b, imageMagic)
	le := binary.LittleEndian
	le.PutUint64(b[8:], uint64(i.rows))
	le.PutUint64(b[16:], uint64(i.bytes))
	le.PutUint64(b[24:], uint64(i.nanos))
	le.PutUint32(b[32:], i.sum)
	le.PutUint32(b[36:], uint32(len(i.nodes)))
	le.PutUint32(b[40:], uint32(i.record))
	for k := range i.nodes {
		i.nodes[k].put(b[imageHeader+nodeBytes*k:])
	}
	le.PutUint32(b[44:], crc.Append(0, b))
	return b
}

func (x *imageNode) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint64(b, uint64(x.n))
	le.PutUint64(b[8:], uint64(x.nulls))
	le.PutUint64(b[16:], uint64(x.stride))
	b[24] = byte(x.codeWidth)
	if x.dict {
		b[25] |= 1
	}
	if x.inRecords {
		b[25] |= 2
	}
	le.PutUint16(b[26:], uint16(x.children))
	le.PutUint32(b[28:], x.column)
	for k, s := range x.buffers {
		le.PutUint64(b[32+16*k:], uint64(s.off))
		le.PutUint64(b[40+16*k:], uint64(s.n))
	}
}

// parse reads a header. The place of the image has room bytes.
func (i *image) parse(b []byte, room int64) error {
	le := binary.LittleEndian
	if len(b) < imageHeader || string(b[:8]) != imageMagic {
		return errImage
	}
	count := int64(le.Uint32(b[36:]))
	if count < 1 || count > maxNodes || int64(len(b)) < imageHeader+count*nodeBytes {
		return errImage
	}
	head := append([]byte(nil), b[:imageHeader+count*nodeBytes]...)
	clear(head[44:48])
	if crc.Append(0, head) != le.Uint32(b[44:]) {
		return errImage
	}
	*i = image{
		rows: int64(le.Uint64(head[8:])), bytes: int64(le.Uint64(head[16:])), nanos: int64(le.Uint64(head[24:])),
		sum: le.Uint32(head[32:]), record: int64(le.Uint32(head[40:])), nodes: make([]imageNode, count),
	}
	if i.bytes < 0 || i.bytes > room-i.head() || i.rows < 0 || i.rows > math.MaxInt32 || i.record*i.rows > i.bytes {
		return errImage
	}
	for k := range i.nodes {
		if err := i.nodes[k].parse(head[imageHeader+nodeBytes*k:], i.bytes); err != nil {
			return err
		}
	}
	return nil
}

func (x *imageNode) parse(b []byte, room int64) error {
	le := binary.LittleEndian
	*x = imageNode{
		n: int64(le.Uint64(b)), nulls: int64(le.Uint64(b[8:])), stride: int64(le.Uint64(b[16:])),
		codeWidth: int(b[24]), dict: b[25]&1 != 0, inRecords: b[25]&2 != 0, children: int(le.Uint16(b[26:])), column: le.Uint32(b[28:]),
	}
	if x.n < 0 || x.n > math.MaxUint32 || x.nulls < 0 || x.nulls > math.MaxUint32 || x.stride < 0 || x.stride > math.MaxInt32 {
		return errImage
	}
	for k := range x.buffers {
		s := imageSpan{int64(le.Uint64(b[32+16*k:])), int64(le.Uint64(b[40+16*k:]))}
		if s.off < 0 || s.n < 0 || s.n > room || s.off > room-s.n || s.off%64 != 0 && !x.inRecords {
			return errImage
		}
		x.buffers[k] = s
	}
	return nil
}

// columns are the positions of the columns that the image has.
func (i *image) columns() map[int]bool {
	all := map[int]bool{}
	for k := range i.nodes {
		if c := i.nodes[k].column; c != noColumn {
			all[int(c)] = true
		}
	}
	return all
}

// An imageReader makes vectors of the nodes of an image, in its bytes, for the rows from to.
type imageReader struct {
	*image
	nodes    []imageNode
	bytes    []byte
	from, to int64
}

// vectors are the columns of an image in rows from to, by position in the projection; a column that
// the image lacks is nil. b is the bytes of the image.
func (i *image) vectors(b []byte, fields []*column.Field, from, to int64) ([]*vector, error) {
	if int64(len(b)) < i.bytes || from < 0 || from > to || to > i.rows {
		return nil, errImage
	}
	r := imageReader{image: i, nodes: i.nodes, bytes: b, from: from, to: to}
	all := make([]*vector, len(fields))
	for len(r.nodes) > 0 {
		c := r.nodes[0].column
		if int64(c) >= int64(len(fields)) {
			return nil, errImage
		}
		v, err := r.next(fields[c], true)
		if err != nil {
			return nil, err
		}
		all[c] = v
	}
	return all, nil
}

// next takes a node and all below it. At the top it is cut to the rows.
func (r *imageReader) next(f *column.Field, top bool) (*vector, error) {
	if len(r.nodes) == 0 {
		return nil, errImage
	}
	x := &r.nodes[0]
	r.nodes = r.nodes[1:]
	if top != (x.column != noColumn) || x.inRecords && !top {
		return nil, errImage
	}
	v := &vector{field: f, n: int(x.n), nulls: int(x.nulls), codeWidth: x.codeWidth, stride: int(x.stride)}
	if x.inRecords {
		if err := r.inRecords(v, x); err != nil {
			return nil, err
		}
	} else {
		v.valid = wordsIn[uint64](r.buffer(x, validBuffer))
		v.data, v.codes = r.buffer(x, dataBuffer), r.buffer(x, codesBuffer)
		v.views, v.offsets = wordsIn[uint64](r.buffer(x, viewsBuffer)), wordsIn[uint32](r.buffer(x, offsetsBuffer))
		if v.views != nil {
			v.base = [][]byte{r.buffer(x, textBuffer)}
		}
		if !v.fits(x) {
			return nil, errImage
		}
	}
	if x.dict {
		d, err := r.next(f, false)
		if err != nil {
			return nil, err
		}
		v.dict = d
	}
	for k := range x.children {
		if k >= len(f.Children) {
			return nil, errImage
		}
		c, err := r.next(f.Children[k], false)
		if err != nil {
			return nil, err
		}
		v.children = append(v.children, c)
	}
	if top && !x.inRecords {
		return v, v.cut(r.from, r.to)
	}
	return v, nil
}

// inRecords finds the slots of a vector.
func (r *imageReader) inRecords(v *vector, x *imageNode) error {
	slot, bit := x.buffers[dataBuffer].off, x.buffers[validBuffer].off
	w := slotWidth(v.field, x.codeWidth)
	if x.n != r.rows || slot+w > r.record || bit/8 >= r.record || x.codeWidth > 0 != x.dict || x.codeWidth == 3 || x.codeWidth > 4 {
		return errImage
	}
	v.n, v.step = int(r.to-r.from), int(r.record)
	records := r.bytes[r.from*r.record : r.to*r.record]
	if v.n == 0 {
		records = zeros[:0]
		slot, bit = 0, 0
	}
	v.slots, v.slot = records[slot:], int(slot)
	if x.buffers[validBuffer].n > 0 {
		v.marks, v.markAt, v.mark = records[bit/8:], int(bit/8), 1<<(bit%8)
	}
	if v.field.Kind != column.Fixed && x.codeWidth == 0 {
		v.base = [][]byte{r.buffer(x, textBuffer)}
	}
	return nil
}

// slotWidth is the bytes of a slot: of a value, a code or a view.
func slotWidth(f *column.Field, codeWidth int) int64 {
	switch {
	case codeWidth > 0:
		return int64(codeWidth)
	case f.Kind == column.Fixed:
		return int64(f.Width)
	}
	return 8
}

func (r *imageReader) buffer(x *imageNode, k int) []byte {
	s := x.buffers[k]
	if s.n == 0 {
		return nil
	}
	return r.bytes[s.off : s.off+s.n : s.off+s.n]
}

// wordsIn is bytes as words, nil of none.
func wordsIn[T uint32 | uint64](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return mem.As[T](b)
}
