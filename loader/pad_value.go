package loader

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/half"
)

// encode returns v as the bytes of a value of f, which is Fixed. It fails if f cannot represent v
// exactly.
func encode(f *column.Field, v any) ([]byte, error) {
	b := make([]byte, f.Width)
	if v == nil {
		return b, nil
	}
	if raw, ok := v.([]byte); ok {
		if len(raw) != f.Width {
			return nil, fmt.Errorf("a value of %d bytes for items of %d (%v)", len(raw), f.Width, f)
		}
		copy(b, raw)
		return b, nil
	}
	if text, ok := v.(string); ok {
		if b, ok := textValue(f, text); ok {
			return b, nil
		}
	}
	switch f.Type {
	case column.TypeBool:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Bool {
			if r.Bool() {
				b[0] = 1
			}
			return b, nil
		}
	case column.TypeFloat16, column.TypeFloat32, column.TypeFloat64:
		if x, ok := floatOf(v); ok && putFloat(b, x) {
			return b, nil
		}
	case column.TypeBFloat16:
		if x, ok := floatOf(v); ok && putBrain(b, x) {
			return b, nil
		}
	case column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64:
		if x, negative, ok := intOf(v); ok && !negative && (f.Width == 8 || x>>(8*f.Width) == 0) {
			putInt(b, x)
			return b, nil
		}
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64, column.TypeDate, column.TypeTime,
		column.TypeTimestamp, column.TypeDecimal:
		x, negative, ok := intOf(v)
		if ok && f.Width <= 8 && fitsSigned(x, negative, f.Width) {
			putInt(b, x)
			return b, nil
		}
	case column.TypeUUID:
		return nil, fmt.Errorf("items are %v: give its text, or its 16 bytes, not %v (%T)", f, v, v)
	default:
		return nil, fmt.Errorf("a value for items of %v has to be their %d bytes, as a []byte", f, f.Width)
	}
	if f.Type == column.TypeDecimal {
		return nil, fmt.Errorf("items are %v: give a decimal that it holds exactly, as in \"1.5\", or its unscaled integer of 64 bits, not %v (%T)", f, v, v)
	}
	return nil, fmt.Errorf("items are %v, which does not hold %s exactly", f, literal(v))
}

// literal is a value as errors show it: texts in quotes, others with their type.
func literal(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%v (%T)", v, v)
}

// intOf returns v as a 64-bit two's complement integer; negative distinguishes the meanings of its
// highest bit.
func intOf(v any) (x uint64, negative, ok bool) {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return uint64(r.Int()), r.Int() < 0, true
	case r.CanUint():
		return r.Uint(), false, true
	case r.CanFloat():
		x := r.Float()
		if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
			return uint64(int64(x)), x < 0, true
		}
	}
	return 0, false, false
}

func fitsSigned(x uint64, negative bool, width int) bool {
	high := int64(x) >> (8*width - 1) // all sign bits when it fits
	if negative {
		return high == -1
	}
	return high == 0
}

// floatOf returns v as a float64, if nothing is lost. Texts name the numbers that JSON lacks.
func floatOf(v any) (float64, bool) {
	switch v {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanFloat():
		return r.Float(), true
	case r.CanInt():
		x := float64(r.Int())
		return x, math.Abs(x) < 1<<63 && int64(x) == r.Int()
	case r.CanUint():
		x := float64(r.Uint())
		return x, x < 1<<64 && uint64(x) == r.Uint()
	}
	return 0, false
}

// putFloat rounds to float32 and float16 as any conversion does, but a finite value does not become
// infinite.
func putFloat(b []byte, x float64) bool {
	switch len(b) {
	case 8:
		binary.LittleEndian.PutUint64(b, math.Float64bits(x))
		return true
	case 2:
		h := half.Of(x)
		binary.LittleEndian.PutUint16(b, h)
		return h&0x7fff != half.Infinity || math.IsInf(x, 0)
	}
	y := float32(x)
	binary.LittleEndian.PutUint32(b, math.Float32bits(y))
	return math.IsInf(float64(y), 0) == math.IsInf(x, 0)
}

// putBrain rounds to bfloat16, to even; a finite value does not become infinite.
func putBrain(b []byte, x float64) bool {
	h := half.Brain(float32(x))
	binary.LittleEndian.PutUint16(b, h)
	return h&0x7fff != half.BrainInfinity || math.IsInf(x, 0)
}

func putInt(b []byte, x uint64) {
	for i := range b {
		b[i] = byte(x >> (8 * i))
	}
}
