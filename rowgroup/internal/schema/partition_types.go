package schema

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/column"
)

// A partitionType is a type that the values of a key can have. Parse returns a value as bytes of
// the column; infer, if set, reports whether a value has the type by its form.
type partitionType struct {
	name  string
	kind  column.Kind
	typ   column.Type
	width int
	parse func(text string) (value []byte, ok bool)
	infer func(text string) bool
}

// partitionTypes in the order in which they are inferred: the first that all values of a key show.
//
// A value shows its type by its form alone, and leading zeros are part of a number, so that
// month=10 has the type that it has beside month=01.
var partitionTypes = []partitionType{
	{"int64", column.Fixed, column.TypeInt64, 8, intOf(8), showsInt},
	{"float64", column.Fixed, column.TypeFloat64, 8, floatOf(8), showsFloat},
	{"bool", column.Fixed, column.TypeBool, 1, boolOf, showsBool},
	{"date", column.Fixed, column.TypeDate, 4, dateOf, showsDate},
	{"string", column.Binary, column.TypeString, 0, textOf, showsText},

	{"int8", column.Fixed, column.TypeInt8, 1, intOf(1), nil},
	{"int16", column.Fixed, column.TypeInt16, 2, intOf(2), nil},
	{"int32", column.Fixed, column.TypeInt32, 4, intOf(4), nil},
	{"uint8", column.Fixed, column.TypeUint8, 1, uintOf(1), nil},
	{"uint16", column.Fixed, column.TypeUint16, 2, uintOf(2), nil},
	{"uint32", column.Fixed, column.TypeUint32, 4, uintOf(4), nil},
	{"uint64", column.Fixed, column.TypeUint64, 8, uintOf(8), nil},
	{"float32", column.Fixed, column.TypeFloat32, 4, floatOf(4), nil},
}

// CheckPartitionType returns an error that lists the types of partitions if name is not one of
// them.
func CheckPartitionType(name string) error {
	_, err := partitionTypeOf(name)
	return err
}

func partitionTypeOf(name string) (partitionType, error) {
	names := make([]string, len(partitionTypes))
	for i, t := range partitionTypes {
		if t.name == name {
			return t, nil
		}
		names[i] = t.name
	}
	last := len(names) - 1
	return partitionType{}, fmt.Errorf("must be %s or %s, got %q", strings.Join(names[:last], ", "), names[last], name)
}

// inferPartitionType returns the first type that all values show. A key without values is a string.
func inferPartitionType(values []string) partitionType {
	var text partitionType
types:
	for _, t := range partitionTypes {
		if t.typ == column.TypeString {
			text = t
		}
		if t.infer == nil || len(values) == 0 {
			continue
		}
		for _, v := range values {
			if !t.infer(v) {
				continue types
			}
		}
		return t
	}
	return text
}

// decimal is a number with a point or a signed exponent, so that neither a whole number nor a
// digest such as 1e5 is one.
var decimal = regexp.MustCompile(`^[+-]?\d+(\.\d+(e[+-]?\d+)?|e[+-]\d+)$`)

func showsInt(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// showsFloat takes whole numbers too, if a float64 holds them exactly.
func showsFloat(text string) bool {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return -1<<53 <= n && n <= 1<<53
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && decimal.MatchString(text)
}

func showsBool(text string) bool {
	switch text {
	case "true", "false", "True", "False", "TRUE", "FALSE":
		return true
	}
	return false
}

func showsDate(text string) bool {
	_, ok := dateOf(text)
	return ok
}

func showsText(string) bool { return true }

func intOf(width int) func(string) ([]byte, bool) {
	return func(text string) ([]byte, bool) {
		n, err := strconv.ParseInt(text, 10, 8*width)
		return binary.LittleEndian.AppendUint64(nil, uint64(n))[:width], err == nil
	}
}

func uintOf(width int) func(string) ([]byte, bool) {
	return func(text string) ([]byte, bool) {
		n, err := strconv.ParseUint(text, 10, 8*width)
		return binary.LittleEndian.AppendUint64(nil, n)[:width], err == nil
	}
}

func floatOf(width int) func(string) ([]byte, bool) {
	return func(text string) ([]byte, bool) {
		x, err := strconv.ParseFloat(text, 8*width)
		if width == 4 {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x))), err == nil
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)), err == nil
	}
}

func boolOf(text string) ([]byte, bool) {
	b, err := strconv.ParseBool(text)
	if b {
		return []byte{1}, err == nil
	}
	return []byte{0}, err == nil
}

func dateOf(text string) ([]byte, bool) {
	day, err := time.Parse(time.DateOnly, text)
	return binary.LittleEndian.AppendUint32(nil, uint32(day.Unix()/86400)), err == nil
}

func textOf(text string) ([]byte, bool) { return []byte(text), true }
