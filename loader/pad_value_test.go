package loader

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup"
)

func TestEncode(t *testing.T) {
	type small int8
	for _, c := range []struct {
		t     rowgroup.Type
		width int
		v     any
		want  string // hex; "" means refused
	}{
		{rowgroup.TypeInt32, 4, nil, "00000000"},
		{rowgroup.TypeInt32, 4, -100, "9cffffff"},
		{rowgroup.TypeInt32, 4, small(-1), "ffffffff"},
		{rowgroup.TypeInt32, 4, 7.0, "07000000"},
		{rowgroup.TypeInt32, 4, 7.5, ""},
		{rowgroup.TypeInt32, 4, math.NaN(), ""},
		{rowgroup.TypeInt32, 4, math.MaxInt32 + 1, ""},
		{rowgroup.TypeInt32, 4, math.MinInt32, "00000080"},
		{rowgroup.TypeInt32, 4, math.MinInt32 - 1, ""},
		{rowgroup.TypeInt32, 4, true, ""},
		{rowgroup.TypeInt32, 4, "7", ""},
		{rowgroup.TypeInt8, 1, 127, "7f"},
		{rowgroup.TypeInt8, 1, 128, ""},
		{rowgroup.TypeInt64, 8, int64(math.MinInt64), "0000000000000080"},
		{rowgroup.TypeInt64, 8, uint64(math.MaxUint64), ""},
		{rowgroup.TypeInt64, 8, float64(1 << 63), ""},
		{rowgroup.TypeUint64, 8, uint64(math.MaxUint64), "ffffffffffffffff"},
		{rowgroup.TypeUint64, 8, -1, ""},
		{rowgroup.TypeUint8, 1, 255, "ff"},
		{rowgroup.TypeUint8, 1, 256, ""},
		{rowgroup.TypeUint16, 2, -1, ""},
		{rowgroup.TypeDate, 4, 1, "01000000"},
		{rowgroup.TypeDecimal, 8, -2, "feffffffffffffff"},
		{rowgroup.TypeDecimal, 16, 1, ""},
		{rowgroup.TypeFloat32, 4, 0.5, "0000003f"},
		{rowgroup.TypeFloat32, 4, 1e300, ""},
		{rowgroup.TypeFloat32, 4, math.Inf(-1), "000080ff"},
		{rowgroup.TypeFloat32, 4, 1, "0000803f"},
		{rowgroup.TypeFloat64, 8, uint8(1), "000000000000f03f"},
		{rowgroup.TypeFloat64, 8, 1<<53 + 1, ""},
		{rowgroup.TypeFloat64, 8, uint64(1<<63 + 1), ""},
		{rowgroup.TypeFloat64, 8, "x", ""},
		{rowgroup.TypeBool, 1, true, "01"},
		{rowgroup.TypeBool, 1, 1, ""},
		{rowgroup.TypeFloat16, 2, []byte{0, 0x3c}, "003c"},
		{rowgroup.TypeFloat16, 2, 1.0, "003c"},
		{rowgroup.TypeFloat16, 2, 1e6, ""},
		{rowgroup.TypeUUID, 16, []byte("0123456789abcdef"), "30313233343536373839616263646566"},
		{rowgroup.TypeUUID, 16, []byte("short"), ""},
	} {
		got, err := encode(fixed("x", c.t, c.width), c.v)
		if hex.EncodeToString(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v of %d bytes, %v (%T): got %x, %v; want %q", c.t, c.width, c.v, c.v, got, err, c.want)
		}
	}
}
