package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// An image is a decoded column of a whole row group as a [TierFile] holds it: the vectors that the
// decoder makes, whose buffers a reader uses where they lie. Numbers are little-endian, words in
// buffers have the machine's byte order; images stay on the machine.
//
// The header has the first 64 KiB of a chunk's place for itself:
//
//	offset  bytes  what
//	0       8      "SFIMAGE1"
//	8       8      signature of the column: how its values are read; see signature
//	16      8      rows
//	24      8      bytes of buffers, which begin 64 KiB behind the header
//	32      8      nanoseconds that it took to decode them
//	40      4      CRC-32 (IEEE 802.3) of the buffers
//	44      4      nodes
//	48      4      CRC-32 of the header and the nodes, these 4 bytes zero
//	52      12     zeros
//	64      128n   nodes: the vectors in pre-order, a dictionary before the children
//
// A node:
//
//	offset  bytes  what
//	0       8      values
//	8       8      nulls, at least 1 if there are any
//	16      8      items of each list where lists have one length, else 0
//	24      1      bytes of a code, 0 where values are not coded
//	25      1      1 when a dictionary follows
//	26      2      children that follow
//	28      4      zeros
//	32      96     where its buffers lie, 8 bytes each for the first byte and the length, 64-byte aligned: validity, values, codes,
//	               views, bytes of views, offsets; all 0 for one that is absent
//
// Two processes may write parts of one image. Equal versions of a shard and equal signatures give
// equal bytes but for the time, which is in the header; if they do not, the sum shows it.
type image struct {
	sign  uint64
	rows  int64
	bytes int64
	nanos int64
	sum   uint32
	nodes []imageNode

	place int64 // of the buffers in the file
}

const (
	imageMagic  = "SFIMAGE1"
	imageHeader = 64
	nodeBytes   = 128
	maxNodes    = (tierBlock - imageHeader) / nodeBytes
)

var errImage = errors.New("not an image of a column")

// An imageNode is a vector without its memory.
type imageNode struct {
	n, nulls, stride int64
	codeWidth        int
	dict             bool
	children         int
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

func imageSum(sum uint32, b []byte) uint32 { return crc32.Update(sum, crc32.IEEETable, b) }

// signature is a hash of all that decides what a column decodes to, besides the shard.
func signature(n *node, replace bool) uint64 {
	h := fnv.New64a()
	var describe func(n *node)
	describe = func(n *node) {
		f := n.field
		fmt.Fprintln(h, f.Kind, f.Type, f.Width, f.ListSize, n.missing, len(n.children), replace && isText(f.Type))
		if n.leaf != nil {
			fmt.Fprintln(h, n.leaf.index, n.leaf.path, n.leaf.convert, f.Precision, f.Scale)
		}
		for _, c := range n.children {
			describe(c)
		}
	}
	describe(n)
	return h.Sum64()
}

// format returns the header.
func (i *image) format() []byte {
	b := make([]byte, imageHeader+nodeBytes*len(i.nodes))
	copy(b, imageMagic)
	le := binary.LittleEndian
	le.PutUint64(b[8:], i.sign)
	le.PutUint64(b[16:], uint64(i.rows))
	le.PutUint64(b[24:], uint64(i.bytes))
	le.PutUint64(b[32:], uint64(i.nanos))
	le.PutUint32(b[40:], i.sum)
	le.PutUint32(b[44:], uint32(len(i.nodes)))
	for k := range i.nodes {
		i.nodes[k].put(b[imageHeader+nodeBytes*k:])
	}
	le.PutUint32(b[48:], imageSum(0, b))
	return b
}

func (x *imageNode) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint64(b, uint64(x.n))
	le.PutUint64(b[8:], uint64(x.nulls))
	le.PutUint64(b[16:], uint64(x.stride))
	b[24] = byte(x.codeWidth)
	if x.dict {
		b[25] = 1
	}
	le.PutUint16(b[26:], uint16(x.children))
	for k, s := range x.buffers {
		le.PutUint64(b[32+16*k:], uint64(s.off))
		le.PutUint64(b[40+16*k:], uint64(s.n))
	}
}

// parse reads a header. An image has room bytes at most.
func (i *image) parse(b []byte, room int64) error {
	le := binary.LittleEndian
	if len(b) < imageHeader || string(b[:8]) != imageMagic {
		return errImage
	}
	count := int(le.Uint32(b[44:]))
	if count < 1 || count > maxNodes || len(b) < imageHeader+count*nodeBytes {
		return errImage
	}
	head := append([]byte(nil), b[:imageHeader+count*nodeBytes]...)
	clear(head[48:52])
	if imageSum(0, head) != le.Uint32(b[48:]) {
		return errImage
	}
	*i = image{
		sign: le.Uint64(head[8:]), rows: int64(le.Uint64(head[16:])), bytes: int64(le.Uint64(head[24:])), nanos: int64(le.Uint64(head[32:])),
		sum: le.Uint32(head[40:]), nodes: make([]imageNode, count),
	}
	if i.bytes < 0 || i.bytes > room || i.rows < 0 || i.rows > math.MaxInt32 {
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
		codeWidth: int(b[24]), dict: b[25] != 0, children: int(le.Uint16(b[26:])),
	}
	if x.n < 0 || x.n > math.MaxUint32 || x.nulls < 0 || x.nulls > math.MaxUint32 || x.stride < 0 || x.stride > math.MaxInt32 {
		return errImage
	}
	for k := range x.buffers {
		s := imageSpan{int64(le.Uint64(b[32+16*k:])), int64(le.Uint64(b[40+16*k:]))}
		if s.off < 0 || s.n < 0 || s.n > room || s.off > room-s.n || s.off%64 != 0 {
			return errImage
		}
		x.buffers[k] = s
	}
	return nil
}

// An imageReader makes vectors of the nodes of an image. Rows from to are those of the top.
type imageReader struct {
	nodes    []imageNode
	bytes    []byte
	from, to int64
}

// vector is the column of an image in rows from to, which lie in the bytes of the image.
func (i *image) vector(b []byte, f *column.Field, from, to int64) (*vector, error) {
	r := imageReader{nodes: i.nodes, bytes: b, from: from, to: to}
	v, err := r.next(f, true)
	if err == nil && len(r.nodes) > 0 {
		err = errImage
	}
	return v, err
}

// next takes a node and all below it. At the top it is cut to the rows.
func (r *imageReader) next(f *column.Field, top bool) (*vector, error) {
	if len(r.nodes) == 0 {
		return nil, errImage
	}
	x := &r.nodes[0]
	r.nodes = r.nodes[1:]
	v := &vector{field: f, n: int(x.n), nulls: int(x.nulls), codeWidth: x.codeWidth, stride: int(x.stride)}
	v.valid = wordsIn[uint64](r.buffer(x, validBuffer))
	v.data, v.codes = r.buffer(x, dataBuffer), r.buffer(x, codesBuffer)
	v.views, v.offsets = wordsIn[uint64](r.buffer(x, viewsBuffer)), wordsIn[uint32](r.buffer(x, offsetsBuffer))
	if v.views != nil {
		v.base = [][]byte{r.buffer(x, textBuffer)}
	}
	if err := v.fits(f, x); err != nil {
		return nil, err
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
	if top {
		return v, v.cut(r.from, r.to)
	}
	return v, nil
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

// fits makes sure that buffers are as long as the values need.
func (v *vector) fits(f *column.Field, x *imageNode) error {
	n := v.n
	ok := v.valid == nil || len(v.valid) >= parquet.BitmapWords(n)
	switch {
	case v.codes != nil:
		ok = ok && (v.codeWidth == 1 || v.codeWidth == 2 || v.codeWidth == 4) && len(v.codes) == n*v.codeWidth && x.dict
	case v.views != nil:
		ok = ok && len(v.views) == n
	case v.offsets != nil:
		ok = ok && len(v.offsets) == n+1
	case f.Kind == column.List && v.data != nil:
		ok = ok && len(f.Children) == 1 && len(v.data) == n*v.stride*f.Children[0].Width
	case v.data != nil:
		ok = ok && len(v.data) == n*f.Width
	}
	if !ok {
		return errImage
	}
	return nil
}

// cut leaves the rows from to of a column of a whole row group, and up to 63 before them.
func (v *vector) cut(from, to int64) error {
	if from < 0 || to > int64(v.n) || from > to {
		return errImage
	}
	if v.field.Kind == column.Struct || v.stride > 0 && v.data == nil { // members, or items, are counted from the first row on
		v.skip, v.n = int(from), int(to)
		return nil
	}
	lo, hi := int(from)&^63, int(to)
	v.skip, v.n = int(from)-lo, hi-lo
	if v.valid != nil {
		v.valid = v.valid[lo/64:]
	}
	switch {
	case v.codes != nil:
		v.codes = v.codes[lo*v.codeWidth : hi*v.codeWidth]
	case v.views != nil:
		v.views = v.views[lo:hi]
	case v.offsets != nil:
		v.offsets = v.offsets[lo : hi+1]
	case v.field.Kind == column.List && v.data != nil:
		w := v.stride * v.field.Children[0].Width
		v.data = v.data[lo*w : hi*w]
	case v.data != nil:
		v.data = v.data[lo*v.field.Width : hi*v.field.Width]
	}
	return nil
}
