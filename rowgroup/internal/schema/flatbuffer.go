package schema

import "encoding/binary"

// flatReader reads tables of a flatbuffer in place. An offset that leaves the buffer, or too many
// tables, are a panic, as for any slice: the caller recovers.
type flatReader struct {
	b    []byte
	left int // tables that may still be read, so that offsets in a circle end
}

// A flatTable is the place of a table; 0 is none.
type flatTable int

func (r *flatReader) uint32(pos int) int { return int(binary.LittleEndian.Uint32(r.b[pos:])) }
func (r *flatReader) uint16(pos int) int { return int(binary.LittleEndian.Uint16(r.b[pos:])) }

// table follows the offset at pos.
func (r *flatReader) table(pos int) flatTable {
	off := r.uint32(pos)
	if r.left--; r.left < 0 || off == 0 {
		panic("too many tables, or none")
	}
	return flatTable(pos + off)
}

// field is the position of the i-th field of a table, 0 when the table does not have it.
func (r *flatReader) field(t flatTable, i int) int {
	if t == 0 {
		return 0
	}
	vtable := int(t) - int(int32(r.uint32(int(t))))
	if 4+2*i+2 > r.uint16(vtable) {
		return 0
	}
	if off := r.uint16(vtable + 4 + 2*i); off != 0 {
		return int(t) + off
	}
	return 0
}

func (r *flatReader) tableField(t flatTable, i int) flatTable {
	if p := r.field(t, i); p != 0 {
		return r.table(p)
	}
	return 0
}

func (r *flatReader) byteField(t flatTable, i int) byte {
	if p := r.field(t, i); p != 0 {
		return r.b[p]
	}
	return 0
}

func (r *flatReader) uint32Field(t flatTable, i int) int {
	if p := r.field(t, i); p != 0 {
		return r.uint32(p)
	}
	return 0
}

func (r *flatReader) stringField(t flatTable, i int) string {
	pos, n := r.vector(t, i)
	return string(r.b[pos:][:n])
}

// vector is the position of the first element of a vector and their number.
func (r *flatReader) vector(t flatTable, i int) (pos, n int) {
	p := r.field(t, i)
	if p == 0 {
		return 0, 0
	}
	v := int(r.table(p))
	return v + 4, r.uint32(v)
}
