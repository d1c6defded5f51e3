package arrowipc

import "encoding/binary"

var le = binary.LittleEndian

// A table is a flatbuffer table: its fields by slot, with gaps where the default stays.
type table []field

// A field is a scalar of size bytes, or something that a table refers to.
type field struct {
	size   int // of a scalar; 0 is an absent field when refers is nil
	scalar uint64
	refers node
}

// A node is written behind the table that refers to it. It returns the place that offsets mean.
type node interface {
	write(b *buffer) (at int)
}

func int16Of(v int) field { return field{size: 2, scalar: uint64(uint16(v))} }
func int32Of(v int) field { return field{size: 4, scalar: uint64(uint32(v))} }
func int64Of(v int) field { return field{size: 8, scalar: uint64(v)} }
func byteOf(v int) field  { return field{size: 1, scalar: uint64(v)} }
func to(n node) field     { return field{size: 4, refers: n} }

func boolOf(v bool) field {
	if v {
		return byteOf(1)
	}
	return byteOf(0)
}

// A buffer is a flatbuffer that is written from front to back: a table, then its targets.
type buffer struct{ b []byte }

// finish returns the flatbuffer of a root table, padded to 8 bytes.
func finish(root table) []byte {
	b := &buffer{make([]byte, 4)}
	le.PutUint32(b.b, uint32(root.write(b)))
	b.align(8, 0)
	return b.b
}

// align adds zeros until the length is rest modulo n.
func (b *buffer) align(n, rest int) {
	for len(b.b)%n != rest {
		b.b = append(b.b, 0)
	}
}

// refer sets the offset at place to target, which follows it.
func (b *buffer) refer(place, target int) { le.PutUint32(b.b[place:], uint32(target-place)) }

func (t table) write(b *buffer) int {
	offsets, size := t.layout()
	b.align(2, 0)
	vtable := len(b.b)
	b.b = le.AppendUint16(b.b, uint16(4+2*len(t)))
	b.b = le.AppendUint16(b.b, uint16(size))
	for _, at := range offsets {
		b.b = le.AppendUint16(b.b, uint16(at))
	}
	b.align(8, 0)
	start := len(b.b)
	b.b = append(b.b, make([]byte, size)...)
	le.PutUint32(b.b[start:], uint32(start-vtable))
	for i, f := range t {
		var scalar [8]byte
		le.PutUint64(scalar[:], f.scalar)
		copy(b.b[start+offsets[i]:], scalar[:f.size])
	}
	for i, f := range t {
		if f.refers != nil {
			b.refer(start+offsets[i], f.refers.write(b))
		}
	}
	return start
}

// layout places the fields behind the offset of the vtable, each aligned to its size.
func (t table) layout() (offsets []int, size int) {
	offsets, size = make([]int, len(t)), 4
	for i, f := range t {
		if f.size == 0 {
			continue
		}
		for size%f.size != 0 {
			size++
		}
		offsets[i] = size
		size += f.size
	}
	return offsets, size
}

// text is a flatbuffer string.
type text string

func (s text) write(b *buffer) int {
	b.align(4, 0)
	start := len(b.b)
	b.b = append(le.AppendUint32(b.b, uint32(len(s))), s...)
	b.b = append(b.b, 0)
	return start
}

// tables are a vector of tables.
type tables []table

func (v tables) write(b *buffer) int {
	b.align(4, 0)
	start := len(b.b)
	b.b = le.AppendUint32(b.b, uint32(len(v)))
	b.b = append(b.b, make([]byte, 4*len(v))...)
	for i, t := range v {
		b.refer(start+4+4*i, t.write(b))
	}
	return start
}

// pairs are a vector of structs of two int64.
type pairs [][2]int64

func (v pairs) write(b *buffer) int {
	b.align(8, 4)
	start := len(b.b)
	b.b = le.AppendUint32(b.b, uint32(len(v)))
	for _, p := range v {
		b.b = le.AppendUint64(b.b, uint64(p[0]))
		b.b = le.AppendUint64(b.b, uint64(p[1]))
	}
	return start
}
