package schema

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// own is the field of a leaf's values as its file has them.
func (n *Node) own() *column.Field {
	if r := n.Leaf.Recast; r != nil {
		return r.Own
	}
	return n.Field
}

// Signed reports whether values order as signed numbers, for which the older form of bounds is
// right.
func (n *Node) Signed() bool {
	switch n.own().Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64:
		return n.Leaf.Convert != ConvertWidenUint
	case column.TypeDate, column.TypeTime, column.TypeTimestamp, column.TypeFloat32, column.TypeFloat64:
		return true
	}
	return false
}

// Bound returns a plain-encoded bound of the file as a decoded value. It returns nil if the format
// defines no order for the type, and if the bound is not a value of the leaf: of another length,
// NaN, or out of the type's range.
func (n *Node) Bound(b []byte) []byte {
	if b == nil || n.Leaf.Type == format.Int96 || n.Field.Type == column.TypeInterval {
		return nil
	}
	if n.Field.Kind == column.Binary {
		if n.Field.Type == column.TypeDecimal || n.Leaf.Type != format.ByteArray {
			return nil
		}
		return b
	}
	if stored := n.Leaf.StoredWidth(); stored == 0 || len(b) != stored {
		return nil // decimals of any length may be cut
	}
	narrow := n.Leaf.Convert
	if r := n.Leaf.Recast; r != nil {
		narrow = r.convert
	}
	if narrow == ConvertNarrow && !inRange(n.own(), b) {
		return nil
	}
	v := n.decodedValue(b)
	if v == nil || isNaN(n.Field, v) {
		return nil
	}
	return v
}

// inRange reports whether an INT32 has its value in the field's fewer bytes.
func inRange(f *column.Field, b []byte) bool {
	v, bits := int32(binary.LittleEndian.Uint32(b)), 8*f.Width
	if block.IsUnsigned(f.Type) {
		return v >= 0 && v < 1<<bits
	}
	return v >= -1<<(bits-1) && v < 1<<(bits-1)
}

// decodedValue is a plain-encoded value of a Fixed column as it is decoded.
func (n *Node) decodedValue(b []byte) []byte {
	v := make([]byte, n.Field.Width)
	if n.Leaf.Convert == ConvertNone {
		return append(v[:0], b...)
	}
	var src [32]byte // aligned as numbers are
	if copy(src[:], b) < len(b) || n.Leaf.Values(v, src[:len(b)], 1, n.Field, nil) != nil {
		return nil
	}
	return v
}

func isNaN(f *column.Field, v []byte) bool {
	switch f.Type {
	case column.TypeFloat16:
		return binary.LittleEndian.Uint16(v)&0x7fff > 0x7c00
	case column.TypeFloat32:
		return binary.LittleEndian.Uint32(v)&math.MaxInt32 > 0x7f800000
	case column.TypeFloat64:
		f := math.Float64frombits(binary.LittleEndian.Uint64(v))
		return f != f
	}
	return false
}

// EncodedValue returns a decoded value in the file's plain encoding, which bloom filters hash. ok
// is false when the file's type does not have the value.
func (n *Node) EncodedValue(v []byte) (b []byte, ok bool) {
	switch n.Leaf.Convert {
	case ConvertNone:
		return v, true
	case ConvertNarrow:
		wide := uint32(v[0])
		switch {
		case n.Field.Type == column.TypeInt8:
			wide = uint32(int8(v[0]))
		case n.Field.Type == column.TypeInt16:
			wide = uint32(int16(binary.LittleEndian.Uint16(v)))
		case n.Field.Width == 2:
			wide = uint32(binary.LittleEndian.Uint16(v))
		}
		return binary.LittleEndian.AppendUint32(nil, wide), true
	case ConvertWidenInt, ConvertWidenUint:
		b = v[:4]
	case ConvertWidenFloat:
		narrow := float32(math.Float64frombits(binary.LittleEndian.Uint64(v)))
		b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(narrow))
	case ConvertDecimal:
		b = n.encodedDecimal(v)
	}
	if b == nil || len(b) != n.Leaf.StoredWidth() {
		return nil, false
	}
	back := n.decodedValue(b)
	return b, string(back) == string(v)
}

// encodedDecimal is a little-endian decimal in the file's bytes, cut to them.
func (n *Node) encodedDecimal(v []byte) []byte {
	b := make([]byte, n.Leaf.StoredWidth())
	sign := byte(int8(v[len(v)-1]) >> 7)
	for i := range b {
		b[i] = sign
		if i < len(v) {
			b[i] = v[i]
		}
	}
	if n.Leaf.Type == format.FixedLenByteArray {
		for i := range len(b) / 2 {
			b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
		}
	}
	return b
}
