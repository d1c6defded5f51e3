package loader

import (
	"encoding/hex"
	"math/big"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/column"
)

// textValue parses a text as a date, a time, a timestamp, a decimal or a UUID; ok is false if the
// type cannot represent it exactly.
func textValue(f *column.Field, text string) (b []byte, ok bool) {
	b = make([]byte, f.Width)
	switch f.Type {
	case column.TypeDate:
		t, err := time.Parse(time.DateOnly, text)
		day := t.Unix() / 86_400
		putInt(b, uint64(day))
		return b, err == nil && day*86_400 == t.Unix()
	case column.TypeTimestamp:
		return b, putTime(b, f.Unit, text, "2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly)
	case column.TypeTime:
		return b, putTime(b, f.Unit, "1970-01-01T"+text, "2006-01-02T15:04:05.999999999")
	case column.TypeDecimal:
		return b, putDecimal(b, f, text)
	case column.TypeUUID:
		raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		return b, err == nil && copy(b, raw) == f.Width && len(raw) == f.Width
	}
	return nil, false
}

// putTime writes an instant in a unit, by the first layout that reads it.
func putTime(b []byte, u column.Unit, text string, layouts ...string) bool {
	unit := [...]int64{column.Milli: 1e6, column.Micro: 1e3, column.Nano: 1}[u]
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9/unit))
			n.Add(n, big.NewInt(int64(t.Nanosecond())/unit))
			putInt(b, uint64(n.Int64()))
			return n.IsInt64() && int64(t.Nanosecond())%unit == 0
		}
	}
	return false
}

// putDecimal writes the unscaled number of a decimal.
func putDecimal(b []byte, f *column.Field, text string) bool {
	x, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > 100 || len(b) == 0 {
		return false
	}
	ten := big.NewInt(10)
	x.Mul(x, new(big.Rat).SetInt(new(big.Int).Exp(ten, big.NewInt(int64(f.Scale)), nil)))
	n := x.Num()
	if !x.IsInt() || new(big.Int).Abs(n).Cmp(new(big.Int).Exp(ten, big.NewInt(int64(f.Precision)), nil)) >= 0 {
		return false
	}
	wrapped := new(big.Int).Mod(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b)))).FillBytes(make([]byte, len(b)))
	for i := range b {
		b[i] = wrapped[len(b)-1-i]
	}
	return true
}
