package rowgroup

import "encoding/binary"

// flatReader reads tables of a flatbuffer in place. After an offset that leaves the buffer, or too
// many tables, bad is set and every method returns zero.
type flatReader struct {
	b    []byte
	left int // tables that may still be read, so that offsets in a circle end
	bad  bool
}

// A flatTable is the place of a table; 0 is none.
type flatTable int

func (r *flatReader) bytes(pos, n int) []byte {
	if r.bad || pos < 0 || n < 0 || pos > len(r.b)-n {
		r.bad = true
		return nil
	}
	return r.b[pos : pos+n]
}

func (r *flatReader) uint32(pos int) uint32 {
	if b := r.bytes(pos, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *flatReader) uint16(pos int) uint16 {
	if b := r.bytes(pos, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// table follows the offset at pos.
func (r *flatReader) table(pos int) flatTable {
	off := r.uint32(pos)
	r.left--
	if r.left < 0 || off == 0 || uint64(off) > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return flatTable(pos + int(off))
}

// field is the position of the i-th field of a table, 0 when the table does not have it.
func (r *flatReader) field(t flatTable, i int) int {
	if t == 0 || r.bad {
		return 0
	}
	vtable := int(t) - int(int32(r.uint32(int(t))))
	if 4+2*i+2 > int(r.uint16(vtable)) {
		return 0
	}
	off := int(r.uint16(vtable + 4 + 2*i))
	if off == 0 || r.bad {
		return 0
	}
	return int(t) + off
}

func (r *flatReader) tableField(t flatTable, i int) flatTable {
	if p := r.field(t, i); p != 0 {
		return r.table(p)
	}
	return 0
}

func (r *flatReader) byteField(t flatTable, i int) byte {
	if p := r.field(t, i); p != 0 {
		if b := r.bytes(p, 1); b != nil {
			return b[0]
		}
	}
	return 0
}

func (r *flatReader) uint32Field(t flatTable, i int) uint32 {
	if p := r.field(t, i); p != 0 {
		return r.uint32(p)
	}
	return 0
}

func (r *flatReader) stringField(t flatTable, i int) string {
	pos, n := r.vector(t, i)
	return string(r.bytes(pos, n))
}

// vector is the position of the first element of a vector and their number.
func (r *flatReader) vector(t flatTable, i int) (pos, n int) {
	p := r.field(t, i)
	if p == 0 {
		return 0, 0
	}
	v := r.table(p)
	n = int(r.uint32(int(v)))
	if n > len(r.b) {
		r.bad = true
		return 0, 0
	}
	return int(v) + 4, n
}
