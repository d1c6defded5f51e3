package block

import (
	"errors"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// ErrMisfit is an error of Decode: a value of Layout.Stacks cannot be cast. A Decode without them
// leaves the value to Gatherer.Stack, whose error names it.
var ErrMisfit = errors.New("a value does not fit its matrix")

// Stacks are matrices that blocks have in place of columns. The values of a row are adjacent, so
// that a batch copies each row at once, not value by value from as many places as there are
// columns.
type Stacks struct {
	matrices []*Matrix
	dropped  []bool // by column of the manifest: it is only in matrices
}

// NewStacks selects the matrices that can be made as columns are decoded: those whose members are
// single fixed values. used are the columns that blocks need anyway. It returns nil when no matrix
// is left, or when every column of them is needed otherwise.
func NewStacks(s *column.Schema, matrices []*Matrix, used []bool) *Stacks {
	k := &Stacks{dropped: make([]bool, len(s.Fields))}
	needed := make([]bool, len(s.Fields))
	copy(needed, used)
	for _, m := range matrices {
		if m.isSingle(s) {
			k.matrices = append(k.matrices, m)
			continue
		}
		for i := range m.Members {
			needed[m.Members[i].Column] = true
		}
	}
	some := false
	for _, m := range k.matrices {
		for i := range m.Members {
			if at := m.Members[i].Column; !needed[at] {
				k.dropped[at], some = true, true
			}
		}
	}
	if !some {
		return nil
	}
	return k
}

// isSingle reports whether all members are fixed values as the files have them.
func (m *Matrix) isSingle(s *column.Schema) bool {
	for i := range m.Members {
		x := &m.Members[i]
		if f := s.Fields[x.Column]; x.Items > 0 || x.Caster.run == nil || f.Kind != column.Fixed || f.Width != x.Caster.from.Width {
			return false
		}
	}
	return len(m.Members) > 0
}

// rowBytes of a matrix.
func (m *Matrix) rowBytes() int { return m.Field.ListSize * m.Field.Children[0].Width }

// octets is the bytes of the validity of a row.
func (m *Matrix) octets() int { return (m.Field.ListSize + 7) / 8 }

// hasNulls reports whether a feature may be null.
func (m *Matrix) hasNulls(s *column.Schema) bool {
	for i := range m.Members {
		if s.Fields[m.Members[i].Column].Nullable {
			return true
		}
	}
	return false
}

// A tile of a matrix stays in the first-level cache while it is laid out row by row.
const (
	stackTile  = 128 // rows, at most
	leastTile  = 16  // rows, a cache line of each feature
	stackBytes = 24 << 10
)

// stackedRows are a matrix of the rows of a block. While columns are decoded they are feature by
// feature within tiles of rows, so that each column is written a run at a time; then row by row.
type stackedRows struct {
	matrix *Matrix
	data   []byte
	valid  []byte // octets bytes a row, with a bit for each feature; nil without nulls
}

// tile is the rows of a tile.
func (m *Matrix) tile() int {
	return min(stackTile, max(leastTile, stackBytes/max(1, m.rowBytes())&^(leastTile-1)))
}

// A Stacker puts columns into the matrices of blocks as they are decoded. It holds the scratch of
// one goroutine.
type Stacker struct {
	raw   [stackTile * 32]byte // values of a tile as they are stored; 32 bytes is the widest decimal
	picks [stackTile]Pick
	srcs  [1]source
	tmp   CastScratch
}

// column puts the rows of an order of a column into a block's matrix.
func (t *Stacker) column(s *stackedRows, from *Member, v *Vector, order []uint32, arena *mem.Arena) (fits bool) {
	n, w, tile := s.matrix.Field.ListSize, s.matrix.Field.Children[0].Width, s.matrix.tile()
	for lo := 0; lo < len(order); lo += tile {
		some := order[lo:min(lo+tile, len(order))]
		dst := s.data[(lo*n+from.At*len(some))*w:][:len(some)*w]
		if !t.cast(from.Caster, v, some, unsafe.Pointer(unsafe.SliceData(dst))) {
			return false
		}
		for i := 0; i < len(some) && v.Nulls > 0; i++ {
			if v.IsNull(v.Skip + int(some[i])) {
				copy(dst[i*w:(i+1)*w], from.Null)
				s.setNull(lo+i, from.At, arena)
			}
		}
	}
	return true
}

// cast converts some values. What it makes of nulls means nothing.
func (t *Stacker) cast(m *Caster, v *Vector, order []uint32, dst unsafe.Pointer) (fits bool) {
	src, stored := v.source(m.from.Width)
	if !stored {
		return true // all are null
	}
	w := m.from.Width
	raw := t.raw[:len(order)*w]
	if src.width == 0 {
		PermuteValues(raw, v.Data, w, v.Skip, order)
	} else {
		for i, r := range order {
			t.picks[i] = Pick(v.Skip) + Pick(r)
		}
		t.srcs[0] = src
		gatherValues(raw, t.srcs[:], true, w, t.picks[:len(order)])
	}
	at := unsafe.Pointer(&t.raw)
	if !m.run(dst, 1, at, len(order), &t.tmp) {
		return true
	}
	for i, r := range order {
		if (v.Nulls == 0 || !v.IsNull(v.Skip+int(r))) && m.one(unsafe.Add(at, i*w), &t.tmp) {
			return false
		}
	}
	return true
}

// Begin gets memory for the matrices of blocks.
func (k *Stacks) Begin(blocks []*Block) {
	for _, m := range k.matrices {
		for _, b := range blocks {
			b.stacks = append(b.stacks, stackedRows{matrix: m, data: b.arena.Alloc(b.rows * m.rowBytes())})
		}
	}
}

// Drops reports whether a column is needed in matrices only.
func (k *Stacks) Drops(col int) bool { return k != nil && k.dropped[col] }

// RowSizes returns the bytes of a row in each allocation: the features of each matrix, and their
// validity if some may be null.
func (k *Stacks) RowSizes(s *column.Schema) (all []int) {
	for _, m := range k.matrices {
		all = append(all, m.rowBytes())
		if m.hasNulls(s) {
			all = append(all, m.octets())
		}
	}
	return all
}

// Put puts a column into the matrices that it is a member of. The blocks have its rows in the
// order.
func (t *Stacker) Put(k *Stacks, col int, v *Vector, blocks []*Block, order []uint32) error {
	for i, m := range k.matrices {
		for j := range m.Members {
			if m.Members[j].Column != col {
				continue
			}
			from := 0
			for _, b := range blocks {
				if !t.column(&b.stacks[i], &m.Members[j], v, order[from:from+b.rows], b.arena) {
					return ErrMisfit
				}
				from += b.rows
			}
		}
	}
	return nil
}

// EndStacks lays the matrices of blocks out row by row. scratch returns memory of n bytes.
func EndStacks(blocks []*Block, scratch func(n int) []byte) {
	for _, b := range blocks {
		for i := range b.stacks {
			s := &b.stacks[i]
			n, size, tile := s.matrix.Field.ListSize, s.matrix.rowBytes(), s.matrix.tile()
			from := scratch(tile * size)
			for lo := 0; lo < b.rows; lo += tile {
				rows := min(tile, b.rows-lo)
				to := s.data[lo*size : (lo+rows)*size]
				copy(from, to)
				transpose(to, from, rows, n, size/n)
			}
		}
	}
}

// setNull notes that a feature of a row is null.
func (s *stackedRows) setNull(row, feature int, arena *mem.Arena) {
	octets := s.matrix.octets()
	if s.valid == nil {
		s.valid = arena.Alloc(len(s.data) / s.matrix.rowBytes() * octets)
		for i := range s.valid {
			s.valid[i] = 0xff
		}
	}
	clearBit(s.valid[row*octets:], feature)
}

// transpose makes rows of n features from n features of rows values, each value w bytes wide.
func transpose(dst, src []byte, rows, n, w int) {
	switch w {
	case 1:
		transposeWords[uint8](dst, src, rows, n)
	case 2:
		transposeWords[uint16](dst, src, rows, n)
	case 4:
		transposeWords[uint32](dst, src, rows, n)
	default:
		transposeWords[uint64](dst, src, rows, n)
	}
}

// transposeWords goes four features at a time, by pointers.
func transposeWords[T uint8 | uint16 | uint32 | uint64](dst, src []byte, rows, n int) {
	size := unsafe.Sizeof(*new(T))
	in, out := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(dst))
	apart := uintptr(rows) * size
	k := 0
	for ; k+4 <= n; k += 4 {
		a, o := unsafe.Add(in, uintptr(k)*apart), unsafe.Add(out, uintptr(k)*size)
		b := unsafe.Add(a, apart)
		c := unsafe.Add(b, apart)
		d := unsafe.Add(c, apart)
		for i := uintptr(0); i < apart; i += size {
			*(*[4]T)(unsafe.Add(o, i*uintptr(n))) = [4]T{*(*T)(unsafe.Add(a, i)), *(*T)(unsafe.Add(b, i)), *(*T)(unsafe.Add(c, i)), *(*T)(unsafe.Add(d, i))}
		}
	}
	for ; k < n; k++ {
		a, o := unsafe.Add(in, uintptr(k)*apart), unsafe.Add(out, uintptr(k)*size)
		for i := uintptr(0); i < apart; i += size {
			*(*T)(unsafe.Add(o, i*uintptr(n))) = *(*T)(unsafe.Add(a, i))
		}
	}
}
