package arrowipc

import "github.com/shardfeed/shardfeed/column"

// Converted returns a copy of the values of a Fixed column in Arrow's layout, or nil if they have
// it already.
func Converted(a *column.Array) []byte {
	switch f := a.Field; {
	case f.Type == column.TypeBool:
		return bits(a)
	case f.Type == column.TypeDecimal && f.Width == 8:
		return wide(a)
	case f.Type == column.TypeTime && f.Unit == column.Milli:
		return narrow(a)
	}
	return nil
}

// bits are booleans of a byte as booleans of a bit.
func bits(a *column.Array) []byte {
	out := make([]byte, (a.Len+7)/8)
	for i, v := range a.Data[:a.Len] {
		out[i/8] |= v << (i % 8)
	}
	return out
}

// wide are integers of 64 bits as integers of 128.
func wide(a *column.Array) []byte {
	out := make([]byte, 16*a.Len)
	for i := range a.Len {
		v := le.Uint64(a.Data[8*i:])
		le.PutUint64(out[16*i:], v)
		le.PutUint64(out[16*i+8:], uint64(int64(v)>>63))
	}
	return out
}

// narrow are integers of 64 bits as integers of 32.
func narrow(a *column.Array) []byte {
	out := make([]byte, 4*a.Len)
	for i := range a.Len {
		le.PutUint32(out[4*i:], uint32(le.Uint64(a.Data[8*i:])))
	}
	return out
}
