package rowgroup

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// own is the field of a leaf's values as its file has them.
func (n *node) own() *column.Field {
	if r := n.leaf.recast; r != nil {
		return r.own
	}
	return n.field
}

// signed says whether values order as signed numbers, for which the older form of bounds is right.
func (n *node) signed() bool {
	switch n.own().Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64:
		return n.leaf.convert != convertWidenUint
	case column.TypeDate, column.TypeTime, column.TypeTimestamp, column.TypeFloat32, column.TypeFloat64:
		return true
	}
	return false
}

// bound is a plain-encoded bound of the file as a decoded value. It is nil where the format defines
// no order for the type, and where the bound is none of the leaf's values and their order: of
// another length, NaN, or out of the type's range.
func (n *node) bound(b []byte) []byte {
	if b == nil || n.leaf.typ == format.Int96 || n.field.Type == column.TypeInterval {
		return nil
	}
	if n.field.Kind == column.Binary {
		if n.field.Type == column.TypeDecimal || n.leaf.typ != format.ByteArray {
			return nil
		}
		return b
	}
	if stored := storedWidth(n.leaf); stored == 0 || len(b) != stored {
		return nil // decimals of any length may be cut
	}
	narrow := n.leaf.convert
	if r := n.leaf.recast; r != nil {
		narrow = r.convert
	}
	if narrow == convertNarrow && !inRange(n.own(), b) {
		return nil
	}
	v := n.decodedValue(b)
	if v == nil || isNaN(n.field, v) {
		return nil
	}
	return v
}

// inRange says whether an INT32 has its value in the field's fewer bytes.
func inRange(f *column.Field, b []byte) bool {
	v, bits := int32(binary.LittleEndian.Uint32(b)), 8*f.Width
	if block.IsUnsigned(f.Type) {
		return v >= 0 && v < 1<<bits
	}
	return v >= -1<<(bits-1) && v < 1<<(bits-1)
}

// decodedValue is a plain-encoded value of a Fixed column as it is decoded.
func (n *node) decodedValue(b []byte) []byte {
	v := make([]byte, n.field.Width)
	if n.leaf.convert == convertNone {
		return append(v[:0], b...)
	}
	var src [32]byte // aligned as numbers are
	c := leafDecoder{leaf: n.leaf, field: n.field, stored: len(b)}
	if copy(src[:], b) < len(b) || c.convert(v, src[:len(b)], 1) != nil {
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

// encodedValue is a decoded value as the file encodes it plainly, which is what bloom filters hash.
// ok is false when the file's type does not have the value.
func (n *node) encodedValue(v []byte) (b []byte, ok bool) {
	switch n.leaf.convert {
	case convertNone:
		return v, true
	case convertNarrow:
		wide := uint32(v[0])
		switch {
		case n.field.Type == column.TypeInt8:
			wide = uint32(int8(v[0]))
		case n.field.Type == column.TypeInt16:
			wide = uint32(int16(binary.LittleEndian.Uint16(v)))
		case n.field.Width == 2:
			wide = uint32(binary.LittleEndian.Uint16(v))
		}
		return binary.LittleEndian.AppendUint32(nil, wide), true
	case convertWidenInt, convertWidenUint:
		b = v[:4]
	case convertWidenFloat:
		narrow := float32(math.Float64frombits(binary.LittleEndian.Uint64(v)))
		b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(narrow))
	case convertDecimal:
		b = n.encodedDecimal(v)
	}
	if b == nil || len(b) != storedWidth(n.leaf) {
		return nil, false
	}
	back := n.decodedValue(b)
	return b, string(back) == string(v)
}

// encodedDecimal is a little-endian decimal in the file's bytes, cut to them.
func (n *node) encodedDecimal(v []byte) []byte {
	b := make([]byte, storedWidth(n.leaf))
	sign := byte(int8(v[len(v)-1]) >> 7)
	for i := range b {
		b[i] = sign
		if i < len(v) {
			b[i] = v[i]
		}
	}
	if n.leaf.typ == format.FixedLenByteArray {
		for i := range len(b) / 2 {
			b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
		}
	}
	return b
}
