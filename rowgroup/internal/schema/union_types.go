package schema

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// uniteTypes finds the type that holds the values of both without loss; children are not looked at.
// The result is nullable when a or b is, and has a's name.
func uniteTypes(a, b column.Field) (column.Field, bool) {
	a.Nullable = a.Nullable || b.Nullable
	if b.Kind == column.Null {
		a.Nullable = true
		return a, true
	}
	a.Labels, a.Encoding = sameLabels(a, b), sameEncoding(a, b)
	if !a.Tensor.Equal(b.Tensor) {
		if a.Tensor != nil && b.Tensor != nil {
			return a, false
		}
		a.Tensor, b.Tensor = nil, nil
	}
	if a.ListSize != b.ListSize {
		a.ListSize, b.ListSize = 0, 0
	}
	switch {
	case sameType(a, b):
		return a, true
	case isBytes(a) && isBytes(b):
		return uniteBytes(a, b)
	case a.Kind != column.Fixed || b.Kind != column.Fixed:
		return a, false
	case block.IsFloatType(a.Type) || block.IsFloatType(b.Type):
		return uniteFloats(a, b)
	case a.Type == column.TypeDecimal || b.Type == column.TypeDecimal:
		return uniteDecimals(a, b)
	case isMoment(a) && isMoment(b):
		return uniteMoments(a, b)
	case a.Type == column.TypeTime && b.Type == column.TypeTime:
		a.Unit, a.UTC = max(a.Unit, b.Unit), a.UTC && b.UTC
		return a, true
	}
	t, ok := uniteInts(a.Type, b.Type)
	if ok {
		a = retyped(a, t, intSize(t))
	}
	return a, ok
}

func sameType(a, b column.Field) bool {
	return a.Kind == b.Kind && a.Type == b.Type && a.Width == b.Width && a.Unit == b.Unit && a.UTC == b.UTC &&
		a.Precision == b.Precision && a.Scale == b.Scale && a.Tensor.Equal(b.Tensor)
}

// retyped is the field as Fixed values of another type.
func retyped(f column.Field, t column.Type, width int) column.Field {
	f.Kind, f.Type, f.Width, f.Unit, f.UTC, f.Precision, f.Scale = column.Fixed, t, width, 0, false, 0, 0
	return f
}

// isBytes reports whether values are bytes, of one length or of any.
func isBytes(f column.Field) bool {
	switch f.Type {
	case column.TypeString, column.TypeEnum, column.TypeJSON, column.TypeBinary, column.TypeBSON, column.TypeFixedBinary, column.TypeUUID:
		return true
	}
	return false
}

// uniteBytes unites texts to strings, values of one length to fixed binary, and others to binary. A
// UUID is not a text.
func uniteBytes(a, b column.Field) (column.Field, bool) {
	switch {
	case IsText(a.Type) && IsText(b.Type):
		a.Type = column.TypeString
		return a, true
	case IsText(a.Type) && b.Type == column.TypeUUID, IsText(b.Type) && a.Type == column.TypeUUID:
		return a, false
	case a.Kind == column.Fixed && b.Kind == column.Fixed && a.Width == b.Width:
		a.Type = column.TypeFixedBinary
		return a, true
	}
	a.Kind, a.Type, a.Width = column.Binary, column.TypeBinary, 0
	return a, true
}

// uniteFloats finds the float that holds both, one of which is a float; no float holds 64-bit
// integers.
func uniteFloats(a, b column.Field) (column.Field, bool) {
	t, ok := floatFor(a)
	u, also := floatFor(b)
	if !ok || !also {
		return a, false
	}
	t = max(t, u)
	return retyped(a, t, block.CastWidth(t)), true
}

// floatFor is the smallest float that holds all values of a type. float16 holds integers of 11
// bits, float32 of 24 and float64 of 53.
func floatFor(f column.Field) (column.Type, bool) {
	switch f.Type {
	case column.TypeFloat16, column.TypeFloat32, column.TypeFloat64:
		return f.Type, true
	case column.TypeInt8, column.TypeUint8:
		return column.TypeFloat16, true
	case column.TypeInt16, column.TypeUint16:
		return column.TypeFloat32, true
	case column.TypeInt32, column.TypeUint32:
		return column.TypeFloat64, true
	}
	return column.TypeNone, false
}

// intDigits are the decimal digits of integer types.
var intDigits = map[column.Type]int{
	column.TypeInt8: 3, column.TypeInt16: 5, column.TypeInt32: 10, column.TypeInt64: 19,
	column.TypeUint8: 3, column.TypeUint16: 5, column.TypeUint32: 10, column.TypeUint64: 20,
}

// uniteDecimals finds the decimal with the digits of both before the point and after it.
func uniteDecimals(a, b column.Field) (column.Field, bool) {
	for _, f := range []*column.Field{&a, &b} {
		if n := intDigits[f.Type]; n > 0 {
			*f = retyped(*f, column.TypeDecimal, decimalWidth(n))
			f.Precision = n
		}
		if f.Type != column.TypeDecimal {
			return a, false
		}
	}
	before := max(a.Precision-a.Scale, b.Precision-b.Scale)
	a.Scale = max(a.Scale, b.Scale)
	a.Precision = before + a.Scale
	a.Width = decimalWidth(a.Precision)
	return a, a.Width > 0
}

// isMoment reports whether values are days or instants.
func isMoment(f column.Field) bool {
	return f.Type == column.TypeDate || f.Type == column.TypeTimestamp || f.Type == column.TypeInt96
}

// uniteMoments finds the timestamp of the finer unit. Nanoseconds of 64 bits do not hold the years
// of other units, so they become INT96, which does. A local time, as a date is one, is not an
// instant of UTC; INT96 is used for either.
func uniteMoments(a, b column.Field) (column.Field, bool) {
	any := a.Type == column.TypeInt96 || b.Type == column.TypeInt96
	if a.UTC != b.UTC && !any {
		return a, false
	}
	unit := max(unitOrLeast(a), unitOrLeast(b))
	utc := a.UTC || b.UTC
	if unit == column.Nano {
		a = retyped(a, column.TypeInt96, 12)
	} else {
		a = retyped(a, column.TypeTimestamp, 8)
	}
	a.Unit, a.UTC = unit, utc
	return a, true
}

// unitOrLeast is the unit of a timestamp; a date is whole units of any.
func unitOrLeast(f column.Field) column.Unit {
	if f.Type == column.TypeDate {
		return column.Milli
	}
	return f.Unit
}

// uniteInts finds the smallest integer type for both; no type holds both uint64 and a signed type.
func uniteInts(a, b column.Type) (column.Type, bool) {
	if !block.IsInt(a) || !block.IsInt(b) {
		return column.TypeNone, false
	}
	if block.IsUnsigned(a) == block.IsUnsigned(b) {
		return max(a, b), true
	}
	if block.IsUnsigned(b) {
		a, b = b, a
	}
	// a is unsigned: its signed type of twice the width holds it
	return max(a-column.TypeUint8+column.TypeInt16, b), a != column.TypeUint64
}

// intSize is the bytes of an integer type; the unsigned ones follow the four signed ones.
func intSize(t column.Type) int { return 1 << ((t - column.TypeInt8) % 4) }

// IsText reports whether values of a type must be UTF-8.
func IsText(t column.Type) bool {
	return t == column.TypeString || t == column.TypeEnum || t == column.TypeJSON
}

// sameLabels keeps the labels of a column only if all schemas have the same.
func sameLabels(a, b column.Field) []string {
	if slices.Equal(a.Labels, b.Labels) {
		return a.Labels
	}
	return nil
}

// sameEncoding keeps the encoding of a column only if all schemas have the same.
func sameEncoding(a, b column.Field) *column.Encoding {
	if a.Encoding != nil && b.Encoding != nil && a.Encoding.String() == b.Encoding.String() {
		return a.Encoding
	}
	return nil
}
