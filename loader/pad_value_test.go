package loader

import (
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestEncode(t *testing.T) {
	type small int8
	for _, c := range []struct {
		t     column.Type
		width int
		v     any
		want  string // hex; "" means refused
	}{
		{column.TypeInt32, 4, nil, "00000000"},
		{column.TypeInt32, 4, -100, "9cffffff"},
		{column.TypeInt32, 4, small(-1), "ffffffff"},
		{column.TypeInt32, 4, 7.0, "07000000"},
		{column.TypeInt32, 4, 7.5, ""},
		{column.TypeInt32, 4, math.NaN(), ""},
		{column.TypeInt32, 4, math.MaxInt32 + 1, ""},
		{column.TypeInt32, 4, math.MinInt32, "00000080"},
		{column.TypeInt32, 4, math.MinInt32 - 1, ""},
		{column.TypeInt32, 4, true, ""},
		{column.TypeInt32, 4, "7", ""},
		{column.TypeInt8, 1, 127, "7f"},
		{column.TypeInt8, 1, 128, ""},
		{column.TypeInt64, 8, int64(math.MinInt64), "0000000000000080"},
		{column.TypeInt64, 8, uint64(math.MaxUint64), ""},
		{column.TypeInt64, 8, float64(1 << 63), ""},
		{column.TypeUint64, 8, uint64(math.MaxUint64), "ffffffffffffffff"},
		{column.TypeUint64, 8, -1, ""},
		{column.TypeUint8, 1, 255, "ff"},
		{column.TypeUint8, 1, 256, ""},
		{column.TypeUint16, 2, -1, ""},
		{column.TypeDate, 4, 1, "01000000"},
		{column.TypeDecimal, 8, -2, "feffffffffffffff"},
		{column.TypeDecimal, 16, 1, ""},
		{column.TypeFloat32, 4, 0.5, "0000003f"},
		{column.TypeFloat32, 4, 1e300, ""},
		{column.TypeFloat32, 4, math.Inf(-1), "000080ff"},
		{column.TypeFloat32, 4, 1, "0000803f"},
		{column.TypeFloat64, 8, uint8(1), "000000000000f03f"},
		{column.TypeFloat64, 8, 1<<53 + 1, ""},
		{column.TypeFloat64, 8, uint64(1<<63 + 1), ""},
		{column.TypeFloat64, 8, "x", ""},
		{column.TypeBool, 1, true, "01"},
		{column.TypeBool, 1, 1, ""},
		{column.TypeFloat16, 2, []byte{0, 0x3c}, "003c"},
		{column.TypeFloat16, 2, 1.0, "003c"},
		{column.TypeFloat16, 2, 1e6, ""},
		{column.TypeUUID, 16, []byte("0123456789abcdef"), "30313233343536373839616263646566"},
		{column.TypeUUID, 16, []byte("short"), ""},
	} {
		t.Run(fmt.Sprintf("%+v", c.t), func(t *testing.T) {
			got, err := encode(fixed("x", c.t, c.width), c.v)
			if hex.EncodeToString(got) != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%v of %d bytes, %v (%T): got %x, %v; want %q", c.t, c.width, c.v, c.v, got, err, c.want)
			}
		})
	}
}
