package rule

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// A null has no tokens, and what is written around documents counts where there is one.
func TestLengths(t *testing.T) {
	values := keysOf[int64](5, 0, 9, math.MaxInt32-2, 7)
	values.Field.Name, values.Valid, values.Nulls = "n", []byte{0b11011}, 1
	got, err := Lengths(Column{Values: values}, 5, 2, "Pack.Length", []uint32{1})
	if want := []uint32{1, 7, 0, 0, math.MaxInt32, 9}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%d, error %v, want %d", got, err, want)
	}
}

func TestLengthsRefuse(t *testing.T) {
	for _, c := range []struct {
		name   string
		values *column.Array
		want   string
	}{
		{"below 0", keysOf[int64](3, -1), `Bucket["n"] takes lengths from 0 to 2147483645, got -1 in column "n"`},
		{"too large", keysOf[int64](3, math.MaxInt32-1), `takes lengths from 0 to 2147483645, got 2147483646 in column "n"`},
		{"much too large", keysOf[uint64](1 << 63), `takes lengths from 0 to 2147483645, got 9223372036854775808`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.values.Field.Name = "n"
			_, err := Lengths(Column{Values: c.values}, c.values.Len, 0, `Bucket["n"]`, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
