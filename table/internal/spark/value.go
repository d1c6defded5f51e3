package spark

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/column"
)

var errValue = errors.New("not a value of the type")

// ParseValue returns a partition value as an array of the field has it.
func ParseValue(f *column.Field, text string) ([]byte, error) {
	switch f.Type {
	case column.TypeString, column.TypeBinary:
		return []byte(text), nil
	case column.TypeBool:
		switch strings.ToLower(text) {
		case "true":
			return []byte{1}, nil
		case "false":
			return []byte{0}, nil
		}
		return nil, errValue
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64:
		v, err := strconv.ParseInt(text, 10, 8*f.Width)
		return fixed(f.Width, v), err
	case column.TypeFloat32:
		v, err := parseFloat(text, 32)
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))), err
	case column.TypeFloat64:
		v, err := parseFloat(text, 64)
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)), err
	case column.TypeDecimal:
		return parseDecimal(f, text)
	case column.TypeDate:
		v, rest, err := parseDate(text)
		if rest != "" || v != int64(int32(v)) {
			err = errValue
		}
		return fixed(4, v), err
	case column.TypeTimestamp:
		v, err := parseTimestamp(text, f.UTC)
		return fixed(8, v), err
	}
	return nil, errValue
}

// fixed is the lower bytes of a number.
func fixed(width int, v int64) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(v))[:width:width]
}

// parseFloat reads what Java and Rust write.
func parseFloat(text string, bits int) (float64, error) {
	if strings.ContainsAny(text, "xXpP_") {
		return 0, errValue
	}
	v, err := strconv.ParseFloat(text, bits)
	return v, err
}

// parseDecimal returns two's complement of the field's width.
func parseDecimal(f *column.Field, text string) ([]byte, error) {
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e < -100 || e > 100) || strings.ContainsAny(digits, "/xpob_") {
		return nil, errValue
	}
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errValue
	}
	v.Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.Scale)), nil)))
	if !v.IsInt() || len(new(big.Int).Abs(v.Num()).String()) > f.Precision {
		return nil, errValue
	}
	n := v.Num()
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*f.Width)))
	}
	b := n.FillBytes(make([]byte, f.Width))
	slices.Reverse(b)
	return b, nil
}

// parseDate reads the date that a text starts with, whose year may have a sign and more digits than
// four, as days since 1970, and returns what follows it.
func parseDate(text string) (days int64, rest string, err error) {
	sign, unsigned := 1, text
	switch {
	case strings.HasPrefix(text, "-"):
		sign, unsigned = -1, text[1:]
	case strings.HasPrefix(text, "+"):
		unsigned = text[1:]
	}
	year, after, ok := strings.Cut(unsigned, "-")
	if !ok || len(year) < 4 || len(year) > 7 || len(after) < 5 || after[2] != '-' {
		return 0, "", errValue
	}
	y, err := strconv.ParseUint(year, 10, 31)
	month, monthErr := strconv.ParseUint(after[:2], 10, 8)
	day, dayErr := strconv.ParseUint(after[3:5], 10, 8)
	if err := errors.Join(err, monthErr, dayErr); err != nil {
		return 0, "", errValue
	}
	t := time.Date(sign*int(y), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	if t.Month() != time.Month(month) || t.Day() != int(day) {
		return 0, "", errValue
	}
	return t.Unix() / secondsPerDay, after[5:], nil
}

const secondsPerDay = 24 * 60 * 60

// parseTimestamp reads both spellings, as in 2026-01-02 03:04:05.678 and 2026-01-02T03:04:05.678Z,
// as microseconds since 1970. The first of a column that is adjusted to UTC is taken as UTC.
func parseTimestamp(text string, utc bool) (int64, error) {
	days, rest, err := parseDate(text)
	if err != nil {
		return 0, err
	}
	if rest == "" {
		return days * secondsPerDay * 1e6, nil
	}
	if rest[0] != ' ' && rest[0] != 'T' {
		return 0, errValue
	}
	clock, offset := rest[1:], ""
	if i := strings.LastIndexAny(clock, "Z+-"); i >= 0 {
		clock, offset = clock[:i], clock[i:]
	}
	if offset != "" && !utc {
		return 0, errValue
	}
	shift := time.Duration(0)
	if offset != "" && offset != "Z" {
		zone, err := time.Parse("-07:00", offset)
		if err != nil {
			return 0, errValue
		}
		_, seconds := zone.Zone()
		shift = time.Duration(seconds) * time.Second
	}
	t, err := time.Parse("15:04:05", clock) // and any fraction
	if err != nil {
		return 0, errValue
	}
	ofDay := t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))
	if ofDay%time.Microsecond != 0 {
		return 0, errValue
	}
	return days*secondsPerDay*1e6 + int64((ofDay-shift)/time.Microsecond), nil
}
