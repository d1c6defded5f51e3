package image

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// An Image is decoded columns of a whole row group as a [File] holds them, in the forms of blocks,
// so that blocks can use them in place. Columns with one fixed-width value, code or view to a row
// are side by side in records, one for each row: a row that is picked at random is a few cache
// lines then, not one for each column. All else is in buffers of its own, as the decoder makes it.
// Numbers are little-endian, words in buffers have the machine's byte order; images stay on the
// machine.
//
//	offset  bytes  what
//	0       8      "SFIMAGE1"
//	8       8      rows
//	16      8      bytes of buffers, which start at the next multiple of 64 KiB behind the nodes
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
//	25      1      bit 0: a dictionary follows; bit 1: it is in records
//	26      2      children that follow
//	28      4      position of the column in the projection; all ones below a column
//	32      96     where its buffers are, 8 bytes each for the first byte and the length, 64-byte
//	               aligned: validity, values, codes, views, bytes of views, offsets; all 0 for one
//	               that is absent. In records validity is the bit of the record, its length 1 where
//	               there is one, and values are the byte of the record where the slot starts
//
// Two processes may write parts of one image. Equal shards and forms give equal bytes, except
// for the time in the header; if they do not, the sum shows it.
type Image struct {
	Rows   int64
	Bytes  int64
	Nanos  int64
	sum    uint32
	Record int64
	nodes  []node

	place   int64 // of the buffers in the file
	written int64 // File.Written as the image was verified
}

const (
	magic       = "SFIMAGE1"
	headerBytes = 64
	nodeBytes   = 128
	maxNodes    = 8 << 10
	noColumn    = math.MaxUint32
)

var errNotImage = errors.New("not an image of a row group")

// A node is a vector without its memory.
type node struct {
	n, nulls, stride int64
	codeWidth        int
	dict, inRecords  bool
	children         int
	column           uint32
	buffers          [buffers]span
}

// A span is where a buffer is among the bytes of an image.
type span struct{ off, n int64 }

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
func (i *Image) head() int64 {
	return int64(headerBytes+nodeBytes*len(i.nodes)+Alignment-1) / Alignment * Alignment
}

// format returns the header.
func (i *Image) format() []byte {
	b := make([]byte, headerBytes+nodeBytes*len(i.nodes))
	copy(b, magic)
	le := binary.LittleEndian
	le.PutUint64(b[8:], uint64(i.Rows))
	le.PutUint64(b[16:], uint64(i.Bytes))
	le.PutUint64(b[24:], uint64(i.Nanos))
	le.PutUint32(b[32:], i.sum)
	le.PutUint32(b[36:], uint32(len(i.nodes)))
	le.PutUint32(b[40:], uint32(i.Record))
	for k := range i.nodes {
		i.nodes[k].put(b[headerBytes+nodeBytes*k:])
	}
	le.PutUint32(b[44:], crc.Append(0, b))
	return b
}

func (x *node) put(b []byte) {
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
func (i *Image) parse(b []byte, room int64) error {
	le := binary.LittleEndian
	if len(b) < headerBytes || string(b[:8]) != magic {
		return errNotImage
	}
	count := int64(le.Uint32(b[36:]))
	if count < 1 || count > maxNodes || int64(len(b)) < headerBytes+count*nodeBytes {
		return errNotImage
	}
	head := append([]byte(nil), b[:headerBytes+count*nodeBytes]...)
	clear(head[44:48])
	if crc.Append(0, head) != le.Uint32(b[44:]) {
		return errNotImage
	}
	*i = Image{
		Rows: int64(le.Uint64(head[8:])), Bytes: int64(le.Uint64(head[16:])), Nanos: int64(le.Uint64(head[24:])),
		sum: le.Uint32(head[32:]), Record: int64(le.Uint32(head[40:])), nodes: make([]node, count),
	}
	if i.Bytes < 0 || i.Bytes > room-i.head() || i.Rows < 0 || i.Rows > math.MaxInt32 || i.Record*i.Rows > i.Bytes {
		return errNotImage
	}
	for k := range i.nodes {
		if err := i.nodes[k].parse(head[headerBytes+nodeBytes*k:], i.Bytes); err != nil {
			return err
		}
	}
	return nil
}

func (x *node) parse(b []byte, room int64) error {
	le := binary.LittleEndian
	*x = node{
		n: int64(le.Uint64(b)), nulls: int64(le.Uint64(b[8:])), stride: int64(le.Uint64(b[16:])),
		codeWidth: int(b[24]), dict: b[25]&1 != 0, inRecords: b[25]&2 != 0, children: int(le.Uint16(b[26:])), column: le.Uint32(b[28:]),
	}
	if x.n < 0 || x.n > math.MaxUint32 || x.nulls < 0 || x.nulls > math.MaxUint32 || x.stride < 0 || x.stride > math.MaxInt32 {
		return errNotImage
	}
	for k := range x.buffers {
		s := span{int64(le.Uint64(b[32+16*k:])), int64(le.Uint64(b[40+16*k:]))}
		if s.off < 0 || s.n < 0 || s.n > room || s.off > room-s.n || s.off%64 != 0 && !x.inRecords {
			return errNotImage
		}
		x.buffers[k] = s
	}
	return nil
}

// Columns returns the positions of the columns that the image has.
func (i *Image) Columns() map[int]bool {
	all := map[int]bool{}
	for k := range i.nodes {
		if c := i.nodes[k].column; c != noColumn {
			all[int(c)] = true
		}
	}
	return all
}

// A reader makes vectors of the nodes of an image, in its bytes, for the rows from to.
type reader struct {
	*Image
	nodes    []node
	bytes    []byte
	from, to int64
}

// Vectors returns the columns of an image in rows from to, by position in the projection; a column
// that the image lacks is nil. b is the bytes of the image.
func (i *Image) Vectors(b []byte, fields []*column.Field, from, to int64) ([]*block.Vector, error) {
	if int64(len(b)) < i.Bytes || from < 0 || from > to || to > i.Rows {
		return nil, errNotImage
	}
	r := reader{Image: i, nodes: i.nodes, bytes: b, from: from, to: to}
	all := make([]*block.Vector, len(fields))
	for len(r.nodes) > 0 {
		c := r.nodes[0].column
		if int64(c) >= int64(len(fields)) || fields[c] == nil {
			return nil, errNotImage
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
func (r *reader) next(f *column.Field, top bool) (*block.Vector, error) {
	if len(r.nodes) == 0 {
		return nil, errNotImage
	}
	x := &r.nodes[0]
	r.nodes = r.nodes[1:]
	if top != (x.column != noColumn) || x.inRecords && !top {
		return nil, errNotImage
	}
	v := &block.Vector{Field: f, Len: int(x.n), Nulls: int(x.nulls), CodeWidth: x.codeWidth, Stride: int(x.stride)}
	if x.inRecords {
		if err := r.inRecords(v, x); err != nil {
			return nil, err
		}
	} else {
		v.Valid = wordsIn[uint64](r.buffer(x, validBuffer))
		v.Data, v.Codes = r.buffer(x, dataBuffer), r.buffer(x, codesBuffer)
		v.Views, v.Offsets = wordsIn[uint64](r.buffer(x, viewsBuffer)), wordsIn[uint32](r.buffer(x, offsetsBuffer))
		if v.Views != nil {
			v.Base = [][]byte{r.buffer(x, textBuffer)}
		}
		if !fits(v, x) {
			return nil, errNotImage
		}
	}
	if x.dict {
		d, err := r.next(f, false)
		if err != nil {
			return nil, err
		}
		v.Dict = d
	}
	for k := range x.children {
		if k >= len(f.Children) {
			return nil, errNotImage
		}
		c, err := r.next(f.Children[k], false)
		if err != nil {
			return nil, err
		}
		v.Children = append(v.Children, c)
	}
	if top && !x.inRecords {
		return v, cutRows(v, r.from, r.to)
	}
	return v, nil
}

// inRecords finds the slots of a vector.
func (r *reader) inRecords(v *block.Vector, x *node) error {
	slot, bit := x.buffers[dataBuffer].off, x.buffers[validBuffer].off
	w := block.SlotWidth(v.Field, x.codeWidth)
	if x.n != r.Rows || slot+w > r.Record || bit/8 >= r.Record || x.codeWidth > 0 != x.dict || x.codeWidth == 3 || x.codeWidth > 4 {
		return errNotImage
	}
	v.Len, v.Step = int(r.to-r.from), int(r.Record)
	records := r.bytes[r.from*r.Record : r.to*r.Record]
	if v.Len == 0 {
		records = padding[:0]
		slot, bit = 0, 0
	}
	v.Slots, v.Slot = records[slot:], int(slot)
	if x.buffers[validBuffer].n > 0 {
		v.Marks, v.MarkAt, v.Mark = records[bit/8:], int(bit/8), 1<<(bit%8)
	}
	if v.Field.Kind != column.Fixed && x.codeWidth == 0 {
		v.Base = [][]byte{r.buffer(x, textBuffer)}
	}
	return nil
}

func (r *reader) buffer(x *node, k int) []byte {
	s := x.buffers[k]
	if s.n == 0 {
		return nil
	}
	return r.bytes[s.off : s.off+s.n : s.off+s.n]
}

// wordsIn returns bytes as words, or nil if b is empty.
func wordsIn[T uint32 | uint64](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return mem.As[T](b)
}
