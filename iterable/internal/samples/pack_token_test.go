package samples

import (
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// A token is the bytes of a number where the items hold it.
func TestEncodeToken(t *testing.T) {
	for _, c := range []struct {
		kind  column.Type
		width int
		token int64
		want  string // bytes; "" is refused
	}{
		{column.TypeInt8, 1, 127, "7f"},
		{column.TypeInt8, 1, -128, "80"},
		{column.TypeInt8, 1, 128, ""},
		{column.TypeInt8, 1, -129, ""},
		{column.TypeInt16, 2, 1 << 15, ""},
		{column.TypeInt32, 4, 1<<31 - 1, "ffffff7f"},
		{column.TypeInt32, 4, 1 << 31, ""},
		{column.TypeInt64, 8, math.MinInt64, "0000000000000080"},
		{column.TypeUint8, 1, 255, "ff"},
		{column.TypeUint8, 1, 256, ""},
		{column.TypeUint32, 4, -1, ""},
		{column.TypeUint64, 8, -1, ""},
		{column.TypeUint64, 8, math.MaxInt64, "ffffffffffffff7f"},
		{column.TypeFloat32, 4, 0, "00000000"},
		{column.TypeFloat32, 4, 1, ""},
	} {
		t.Run(fmt.Sprintf("%v %d", c.kind, c.token), func(t *testing.T) {
			b, ok := encodeToken(&column.Field{Kind: column.Fixed, Type: c.kind, Width: c.width}, c.token)
			if ok != (c.want != "") || ok && hex.EncodeToString(b) != c.want {
				t.Errorf("%x, %t, want %q", b, ok, c.want)
			}
		})
	}
}
