package parquet

import (
	"encoding/binary"
	"errors"
)

// Wire types of thrift's compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12

	thriftMaxDepth = 64 // of structs in structs; parquet's own go to about ten
)

var errThrift = errors.New("not a valid thrift message")

// A thriftReader reads thrift's compact protocol in place, and varints of its kind elsewhere. After
// the first error every method returns zero and field reports the end, so callers look at err once.
// It allocates nothing, and a list is never longer than the bytes that are left.
type thriftReader struct {
	b     []byte
	pos   int
	depth int
	err   error
}

func (r *thriftReader) fail() {
	r.err = errThrift
	r.pos = len(r.b)
}

func (r *thriftReader) byte() byte {
	if r.pos >= len(r.b) {
		r.fail()
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

func (r *thriftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b[r.pos:])
	if n <= 0 {
		r.fail()
		return 0
	}
	r.pos += n
	return v
}

// int reads a zigzag integer of any size.
func (r *thriftReader) int() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// int32 reads an integer that must fit in 32 bits.
func (r *thriftReader) int32() int32 {
	v := r.int()
	if v != int64(int32(v)) {
		r.fail()
		return 0
	}
	return int32(v)
}

// bytes reads a string; it aliases the message.
func (r *thriftReader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)-r.pos) {
		r.fail()
		return nil
	}
	s := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return s
}

// fields calls read for each field of a struct. It reads the value, or leaves it to be skipped.
func (r *thriftReader) fields(read func(id int16, typ byte)) {
	r.enter()
	for id := int16(0); ; {
		typ, ok := r.field(&id)
		if !ok {
			break
		}
		at := r.pos
		read(id, typ)
		if r.pos == at {
			r.skip(typ)
		}
	}
	r.leave()
}

// enter starts a value that contains others.
func (r *thriftReader) enter() {
	r.depth++
	if r.depth > thriftMaxDepth {
		r.fail()
	}
}

func (r *thriftReader) leave() { r.depth-- }

// field reads the header of a struct's next field; id holds the previous field's and is set to this
// one's.
func (r *thriftReader) field(id *int16) (typ byte, ok bool) {
	h := r.byte()
	typ = h & 15
	if r.err != nil || typ == thriftStop {
		return 0, false
	}
	if d := h >> 4; d != 0 {
		*id += int16(d)
	} else {
		*id = int16(r.int())
	}
	return typ, r.err == nil
}

// list reads a list's header. Every element of parquet's lists takes at least a byte, so n is
// bounded by the bytes that are left.
func (r *thriftReader) list() (typ byte, n int) {
	h := r.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = r.uvarint()
	}
	if size > uint64(len(r.b)-r.pos) {
		r.fail()
		return 0, 0
	}
	return h & 15, int(size)
}

// expect fails unless a value's wire type is the one that the format gives it.
func (r *thriftReader) expect(got, want byte) bool {
	if got != want {
		r.fail()
	}
	return r.err == nil
}

func (r *thriftReader) skip(typ byte) {
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		r.byte()
	case thriftI16, thriftI32, thriftI64:
		r.uvarint()
	case thriftDouble:
		r.advance(8)
	case thriftBinary:
		r.bytes()
	case thriftList, thriftSet:
		r.skipList()
	case thriftMap:
		r.skipMap()
	case thriftStruct:
		r.fields(func(int16, byte) {})
	default:
		r.fail()
	}
}

func (r *thriftReader) advance(n int) {
	if n > len(r.b)-r.pos {
		r.fail()
		return
	}
	r.pos += n
}

// skipElement steps over an element of a list or map, where booleans take a byte.
func (r *thriftReader) skipElement(typ byte) {
	if typ == thriftTrue || typ == thriftFalse {
		typ = thriftByte
	}
	r.skip(typ)
}

func (r *thriftReader) skipList() {
	r.enter()
	typ, n := r.list()
	for i := 0; i < n && r.err == nil; i++ {
		r.skipElement(typ)
	}
	r.leave()
}

func (r *thriftReader) skipMap() {
	n := r.uvarint()
	if n == 0 {
		return
	}
	if n > uint64(len(r.b)-r.pos) {
		r.fail()
		return
	}
	r.enter()
	types := r.byte()
	for i := uint64(0); i < n && r.err == nil; i++ {
		r.skipElement(types >> 4)
		r.skipElement(types & 15)
	}
	r.leave()
}
