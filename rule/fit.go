package rule

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/half"
)

// A fitted value is a literal as a value of a column's type.
type fitted struct {
	key   uint64  // of integers and what is stored as one: the value and its type's bias
	float float64 // of float32 and float64
	half  uint16  // of float16
	bytes []byte  // of strings and binary values; of wide values as stored
	wide  wideKey // of decimals of 16 and 32 bytes, and INT96
}

// canCompare reports whether values of the type are compared with literals at all.
func canCompare(f *column.Field) bool {
	switch f.Type {
	case column.TypeNone, column.TypeUnknown, column.TypeInterval:
		return false
	case column.TypeDecimal:
		return f.Kind == column.Fixed
	}
	return f.Kind == column.Fixed || f.Kind == column.Binary
}

// fit makes a literal a value of the field. The error follows the literal in a sentence.
func fit(f *column.Field, l *literal) (fitted, error) {
	switch f.Type {
	case column.TypeBool:
		if l.kind != boolLiteral {
			return fitted{}, wrongKind(l, "true or false")
		}
		return fitted{key: bit(l.yes)}, nil
	case column.TypeFloat16, column.TypeFloat32, column.TypeFloat64:
		return fitFloat(f, l)
	case column.TypeDecimal:
		return fitDecimal(f, l)
	case column.TypeDate:
		return fitDate(l)
	case column.TypeTime:
		return fitTime(f, l)
	case column.TypeTimestamp, column.TypeInt96:
		return fitTimestamp(f, l)
	case column.TypeUUID, column.TypeFixedBinary, column.TypeBinary, column.TypeBSON:
		return fitBytes(f, l)
	case column.TypeString, column.TypeEnum, column.TypeJSON:
		if l.kind != textLiteral {
			return fitted{}, wrongKind(l, "a string in quotes")
		}
		return fitted{bytes: []byte(l.text)}, nil
	}
	return fitInteger(f, l)
}

// wrongKind reports a literal of the wrong kind, and the kind that fits.
func wrongKind(l *literal, want string) error {
	return fmt.Errorf("which is %s; give %s", l.what(), want)
}

// integerBits are the bits of integer types, negative for unsigned ones.
var integerBits = map[column.Type]int{
	column.TypeInt8: 8, column.TypeInt16: 16, column.TypeInt32: 32, column.TypeInt64: 64,
	column.TypeUint8: -8, column.TypeUint16: -16, column.TypeUint32: -32, column.TypeUint64: -64,
}

func fitInteger(f *column.Field, l *literal) (fitted, error) {
	if l.kind != numberLiteral {
		return fitted{}, wrongKind(l, "a whole number")
	}
	if !l.num.isWhole() {
		return fitted{}, errors.New("which is not a whole number")
	}
	digits, ok := l.num.unscaled(0, 20)
	if l.num.neg {
		digits = "-" + digits
	}
	if n := integerBits[f.Type]; n < 0 {
		v, err := strconv.ParseUint(digits, 10, -n)
		if !ok || err != nil {
			return fitted{}, fmt.Errorf("which is outside of 0 to %d", uint64(math.MaxUint64)>>(64+n))
		}
		return fitted{key: v}, nil
	}
	n := integerBits[f.Type]
	v, err := strconv.ParseInt(digits, 10, n)
	if !ok || err != nil {
		most := int64(math.MaxInt64) >> (64 - n)
		return fitted{}, fmt.Errorf("which is outside of %d to %d", -most-1, most)
	}
	return signed(v), nil
}

// signed is a value of a type that is stored as a signed integer.
func signed(v int64) fitted { return fitted{key: uint64(v) + signBit} }

func fitFloat(f *column.Field, l *literal) (fitted, error) {
	if l.kind != numberLiteral && l.kind != notFinite {
		return fitted{}, wrongKind(l, "a number")
	}
	size := 64
	if f.Type == column.TypeFloat32 {
		size = 32
	}
	v, err := strconv.ParseFloat(l.String(), size)
	h := half.Of(v)
	if err != nil || f.Type == column.TypeFloat16 && h&0x7fff == half.Infinity && !math.IsInf(v, 0) {
		return fitted{}, errors.New("which is beyond its range")
	}
	return fitted{float: v, half: h}, nil
}

func fitDecimal(f *column.Field, l *literal) (fitted, error) {
	if l.kind != numberLiteral {
		return fitted{}, wrongKind(l, "a number")
	}
	digits, ok := l.num.unscaled(f.Scale, f.Precision)
	if !ok {
		if l.num.exp+f.Scale < 0 {
			return fitted{}, fmt.Errorf("which has more than %d digits after the point", f.Scale)
		}
		return fitted{}, fmt.Errorf("which has more than %d digits before the point", f.Precision-f.Scale)
	}
	n, _ := new(big.Int).SetString(digits, 10)
	if l.num.neg {
		n.Neg(n)
	}
	if f.Width == 8 {
		return signed(n.Int64()), nil
	}
	b := decimalBytes(n, f.Width)
	return fitted{bytes: b, wide: wideKeyOf(b)}, nil
}

func fitDate(l *literal) (fitted, error) {
	i := l.time
	switch l.kind {
	case dateLiteral:
	case textLiteral:
		var err error
		if i, err = parseDate(l.text); err != nil {
			return fitted{}, errors.New("which is not a date; " + dateForm)
		}
	default:
		return fitted{}, wrongKind(l, "a date, as in '2024-01-31'")
	}
	return signed(i.day), nil
}

func fitTime(f *column.Field, l *literal) (fitted, error) {
	i := l.time
	switch l.kind {
	case timeLiteral:
	case textLiteral:
		var err error
		if i, err = parseTime(l.text); err != nil {
			return fitted{}, errors.New("which is not a time of the day; " + timeForm)
		}
	default:
		return fitted{}, wrongKind(l, "a time, as in '16:30:00'")
	}
	return inUnit(f, i)
}

func fitTimestamp(f *column.Field, l *literal) (fitted, error) {
	i := l.time
	switch l.kind {
	case timestampLiteral, dateLiteral:
	case textLiteral:
		var err error
		if i, err = parseTimestamp(l.text); err != nil {
			return fitted{}, errors.New("which is not a timestamp; " + timestampForm)
		}
	default:
		return fitted{}, wrongKind(l, "a timestamp, as in '2024-01-31 16:30:00'")
	}
	if f.Type == column.TypeInt96 {
		const julian = 2440588 // 1970-01-01
		return fitted{wide: int96Key(i.day+julian, i.nanos)}, nil
	}
	if i.zoned && !f.UTC {
		return fitted{}, errors.New("which has a zone, and the column's times are local; leave the zone out")
	}
	return inUnit(f, i)
}

// inUnit counts an instant in the units of a column of times or timestamps.
func inUnit(f *column.Field, i instant) (fitted, error) {
	size := int64(map[column.Unit]time.Duration{
		column.Milli: time.Millisecond, column.Micro: time.Microsecond, column.Nano: time.Nanosecond,
	}[f.Unit])
	if i.nanos%size != 0 {
		return fitted{}, fmt.Errorf("which is finer than the column's unit, %v", f.Unit)
	}
	perDay := nanosOfDay / size
	if most := math.MaxInt64/perDay - 1; i.day > most || i.day < -most {
		return fitted{}, fmt.Errorf("which is outside of the years of timestamps in %v", f.Unit)
	}
	return signed(i.day*perDay + i.nanos/size), nil
}

func fitBytes(f *column.Field, l *literal) (fitted, error) {
	text := l.text
	switch {
	case l.kind == textLiteral && f.Type == column.TypeUUID:
		raw, ok := parseUUID(text)
		if !ok {
			return fitted{}, errors.New("which is not a UUID, as in '123e4567-e89b-12d3-a456-426614174000'")
		}
		text = raw
	case l.kind != textLiteral && l.kind != bytesLiteral:
		return fitted{}, wrongKind(l, "bytes, as in x'00ff', or a string")
	}
	if f.Kind == column.Fixed && len(text) != f.Width {
		return fitted{}, fmt.Errorf("whose length is %d bytes, and the column's values have %d", len(text), f.Width)
	}
	return fitted{bytes: []byte(text)}, nil
}

// parseUUID reads 32 hexadecimal digits, with or without the usual hyphens.
func parseUUID(text string) (raw string, ok bool) {
	digits := strings.ReplaceAll(text, "-", "")
	if len(digits) != 32 || len(text) != 32 && (len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') {
		return "", false
	}
	b, err := hex.DecodeString(digits)
	return string(b), err == nil
}
