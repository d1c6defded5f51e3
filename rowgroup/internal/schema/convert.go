package schema

import (
	"encoding/binary"
	"errors"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

var errDecimal = errors.New("a decimal that does not fit its precision")

// StoredWidth returns the bytes of a PLAIN value, or 0 if they vary. A boolean has the byte that it
// is decoded to.
func (l *Leaf) StoredWidth() int {
	switch l.Type {
	case format.Boolean:
		return 1
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return l.TypeLength
	}
	return 0
}

// Values turns n stored values into values of a field. Scratch is for leaves that are recast, and
// may be nil.
func (l *Leaf) Values(dst, src []byte, n int, to *column.Field, scratch *block.CastScratch) error {
	switch l.Convert {
	case ConvertNarrow:
		if to.Width == 1 {
			convertWords(dst[:n], mem.As[uint32](src)[:n])
		} else {
			convertWords(mem.As[uint16](dst)[:n], mem.As[uint32](src)[:n])
		}
	case ConvertWidenInt:
		convertWords(mem.As[int64](dst)[:n], mem.As[int32](src)[:n])
	case ConvertWidenUint:
		convertWords(mem.As[uint64](dst)[:n], mem.As[uint32](src)[:n])
	case ConvertWidenFloat:
		convertWords(mem.As[float64](dst)[:n], mem.As[float32](src)[:n])
	case ConvertDecimal:
		return l.convertDecimals(dst, src, n, to.Width)
	case ConvertRecast:
		return l.Recast.values(l, dst, src, n, scratch)
	}
	return nil
}

func convertWords[T uint8 | uint16 | uint64 | int64 | float64, S uint32 | int32 | float32](dst []T, src []S) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

// convertDecimals turns decimals of a fixed size into little-endian ones of w bytes.
func (l *Leaf) convertDecimals(dst, src []byte, n, w int) error {
	stored := l.StoredWidth()
	for i := range n {
		d := dst[i*w : (i+1)*w]
		switch l.Type {
		case format.Int32:
			putInt(d, int64(mem.As[int32](src)[i]))
		case format.Int64:
			putInt(d, mem.As[int64](src)[i])
		default:
			if !putBigEndian(d, src[i*stored:(i+1)*stored]) {
				return errDecimal
			}
		}
	}
	return nil
}

// putInt writes v as a little-endian integer of 8 bytes or more.
func putInt(d []byte, v int64) {
	binary.LittleEndian.PutUint64(d, uint64(v))
	for i := 8; i < len(d); i++ {
		d[i] = byte(v >> 63)
	}
}

// putBigEndian writes a big-endian two's complement integer as a little-endian one; ok is false
// when it does not fit.
func putBigEndian(d, s []byte) (ok bool) {
	sign := byte(0)
	if len(s) > 0 {
		sign = byte(int8(s[0]) >> 7)
	}
	for ; len(s) > len(d); s = s[1:] {
		if s[0] != sign {
			return false
		}
	}
	if len(s) == len(d) && len(s) > 0 && (s[0]^sign)&0x80 != 0 {
		return false
	}
	for i := range d {
		if i < len(s) {
			d[i] = s[len(s)-1-i]
		} else {
			d[i] = sign
		}
	}
	return true
}

// ByteDecimals turns decimals of BYTE_ARRAY, which are views of text, into values of a field.
func (l *Leaf) ByteDecimals(dst, text []byte, views []uint64, to *column.Field, scratch *block.CastScratch) error {
	if l.Recast != nil {
		return l.Recast.byteDecimals(dst, text, views, scratch)
	}
	return putDecimals(dst, text, views, to.Width)
}

// putDecimals writes big-endian decimals as little-endian ones of w bytes.
func putDecimals(dst, text []byte, views []uint64, w int) error {
	for i, v := range views {
		if !putBigEndian(dst[i*w:(i+1)*w], text[v>>32:][:uint32(v)]) {
			return errDecimal
		}
	}
	return nil
}
