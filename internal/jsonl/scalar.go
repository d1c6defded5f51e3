package jsonl

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/shardfeed/shardfeed/column"
)

// A formatter appends the JSON form of one value's bytes to dst.
type formatter func(dst, value []byte) []byte

var le = binary.LittleEndian

// scalar is the form of the values of a Fixed or Binary field. Types that are only bytes are
// base64.
func scalar(f *column.Field) formatter {
	switch f.Type {
	case column.TypeBool:
		return appendBool
	case column.TypeInt8:
		return func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(int8(v[0])), 10) }
	case column.TypeInt16:
		return func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(int16(le.Uint16(v))), 10) }
	case column.TypeInt32:
		return func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(int32(le.Uint32(v))), 10) }
	case column.TypeInt64:
		return func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(le.Uint64(v)), 10) }
	case column.TypeUint8:
		return func(dst, v []byte) []byte { return strconv.AppendUint(dst, uint64(v[0]), 10) }
	case column.TypeUint16:
		return func(dst, v []byte) []byte { return strconv.AppendUint(dst, uint64(le.Uint16(v)), 10) }
	case column.TypeUint32:
		return func(dst, v []byte) []byte { return strconv.AppendUint(dst, uint64(le.Uint32(v)), 10) }
	case column.TypeUint64:
		return func(dst, v []byte) []byte { return strconv.AppendUint(dst, le.Uint64(v), 10) }
	case column.TypeFloat16:
		return func(dst, v []byte) []byte { return appendFloat16(dst, le.Uint16(v)) }
	case column.TypeBFloat16:
		return func(dst, v []byte) []byte {
			return appendFloat(dst, float64(math.Float32frombits(uint32(le.Uint16(v))<<16)), 32)
		}
	case column.TypeFloat32:
		return func(dst, v []byte) []byte { return appendFloat(dst, float64(math.Float32frombits(le.Uint32(v))), 32) }
	case column.TypeFloat64:
		return func(dst, v []byte) []byte { return appendFloat(dst, math.Float64frombits(le.Uint64(v)), 64) }
	case column.TypeString, column.TypeEnum, column.TypeJSON:
		return appendString
	case column.TypeUUID:
		return appendUUID
	case column.TypeDate, column.TypeTime, column.TypeTimestamp, column.TypeInt96:
		return temporal(f)
	}
	return appendBase64
}

func appendBool(dst, v []byte) []byte {
	if v[0] != 0 {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

func appendBase64(dst, v []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, v)
	return append(dst, '"')
}

func appendUUID(dst, v []byte) []byte {
	dst = append(dst, '"')
	for i, end := range [...]int{4, 6, 8, 10, 16} {
		if i > 0 {
			dst = append(dst, '-')
		}
		begin := [...]int{0, 4, 6, 8, 10}[i]
		dst = hex.AppendEncode(dst, v[begin:end])
	}
	return append(dst, '"')
}
