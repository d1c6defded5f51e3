package block

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/half"
	"github.com/shardfeed/shardfeed/rule"
)

// A Cast converts the values of a column, or the items of its lists.
type Cast struct {
	// To is a float of any width, bfloat16 included, or an integer; or a bool, which holds 0 and 1.
	// Dates and timestamps may become timestamps of another Unit: a finer one must hold them, and
	// under a coarser one they belong to the unit that they are in.
	To   column.Type
	Unit column.Unit

	// Scaled subtracts Mean and divides by Deviation, which is above 0. To is a float then.
	Scaled          bool
	Mean, Deviation float64

	// Buckets above 0 takes the hash of a value, as package rule has it, modulo Buckets.
	Buckets uint64
}

// castWidths are the bytes of a value of the types of casts.
var castWidths = map[column.Type]int{
	column.TypeBool: 1, column.TypeInt8: 1, column.TypeInt16: 2, column.TypeInt32: 4, column.TypeInt64: 8,
	column.TypeUint8: 1, column.TypeUint16: 2, column.TypeUint32: 4, column.TypeUint64: 8,
	column.TypeFloat16: 2, column.TypeBFloat16: 2, column.TypeFloat32: 4, column.TypeFloat64: 8,
	column.TypeTimestamp: 8,
}

// CastWidth is the bytes of a value of a type of casts.
func CastWidth(t column.Type) int { return castWidths[t] }

// IsFloatType reports whether a type is a float of any width.
func IsFloatType(t column.Type) bool {
	return t == column.TypeFloat16 || t == column.TypeBFloat16 || t == column.TypeFloat32 || t == column.TypeFloat64
}

// A Caster is a cast of the values of one field.
type Caster struct {
	cast    Cast
	from    *column.Field // Fixed or Binary
	width   int           // of a value that is made
	kernels               // zero if from is Binary
	store   kernel        // of the hashes of Binary, as uint64
}

// kernels are two ways to convert.
type kernels struct {
	run    kernel
	gather gatherKernel // nil if it would not be faster
}

// NewCaster binds a cast to the field of the values, which is neither a list nor a struct. The
// error says why their type cannot be cast.
func NewCaster(from *column.Field, c Cast) (*Caster, error) {
	width, ok := castWidths[c.To]
	switch {
	case !ok:
		return nil, fmt.Errorf("%v is no type of casts", c.To)
	case c.Scaled && !IsFloatType(c.To):
		return nil, fmt.Errorf("scaled values are floats, not %v", c.To)
	case c.Scaled && c.Buckets > 0:
		return nil, fmt.Errorf("a hash is not scaled")
	case c.Buckets > 0 && (IsFloatType(c.To) || c.To == column.TypeTimestamp):
		return nil, fmt.Errorf("a hash is an integer, not %v", c.To)
	case c.Buckets > 0 && !holds(c.To, c.Buckets-1):
		return nil, fmt.Errorf("%v does not hold %d buckets", c.To, c.Buckets)
	}
	m := &Caster{cast: c, from: from, width: width}
	switch {
	case from.Kind == column.Binary && c.Buckets > 0:
		m.store = kernelOf[uint64](Cast{To: c.To}).run
		return m, nil
	case from.Kind == column.Fixed:
		m.kernels = kernelOfField(from, c, width)
	}
	if m.run == nil && from.Type == column.TypeDecimal {
		return nil, fmt.Errorf("it is %v, which is cast to floats alone", from)
	}
	if m.run == nil && c.To == column.TypeTimestamp {
		return nil, fmt.Errorf("it is %v, and only dates and timestamps become timestamps", from)
	}
	if m.run == nil {
		return nil, fmt.Errorf("it is %v, which is not a number", from)
	}
	return m, nil
}

// To is the field of the values that the cast makes.
func (m *Caster) To() *column.Field {
	f := &column.Field{Name: m.from.Name, Kind: column.Fixed, Type: m.cast.To, Width: m.width, Nullable: m.from.Nullable}
	if f.Type == column.TypeTimestamp {
		f.Unit, f.UTC = m.cast.Unit, m.from.UTC
	}
	return f
}

// holds reports whether an integer type holds n.
func holds(t column.Type, n uint64) bool {
	_, hi := limits(t)
	return t == column.TypeUint64 || n <= uint64(hi)
}

// limits returns the range of an integer type; for uint64, the part of it that int64 holds.
func limits(t column.Type) (lo, hi int64) {
	switch t {
	case column.TypeBool:
		return 0, 1
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64:
		bits := 8 * castWidths[t]
		return -1 << (bits - 1), 1<<(bits-1) - 1
	case column.TypeUint8, column.TypeUint16, column.TypeUint32:
		return 0, 1<<(8*castWidths[t]) - 1
	}
	return 0, math.MaxInt64
}

// kernelOfField returns no kernel for fields that hold neither numbers nor bytes to hash.
func kernelOfField(f *column.Field, c Cast, width int) kernels {
	if c.To == column.TypeTimestamp {
		return kernels{run: timeKernel(f, c.Unit)}
	}
	switch f.Type {
	case column.TypeBool, column.TypeUint8:
		return kernelOf[uint8](c)
	case column.TypeInt8:
		return kernelOf[int8](c)
	case column.TypeInt16:
		return kernelOf[int16](c)
	case column.TypeUint16:
		return kernelOf[uint16](c)
	case column.TypeInt32, column.TypeDate:
		return kernelOf[int32](c)
	case column.TypeUint32:
		return kernelOf[uint32](c)
	case column.TypeInt64, column.TypeTime, column.TypeTimestamp:
		return kernelOf[int64](c)
	case column.TypeUint64:
		return kernelOf[uint64](c)
	case column.TypeFloat32:
		return kernelOf[float32](c)
	case column.TypeFloat64:
		return kernelOf[float64](c)
	case column.TypeInt96:
		return kernels{run: onInt96(kernelOf[int64](c).run, width)}
	case column.TypeFloat16:
		return kernels{run: reading(readHalves, kernelOf[float32](c).run, 2, width)}
	case column.TypeDecimal:
		if c.Buckets > 0 && f.Width == 8 {
			return kernelOf[int64](c)
		}
		if c.Buckets == 0 && IsFloatType(c.To) {
			return kernels{run: reading(readDecimals(f.Width, f.Scale), kernelOf[float64](c).run, f.Width, width)}
		}
	}
	if c.Buckets > 0 {
		return kernels{run: bytesKernel(c, f.Width)}
	}
	return kernels{}
}

func bytesKernel(c Cast, width int) kernel {
	switch castWidths[c.To] {
	case 1:
		return hashedBytes[uint8](c.Buckets, width)
	case 2:
		return hashedBytes[uint16](c.Buckets, width)
	case 4:
		return hashedBytes[uint32](c.Buckets, width)
	}
	return hashedBytes[uint64](c.Buckets, width)
}

func kernelOf[S number](c Cast) kernels {
	switch c.To {
	case column.TypeFloat32:
		return floatKernel[S, float32](c)
	case column.TypeFloat64:
		return floatKernel[S, float64](c)
	case column.TypeFloat16, column.TypeBFloat16:
		last := shrink(half.Of32, half.Infinity)
		if c.To == column.TypeBFloat16 {
			last = shrink(half.Brain, half.BrainInfinity)
		}
		return kernels{run: via(floatKernel[S, float32](c).run, last, int(unsafe.Sizeof(S(0))), 2)}
	}
	switch castWidths[c.To] {
	case 1:
		return kernels{run: intKernel[S, uint8](c)}
	case 2:
		return kernels{run: intKernel[S, uint16](c)}
	case 4:
		return kernels{run: intKernel[S, uint32](c)}
	}
	return kernels{run: intKernel[S, uint64](c)}
}

func floatKernel[S number, D float32 | float64](c Cast) kernels {
	if c.Scaled {
		return kernels{scaled[S, D](c.Mean, c.Deviation), gatherScaled[S, D](c.Mean, c.Deviation)}
	}
	k := kernels{toFloat[S, D], gatherFloats[S, D]}
	if unsafe.Sizeof(D(0)) == 4 && isFloat[S]() && unsafe.Sizeof(S(0)) == 8 {
		k.run = narrow
	}
	return k
}

func intKernel[S number, W word](c Cast) kernel {
	if c.Buckets > 0 {
		return hashed[S, W](c.Buckets)
	}
	lo, hi := limits(c.To)
	switch any(S(0)).(type) {
	case float32, float64:
		end := float64(hi) + 1
		if c.To == column.TypeUint64 {
			end = 0x1p64
		}
		if unsafe.Sizeof(S(0)) == 4 {
			return truncated[float32, W](float64(lo), end)
		}
		return truncated[float64, W](float64(lo), end)
	case uint64: // those above int64 wrap, and are negative
		lo = max(lo, 0)
		if c.To == column.TypeUint64 {
			lo = math.MinInt64
		}
	}
	return toInt[S, W](lo, hi)
}

// hash is the bucket of a text.
func (m *Caster) hash(value []byte) uint64 { return rule.Hash(0, value) % m.cast.Buckets }

// one converts the single value at src, to find one that does not fit.
func (m *Caster) one(src unsafe.Pointer, tmp *CastScratch) (misfit bool) {
	var dst [1]uint64
	return m.run(unsafe.Pointer(&dst), 1, src, 1, tmp)
}

// A CastError is the error of a value that its new type does not hold.
type CastError struct {
	value string
	to    *column.Field
	cast  Cast
}

func (e *CastError) Error() string {
	if e.cast.Scaled {
		return fmt.Sprintf("%s does not fit %v when it is scaled by (%v, %v)", e.value, e.to, e.cast.Mean, e.cast.Deviation)
	}
	if e.to.Type == column.TypeTimestamp {
		return fmt.Sprintf("%s does not fit a timestamp in %v, which holds the years %s", e.value, e.to.Unit, spanText(e.to.Unit))
	}
	return fmt.Sprintf("%s does not fit %v", e.value, e.to)
}

// Hint returns what the user can do.
func (e *CastError) Hint() string {
	if e.to.Type == column.TypeTimestamp && e.to.Unit == column.Nano {
		return "cast the column to datetime64[us], which holds it, or filter the row"
	}
	return "take a type that holds it"
}

// misfit is the error of the value at src.
func (m *Caster) misfit(src unsafe.Pointer) *CastError {
	return &CastError{value: numberText(m.from, src), to: m.To(), cast: m.cast}
}

// numberText is a number as people read it.
func numberText(f *column.Field, src unsafe.Pointer) string {
	switch f.Type {
	case column.TypeUint64:
		return strconv.FormatUint(*(*uint64)(src), 10)
	case column.TypeFloat32:
		return strconv.FormatFloat(float64(*(*float32)(src)), 'g', -1, 32)
	case column.TypeFloat16:
		return strconv.FormatFloat(float64(half.Value(*(*uint16)(src))), 'g', -1, 32)
	case column.TypeFloat64:
		return strconv.FormatFloat(*(*float64)(src), 'g', -1, 64)
	case column.TypeInt96, column.TypeTimestamp, column.TypeDate:
		return timeText(f, src)
	case column.TypeDecimal:
		return strconv.FormatFloat(decimalFloat(unsafe.Slice((*byte)(src), f.Width))/math.Pow10(f.Scale), 'g', -1, 64)
	}
	var n int64
	kernelOfField(f, Cast{To: column.TypeInt64}, 8).run(unsafe.Pointer(&n), 1, src, 1, nil)
	return strconv.FormatInt(n, 10)
}

// IsInt reports whether a type is an integer.
func IsInt(t column.Type) bool { return t >= column.TypeInt8 && t <= column.TypeUint64 }

// IsUnsigned reports whether a type is an unsigned integer.
func IsUnsigned(t column.Type) bool { return t >= column.TypeUint8 && t <= column.TypeUint64 }
