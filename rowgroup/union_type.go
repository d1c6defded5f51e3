package rowgroup

import "github.com/shardfeed/shardfeed/column"

// uniteTypes finds the type that holds the values of both without loss; children are not looked at.
// The result is nullable when a or b is, and has a's name.
func uniteTypes(a, b column.Field) (column.Field, bool) {
	a.Nullable = a.Nullable || b.Nullable
	if a.ListSize != b.ListSize {
		a.ListSize, b.ListSize = 0, 0
	}
	switch {
	case b.Kind == column.Null:
		a.Nullable = true
		return a, true
	case sameType(a, b):
		return a, true
	case a.Kind != b.Kind:
		return a, false
	case a.Type == column.TypeFloat32 && b.Type == column.TypeFloat64, a.Type == column.TypeFloat64 && b.Type == column.TypeFloat32:
		a.Type, a.Width = column.TypeFloat64, 8
		return a, true
	case a.Type == column.TypeDecimal && b.Type == column.TypeDecimal && a.Scale == b.Scale:
		a.Precision = max(a.Precision, b.Precision)
		a.Width = max(a.Width, b.Width)
		return a, true
	}
	t, ok := uniteInts(a.Type, b.Type)
	if ok {
		a.Type, a.Width = t, intSize(t)
	}
	return a, ok
}

func sameType(a, b column.Field) bool {
	return a.Kind == b.Kind && a.Type == b.Type && a.Width == b.Width && a.Unit == b.Unit && a.UTC == b.UTC &&
		a.Precision == b.Precision && a.Scale == b.Scale
}

// uniteInts finds the smallest integer type for both; there is none for uint64 and a signed one.
func uniteInts(a, b column.Type) (column.Type, bool) {
	if !isInt(a) || !isInt(b) {
		return column.TypeNone, false
	}
	if isUnsigned(a) == isUnsigned(b) {
		return max(a, b), true
	}
	if isUnsigned(b) {
		a, b = b, a
	}
	switch { // a is unsigned: its signed type of twice the width holds it
	case a == column.TypeUint64:
		return column.TypeNone, false
	default:
		return max(a-column.TypeUint8+column.TypeInt16, b), true
	}
}

func isInt(t column.Type) bool      { return t >= column.TypeInt8 && t <= column.TypeUint64 }
func isUnsigned(t column.Type) bool { return t >= column.TypeUint8 && t <= column.TypeUint64 }

// intSize is the bytes of an integer type.
func intSize(t column.Type) int {
	if isUnsigned(t) {
		return 1 << (t - column.TypeUint8)
	}
	return 1 << (t - column.TypeInt8)
}

// convertTo says how a leaf whose own field is from becomes the united field to.
func (l *leaf) convertTo(from, to *column.Field) convert {
	switch {
	case from.Kind == column.Null && to.Kind != column.Null:
		return convertNull
	case from.Type == column.TypeFloat32 && to.Type == column.TypeFloat64:
		return convertWidenFloat
	case from.Type == column.TypeDecimal && from.Width != to.Width:
		return convertDecimal
	case !isInt(from.Type) || from.Type == to.Type:
		return l.convert
	}
	switch {
	case to.Width == 8 && isUnsigned(from.Type):
		return convertWidenUint
	case to.Width == 8:
		return convertWidenInt
	case to.Width == 4:
		return convertNone
	}
	return convertNarrow
}
