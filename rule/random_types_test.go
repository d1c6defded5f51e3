package rule

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/column"
)

// A testType is a column type as tests see it: values are *big.Int, float64 or string.
type testType struct {
	field  column.Field
	value  func(r *rand.Rand) any
	text   func(r *rand.Rand, v any) string // a literal
	line   func(v any) string               // a line of a file; nil: not tested by files
	put    func(dst []byte, v any) []byte   // as stored
	hashed func(v any) []byte
}

// compareValues orders two values; ok is false for NaN.
func compareValues(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case *big.Int:
		return a.Cmp(b.(*big.Int)), true
	case float64:
		b := b.(float64)
		switch {
		case a < b:
			return -1, true
		case a > b:
			return 1, true
		}
		return 0, a == b
	}
	return strings.Compare(a.(string), b.(string)), true
}

// twos is n in two's complement, little-endian.
func twos(n *big.Int, width int) []byte {
	b := make([]byte, width)
	for i := range b {
		b[i] = byte(new(big.Int).And(new(big.Int).Rsh(n, uint(8*i)), big.NewInt(255)).Int64())
	}
	return b
}

// wholeBetween is often small, often near an end of the range, and else any number of it.
func wholeBetween(r *rand.Rand, lo, hi *big.Int) *big.Int {
	n := big.NewInt(r.Int64N(9) - 4)
	switch r.IntN(4) {
	case 0:
		n.Sub(hi, big.NewInt(r.Int64N(3)))
	case 1:
		n.Add(lo, big.NewInt(r.Int64N(3)))
	case 2:
		b := make([]byte, 40)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		n.Mod(new(big.Int).SetBytes(b), new(big.Int).Sub(hi, lo))
		n.Add(n, lo)
	}
	if n.Cmp(lo) < 0 || n.Cmp(hi) > 0 {
		return new(big.Int).Set(lo)
	}
	return n
}

func intType(name string, t column.Type, width int, unsigned bool) testType {
	bits := uint(8 * width)
	lo, hi := new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1))
	if !unsigned {
		lo.Neg(new(big.Int).Lsh(big.NewInt(1), bits-1))
		hi.Sub(new(big.Int).Lsh(big.NewInt(1), bits-1), big.NewInt(1))
	}
	return testType{
		field:  column.Field{Name: name, Kind: column.Fixed, Type: t, Width: width},
		value:  func(r *rand.Rand) any { return wholeBetween(r, lo, hi) },
		text:   func(_ *rand.Rand, v any) string { return v.(*big.Int).String() },
		line:   func(v any) string { return v.(*big.Int).String() },
		put:    func(dst []byte, v any) []byte { return append(dst, twos(v.(*big.Int), width)...) },
		hashed: func(v any) []byte { return twos(v.(*big.Int), 8) },
	}
}

func boolType() testType {
	t := intType("flag", column.TypeBool, 1, true)
	t.value = func(r *rand.Rand) any { return big.NewInt(r.Int64N(2)) }
	t.line = func(v any) string { return strconv.FormatBool(v.(*big.Int).Sign() > 0) }
	t.text = func(_ *rand.Rand, v any) string { return t.line(v) }
	return t
}

func decimalType(name string, precision, scale, width int) testType {
	t := intType(name, column.TypeDecimal, width, false)
	t.field.Precision, t.field.Scale = precision, scale
	hi := new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil), big.NewInt(1))
	t.value = func(r *rand.Rand) any { return wholeBetween(r, new(big.Int).Neg(hi), hi) }
	t.line = func(v any) string {
		return new(big.Rat).SetFrac(v.(*big.Int), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
	}
	t.text = func(_ *rand.Rand, v any) string { return t.line(v) }
	t.hashed = func(v any) []byte { return twos(v.(*big.Int), width) }
	return t
}

// halfToFloat decodes a float16 by the bits of a float32.
func halfToFloat(h uint16) float64 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0:
		return math.Copysign(float64(fraction)/(1<<24), float64(int32(sign|1)))
	case 31:
		return float64(math.Float32frombits(sign | 255<<23 | fraction<<13))
	}
	return float64(math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13))
}

func floatType(name string, t column.Type, width int) testType {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), 2, 3}
	size := map[int]int{2: 32, 4: 32, 8: 64}[width]
	tt := testType{
		field: column.Field{Name: name, Kind: column.Fixed, Type: t, Width: width},
		value: func(r *rand.Rand) any {
			if r.IntN(4) > 0 {
				return special[r.IntN(len(special))]
			}
			switch width {
			case 2:
				return halfToFloat(uint16(r.Uint32()))
			case 4:
				return float64(math.Float32frombits(r.Uint32()))
			}
			return math.Float64frombits(r.Uint64())
		},
		line: func(v any) string { return strconv.FormatFloat(v.(float64), 'g', -1, size) },
		put: func(dst []byte, v any) []byte {
			switch width {
			case 2:
				return binary.LittleEndian.AppendUint16(dst, floatToHalf(v.(float64)))
			case 4:
				return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v.(float64))))
			}
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.(float64)))
		},
		hashed: func(v any) []byte {
			f := v.(float64) + 0 // -0 becomes 0
			if f != f {
				return binary.LittleEndian.AppendUint64(nil, 0x7ff8000000000000)
			}
			return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
		},
	}
	tt.text = func(_ *rand.Rand, v any) string { return tt.line(v) }
	return tt
}

// halfBits is the float16 of each exact value, by the bits of its float64.
var halfBits = func() map[uint64]uint16 {
	all := make(map[uint64]uint16, 1<<16)
	for h := range 1 << 16 {
		if f := halfToFloat(uint16(h)); f == f {
			all[math.Float64bits(f)] = uint16(h)
		}
	}
	return all
}()

func floatToHalf(v float64) uint16 {
	if v != v {
		return 0xfe01
	}
	return halfBits[math.Float64bits(v)]
}

func textType(name string, t column.Type) testType {
	letters := []string{"", "a", "b", "ab", "'", `"`, "é", "É", "ß", "한", "aa", "Ab", "%_", `\`, "zzz", "a\x00", strings.Repeat("long", 20)}
	text := func(v any) string { return v.(string) }
	tt := testType{
		field: column.Field{Name: name, Kind: column.Binary, Type: t},
		value: func(r *rand.Rand) any { return letters[r.IntN(len(letters))] + letters[r.IntN(len(letters))] },
		text: func(r *rand.Rand, v any) string {
			if r.IntN(2) == 0 {
				return `"` + strings.ReplaceAll(v.(string), `"`, `""`) + `"`
			}
			return "'" + strings.ReplaceAll(v.(string), "'", "''") + "'"
		},
		put:    func(dst []byte, v any) []byte { return append(dst, v.(string)...) },
		hashed: func(v any) []byte { return []byte(v.(string)) },
	}
	if t == column.TypeBinary {
		tt.text = func(_ *rand.Rand, v any) string { return "x'" + hex.EncodeToString([]byte(text(v))) + "'" }
	}
	return tt
}

func fixedType(name string, t column.Type, width int) testType {
	tt := textType(name, column.TypeBinary)
	tt.field = column.Field{Name: name, Kind: column.Fixed, Type: t, Width: width}
	tt.value = func(r *rand.Rand) any {
		b := make([]byte, width)
		b[r.IntN(width)] = byte(r.IntN(4) * 85)
		return string(b)
	}
	return tt
}

// countedType is a type of instants: a number of units.
func countedType(name string, t column.Type, width int, unit column.Unit, utc bool, form func(r *rand.Rand, at time.Time) string) testType {
	tt := intType(name, t, width, false)
	tt.field.Unit, tt.field.UTC = unit, utc
	perSecond := []int64{1000, 1e6, 1e9}[unit]
	hi := int64(40000) // days; within the range of nanoseconds
	switch t {
	case column.TypeTime:
		hi = 86400*perSecond - 1
	case column.TypeTimestamp:
		hi *= 86400 * perSecond
	}
	lo := int64(0)
	if t != column.TypeTime {
		lo = -hi
	}
	tt.value = func(r *rand.Rand) any { return wholeBetween(r, big.NewInt(lo), big.NewInt(hi)) }
	tt.text = func(r *rand.Rand, v any) string {
		n := v.(*big.Int).Int64()
		if t == column.TypeDate {
			return form(r, time.Unix(n*86400, 0).UTC())
		}
		second := n / perSecond
		return form(r, time.Unix(second, (n-second*perSecond)*(1e9/perSecond)).UTC())
	}
	tt.line = func(v any) string { return strings.Split(tt.text(rand.New(rand.NewPCG(1, 2)), v), "'")[1] }
	return tt
}

func dateText(r *rand.Rand, at time.Time) string {
	return []string{"", "date "}[r.IntN(2)] + "'" + at.Format("2006-01-02") + "'"
}

func timeText(r *rand.Rand, at time.Time) string {
	return []string{"", "TIME "}[r.IntN(2)] + "'" + at.Format("15:04:05.999999999") + "'"
}

func localText(r *rand.Rand, at time.Time) string {
	return []string{"", "timestamp "}[r.IntN(2)] + "'" + at.Format([]string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.000000000"}[r.IntN(2)]) + "'"
}

func zoneText(r *rand.Rand, at time.Time) string {
	if r.IntN(2) == 0 {
		return localText(r, at)
	}
	zone := time.FixedZone("", (r.IntN(27)-13)*3600+r.IntN(2)*1800)
	return "timestamp '" + at.In(zone).Format("2006-01-02 15:04:05.999999999-07:00") + "'"
}

// int96Type holds nanoseconds since 1970.
func int96Type(name string) testType {
	tt := countedType(name, column.TypeTimestamp, 8, column.Nano, true, zoneText)
	tt.field = column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt96, Width: 12}
	tt.put = func(dst []byte, v any) []byte {
		n := v.(*big.Int).Int64()
		day := n / 86400e9
		if n%86400e9 < 0 {
			day--
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n-day*86400e9))
		return binary.LittleEndian.AppendUint32(dst, uint32(day+2440588))
	}
	tt.hashed = func(v any) []byte { return tt.put(nil, v) }
	return tt
}

func testTypes() []testType {
	return []testType{
		boolType(),
		intType("i8", column.TypeInt8, 1, false), intType("i16", column.TypeInt16, 2, false),
		intType("i32", column.TypeInt32, 4, false), intType("i64", column.TypeInt64, 8, false),
		intType("u8", column.TypeUint8, 1, true), intType("u16", column.TypeUint16, 2, true),
		intType("u32", column.TypeUint32, 4, true), intType("u64", column.TypeUint64, 8, true),
		floatType("f16", column.TypeFloat16, 2), floatType("f32", column.TypeFloat32, 4), floatType("f64", column.TypeFloat64, 8),
		decimalType("d9", 9, 2, 8), decimalType("d38", 38, 10, 16), decimalType("d76", 76, 5, 32),
		countedType("day", column.TypeDate, 4, 0, false, dateText),
		countedType("clock", column.TypeTime, 8, column.Micro, false, timeText),
		countedType("ms", column.TypeTimestamp, 8, column.Milli, true, zoneText),
		countedType("us", column.TypeTimestamp, 8, column.Micro, false, localText),
		countedType("ns", column.TypeTimestamp, 8, column.Nano, true, zoneText),
		int96Type("old"),
		fixedType("uuid", column.TypeUUID, 16), fixedType("five", column.TypeFixedBinary, 5),
		textType("name", column.TypeString), textType("raw", column.TypeBinary), textType("colour", column.TypeEnum),
	}
}
