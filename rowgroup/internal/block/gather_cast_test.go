package block

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/half"
	"github.com/shardfeed/shardfeed/rule"
)

// A castType is a type of columns: values of it for tests, as bytes and as an int64, a uint64 or a
// float64.
type castType struct {
	field *column.Field
	make  func(r *rand.Rand) (bytes []byte, value any)
}

func intType[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](typ column.Type, width int) castType {
	return castType{&column.Field{Type: typ, Width: width}, func(r *rand.Rand) ([]byte, any) {
		n := T(r.Uint64())
		switch r.IntN(3) {
		case 0:
			n = T(r.IntN(300))
		case 1:
			n = T(r.Uint64() >> r.IntN(64))
		}
		if typ == column.TypeBool {
			n &= 1
		}
		b := binary.LittleEndian.AppendUint64(nil, uint64(n))[:width]
		if T(0)-1 > 0 {
			return b, uint64(n)
		}
		return b, int64(n)
	}}
}

func someFloat(r *rand.Rand) float64 {
	switch r.IntN(12) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	case 2:
		return math.Inf(-1)
	case 3:
		return math.Float64frombits(r.Uint64())
	case 4:
		return math.Copysign(0, -1)
	case 5:
		return float64(r.IntN(600) - 300)
	}
	return r.NormFloat64() * math.Pow(10, float64(r.IntN(12)))
}

var castTypes = []castType{
	intType[uint8](column.TypeBool, 1), intType[int8](column.TypeInt8, 1), intType[int16](column.TypeInt16, 2), intType[int32](column.TypeInt32, 4),
	intType[int64](column.TypeInt64, 8), intType[uint8](column.TypeUint8, 1), intType[uint16](column.TypeUint16, 2), intType[uint32](column.TypeUint32, 4),
	intType[uint64](column.TypeUint64, 8), intType[int32](column.TypeDate, 4), intType[int64](column.TypeTime, 8), intType[int64](column.TypeTimestamp, 8),
	{&column.Field{Type: column.TypeFloat16, Width: 2}, func(r *rand.Rand) ([]byte, any) {
		h := uint16(r.Uint32())
		return binary.LittleEndian.AppendUint16(nil, h), float64(half.Value(h))
	}},
	{&column.Field{Type: column.TypeFloat32, Width: 4}, func(r *rand.Rand) ([]byte, any) {
		x := float32(someFloat(r))
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)), float64(x)
	}},
	{&column.Field{Type: column.TypeFloat64, Width: 8}, func(r *rand.Rand) ([]byte, any) {
		x := someFloat(r)
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)), x
	}},
	{&column.Field{Type: column.TypeDecimal, Width: 8, Precision: 18, Scale: 2}, func(r *rand.Rand) ([]byte, any) {
		n := (r.Int64N(2e12) - 1e12) >> r.IntN(40)
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), float64(n) / 100
	}},
	{&column.Field{Type: column.TypeDecimal, Width: 16, Precision: 38, Scale: 3}, func(r *rand.Rand) ([]byte, any) {
		n := (r.Int64N(2e12) - 1e12) >> r.IntN(40)
		b := binary.LittleEndian.AppendUint64(nil, uint64(n))
		return binary.LittleEndian.AppendUint64(b, uint64(n>>63)), float64(n) / 1000
	}},
}

// casted is the value that a cast makes, by the plainest code: as bytes of the type, or not ok.
func casted(v any, c Cast) (b []byte, ok bool) {
	if c.Scaled {
		x, finite := (asFloat(v)-c.Mean)/c.Deviation, !math.IsInf(asFloat(v), 0)
		if finite && math.IsInf(x, 0) {
			return nil, false
		}
		v = x
		if c.To == column.TypeFloat16 || c.To == column.TypeBFloat16 { // rounded as float32 first
			v = float64(float32(x))
			if finite && math.IsInf(v.(float64), 0) {
				return nil, false
			}
		}
	}
	switch c.To {
	case column.TypeFloat64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(asFloat(v))), true
	case column.TypeFloat32, column.TypeFloat16, column.TypeBFloat16:
		return castedFloat(v, c.To)
	}
	lo, hi := limits(c.To)
	switch x := v.(type) {
	case int64:
		ok = x >= lo && x <= hi
		b = binary.LittleEndian.AppendUint64(nil, uint64(x))
	case uint64:
		ok = c.To == column.TypeUint64 || x <= uint64(hi)
		b = binary.LittleEndian.AppendUint64(nil, x)
	case float64:
		y := math.Trunc(x)
		ok = y >= float64(lo) && y <= float64(hi)
		if hi == math.MaxInt64 {
			ok = y >= float64(lo) && (y < 0x1p63 || c.To == column.TypeUint64 && y < 0x1p64)
		}
		if !ok {
			return nil, false
		}
		b = binary.LittleEndian.AppendUint64(nil, uint64(int64(y)))
		if y >= 0x1p63 {
			b = binary.LittleEndian.AppendUint64(nil, uint64(y))
		}
	}
	return b[:castWidths[c.To]], ok
}

func castedFloat(v any, to column.Type) ([]byte, bool) {
	var x float32
	finite := true
	switch v := v.(type) {
	case int64:
		x = float32(v)
	case uint64:
		x = float32(v)
	case float64:
		x, finite = float32(v), !math.IsInf(v, 0)
	}
	bits := uint64(math.Float32bits(x))
	infinite := math.IsInf(float64(x), 0)
	switch to {
	case column.TypeFloat16:
		bits = uint64(half.Of32(x))
		infinite = bits&0x7fff == half.Infinity
	case column.TypeBFloat16:
		bits = uint64(half.Brain(x))
		infinite = bits&0x7fff == half.BrainInfinity
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:castWidths[to]], !(finite && infinite)
}

func asFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v.(float64)
}

// castedNaN reports whether bytes of a type are NaN, of which there are many.
func castedNaN(b []byte, t column.Type) bool {
	switch t {
	case column.TypeFloat64:
		x := math.Float64frombits(binary.LittleEndian.Uint64(b))
		return x != x
	case column.TypeFloat32:
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return x != x
	case column.TypeFloat16:
		return binary.LittleEndian.Uint16(b)&0x7fff > half.Infinity
	case column.TypeBFloat16:
		return binary.LittleEndian.Uint16(b)&0x7fff > half.BrainInfinity
	}
	return false
}

func sameValue(a, b []byte, t column.Type) bool {
	return string(a) == string(b) || castedNaN(a, t) && castedNaN(b, t)
}

// A castColumn is random blocks of one column, and what is in them.
type castColumn struct {
	vecs   []*Vector
	values [][]any // by block; nil is a null
}

// randomColumn makes vectors of all forms that hold only values that fits accepts.
func randomColumn(r *rand.Rand, c castType, blocks, rows int, nulls bool, fits func(any) bool) castColumn {
	var all castColumn
	for range blocks {
		v := &Vector{Field: c.field, Len: rows, Skip: r.IntN(3)}
		v.Len += v.Skip
		values := make([]any, v.Len)
		switch form := r.IntN(4); {
		case nulls && form == 0: // no storage
			v.Nulls = v.Len
		case form == 1: // coded
			dict, of := randomPlain(r, c, 5, fits)
			v.Dict, v.CodeWidth = dict, 1<<r.IntN(3)
			for i := range v.Len {
				code := r.IntN(5)
				if values[i] = of[code]; nulls && r.IntN(4) == 0 {
					v.setNull(i)
					values[i], code = nil, 0
				}
				v.Codes = append(v.Codes, binary.LittleEndian.AppendUint32(nil, uint32(code))[:v.CodeWidth]...)
			}
		default:
			plain, of := randomPlain(r, c, v.Len, fits)
			v.Data = plain.Data
			copy(values, of)
			for i := range v.Len {
				if nulls && r.IntN(4) == 0 {
					v.setNull(i)
					values[i] = nil
					clear(v.Data[i*c.field.Width : (i+1)*c.field.Width])
				}
			}
		}
		all.vecs, all.values = append(all.vecs, v), append(all.values, values[v.Skip:])
	}
	return all
}

func randomPlain(r *rand.Rand, c castType, n int, fits func(any) bool) (*Vector, []any) {
	v, values := &Vector{Field: c.field, Len: n}, make([]any, n)
	for i := range n {
		b, value := c.make(r)
		for tries := 0; !fits(value); tries++ {
			if b, value = c.make(r); tries == 1000 {
				panic("no value fits")
			}
		}
		v.Data, values[i] = append(v.Data, b...), value
	}
	return v, values
}

func randomPicks(r *rand.Rand, blocks, rows, n int) []Pick {
	picks := make([]Pick, n)
	for i := range picks {
		picks[i] = MakePick(r.IntN(blocks), r.IntN(rows))
	}
	return picks
}

var castTargets = []column.Type{
	column.TypeFloat32, column.TypeFloat64, column.TypeFloat16, column.TypeBFloat16, column.TypeInt8, column.TypeInt16, column.TypeInt32,
	column.TypeInt64, column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64, column.TypeBool,
}

// TestCast holds casts of all types to all types against plain code, with and without scaling, in
// batches of one row to several tiles.
func TestCast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var g Gatherer
	for _, from := range castTypes {
		for _, to := range castTargets {
			for _, scaled := range []bool{false, true} {
				if scaled && !IsFloatType(to) || !IsFloatType(to) && from.field.Type == column.TypeDecimal {
					continue
				}
				c := Cast{To: to, Scaled: scaled}
				if scaled {
					c.Mean, c.Deviation = 12.5, 3
				}
				t.Run(fmt.Sprintf("%v to %v scaled %v", from.field, to, scaled), func(t *testing.T) {
					f := *from.field
					f.Name, f.Nullable = "c", true
					m, err := NewCaster(&f, c)
					if err != nil {
						t.Fatal(err)
					}
					fits := func(v any) bool { _, ok := casted(v, c); return ok }
					for _, n := range []int{1, 7, 2*tileRows + 3} {
						all := randomColumn(r, castType{&f, from.make}, 3, 20, r.IntN(2) == 0, fits)
						blocks := make([]*Block, 3)
						for i, v := range all.vecs {
							blocks[i] = &Block{rows: 20, cols: []*Vector{v}}
						}
						picks := randomPicks(r, 3, 20, n)
						a, err := g.Cast(0, m.To(), m, blocks, picks, nil, heap)
						if err != nil {
							t.Fatal(err)
						}
						for i, p := range picks {
							v := all.values[p.Block()][p.Row()]
							got := a.Data[i*m.width : (i+1)*m.width]
							want := make([]byte, m.width)
							if v != nil {
								want, _ = casted(v, c)
							}
							if a.IsNull(i) != (v == nil) || !sameValue(got, want, to) {
								t.Fatalf("row %d: %v became %x (null %v), want %x", i, v, got, a.IsNull(i), want)
							}
						}
					}
				})
			}
		}
	}
}

// TestCastRefuses sees each value that does not fit named, with its place, and nulls and rows that
// are not picked pass.
func TestCastRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var g Gatherer
	for _, from := range castTypes {
		for _, to := range castTargets {
			if !IsFloatType(to) && from.field.Type == column.TypeDecimal {
				continue
			}
			c := Cast{To: to}
			f := *from.field
			f.Name = "c"
			m, err := NewCaster(&f, c)
			if err != nil {
				t.Fatal(err)
			}
			for range 200 {
				b, v := from.make(r)
				_, ok := casted(v, c)
				good, _ := randomPlain(r, castType{&f, from.make}, 2, func(v any) bool { _, ok := casted(v, c); return ok })
				good.Data = append(good.Data, b...)
				good.Len++
				block := &Block{rows: 3, cols: []*Vector{good}, from: Origin{URI: "s3://b/x.parquet", RowGroup: 4}}
				_, err := g.Cast(0, m.To(), m, []*Block{block}, []Pick{0, 2, 1}, nil, heap)
				if (err == nil) != ok {
					t.Fatalf("%v to %v: %v gives %v", &f, to, v, err)
				}
				if err != nil && !strings.HasPrefix(err.Error(), `s3://b/x.parquet: row group 4, column "c": `) {
					t.Fatal(err)
				}
				good.setNull(2)
				for _, picks := range [][]Pick{{0, 2, 1}, {1, 0}} {
					if _, err := g.Cast(0, m.To(), m, []*Block{block}, picks, nil, heap); err != nil {
						t.Fatalf("%v to %v: %v", &f, to, err)
					}
				}
			}
		}
	}
}

func TestCastErrors(t *testing.T) {
	f := func(typ column.Type, w int) *column.Field { return &column.Field{Name: "c", Type: typ, Width: w} }
	for _, c := range []struct {
		name string
		from *column.Field
		cast Cast
		data []byte
		want string
	}{
		{"too large", f(column.TypeInt64, 8), Cast{To: column.TypeInt32}, binary.LittleEndian.AppendUint64(nil, 1<<32), "4294967296 does not fit int32 (take a type that holds it)"},
		{"negative", f(column.TypeInt8, 1), Cast{To: column.TypeUint64}, []byte{0xff}, "-1 does not fit uint64 (take a type that holds it)"},
		{"above int64", f(column.TypeUint64, 8), Cast{To: column.TypeInt64}, binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "18446744073709551615 does not fit int64 (take a type that holds it)"},
		{"NaN", f(column.TypeFloat32, 4), Cast{To: column.TypeInt64}, binary.LittleEndian.AppendUint32(nil, 0x7fc00000), "NaN does not fit int64 (take a type that holds it)"},
		{"float", f(column.TypeFloat64, 8), Cast{To: column.TypeFloat32}, binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e300)), "1e+300 does not fit float (take a type that holds it)"},
		{"half", f(column.TypeInt32, 4), Cast{To: column.TypeFloat16}, binary.LittleEndian.AppendUint32(nil, 70000), "70000 does not fit float16 (take a type that holds it)"},
		{
			"scaled", f(column.TypeInt32, 4),
			Cast{To: column.TypeFloat32, Scaled: true, Mean: 1, Deviation: 1e-40},
			binary.LittleEndian.AppendUint32(nil, 7),
			"7 does not fit float when it is scaled by (1, 1e-40) (take a type that holds it)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := NewCaster(c.from, c.cast)
			if err != nil {
				t.Fatal(err)
			}
			var g Gatherer
			b := &Block{rows: 1, cols: []*Vector{{Len: 1, Data: c.data}}, from: Origin{URI: "x"}}
			_, err = g.Cast(0, m.To(), m, []*Block{b}, []Pick{0}, nil, heap)
			if want := `x: row group 0, column "c": ` + c.want; err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}

// TestCastHash holds hashes against package rule's.
func TestCastHash(t *testing.T) {
	var g Gatherer
	eight := func(u uint64) []byte { return binary.LittleEndian.AppendUint64(nil, u) }
	for _, c := range []struct {
		name  string
		field *column.Field
		vec   *Vector
		want  [][]byte // hashed; nil is a null
	}{
		{"text", &column.Field{Kind: column.Binary, Type: column.TypeString}, text("one", "-", "", strings.Repeat("x", 100)), [][]byte{[]byte("one"), nil, {}, []byte(strings.Repeat("x", 100))}},
		{"text codes", &column.Field{Kind: column.Binary, Type: column.TypeString}, coded(text("u", "vv"), 1, 1, 0), [][]byte{[]byte("vv"), []byte("u")}},
		{"int8", &column.Field{Type: column.TypeInt8, Width: 1}, &Vector{Len: 1, Data: []byte{0xfe}}, [][]byte{eight(math.MaxUint64 - 1)}},
		{"uint64", &column.Field{Type: column.TypeUint64, Width: 8}, &Vector{Len: 1, Data: eight(math.MaxUint64)}, [][]byte{eight(math.MaxUint64)}},
		{"float32", &column.Field{Type: column.TypeFloat32, Width: 4}, &Vector{Len: 1, Data: []byte{0, 0, 0, 0x80}}, [][]byte{eight(0)}},
		{"float16", &column.Field{Type: column.TypeFloat16, Width: 2}, &Vector{Len: 1, Data: []byte{0, 0x3c}}, [][]byte{eight(math.Float64bits(1))}},
		{"uuid", &column.Field{Type: column.TypeUUID, Width: 16}, &Vector{Len: 1, Data: []byte("0123456789abcdef")}, [][]byte{[]byte("0123456789abcdef")}},
		{"decimal", &column.Field{Type: column.TypeDecimal, Width: 8, Scale: 2}, &Vector{Len: 1, Data: eight(123)}, [][]byte{eight(123)}},
	} {
		for _, to := range []column.Type{column.TypeInt64, column.TypeInt32, column.TypeUint16} {
			t.Run(fmt.Sprint(c.name, " to ", to), func(t *testing.T) {
				const buckets = 30_011
				m, err := NewCaster(c.field, Cast{To: to, Buckets: buckets})
				if err != nil {
					t.Fatal(err)
				}
				var picks []Pick
				for i := range c.want {
					picks = append(picks, Pick(i))
				}
				a, err := g.Cast(0, m.To(), m, []*Block{{rows: len(picks), cols: []*Vector{c.vec}}}, picks, nil, heap)
				if err != nil {
					t.Fatal(err)
				}
				for i, hashed := range c.want {
					got := binary.LittleEndian.Uint64(append(append([]byte{}, a.Data[i*m.width:(i+1)*m.width]...), make([]byte, 8)...))
					want := rule.Hash(0, hashed) % buckets
					if hashed == nil {
						want = 0
					}
					if got != want || a.IsNull(i) != (hashed == nil) {
						t.Errorf("value %d is in bucket %d, want %d", i, got, want)
					}
				}
			})
		}
	}
}

func TestCastLists(t *testing.T) {
	i32 := &column.Field{Name: "item", Type: column.TypeInt32, Width: 4}
	m, err := NewCaster(i32, Cast{To: column.TypeInt64})
	if err != nil {
		t.Fatal(err)
	}
	general := &Vector{Len: 3, Offsets: []uint32{0, 2, 2, 3}, Children: []*Vector{words(8, -1, 9)}}
	general.setNull(1)
	flat := &Vector{Len: 2, Views: []uint64{0<<32 | 8, 8<<32 | 4}, Base: [][]byte{words(1, 2, 3).Data}, Children: []*Vector{{}}}
	pairs := &Vector{Len: 2, Data: words(0, 0, 1, 2).Data, Stride: 2, Children: []*Vector{{}}}
	pairs.setNull(0)
	for _, c := range []struct {
		name string
		vec  *Vector
		size int
		want string
	}{
		{"ragged with null items", general, 0, "[8 -] - [9]"},
		{"flat", flat, 0, "[1 2] [3]"},
		{"pairs", pairs, 2, "- [1 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &column.Field{Name: "c", Kind: column.List, ListSize: c.size, Children: []*column.Field{m.To()}}
			var g Gatherer
			var picks []Pick
			for i := range c.vec.Len {
				picks = append(picks, Pick(i))
			}
			a, err := g.Cast(0, f, m, []*Block{{rows: c.vec.Len, cols: []*Vector{c.vec}}}, picks, nil, heap)
			if err != nil {
				t.Fatal(err)
			}
			for i := range a.Children[0].Len {
				if n := binary.LittleEndian.Uint64(a.Children[0].Data[8*i:]); a.Children[0].IsNull(i) && n != 0 {
					t.Errorf("under the null at %d stands %d", i, n)
				}
			}
			if got := showInts(a); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	narrowing, err := NewCaster(i32, Cast{To: column.TypeInt8})
	if err != nil {
		t.Fatal(err)
	}
	var g Gatherer
	f := &column.Field{Name: "ids", Kind: column.List, Children: []*column.Field{narrowing.To()}}
	large := &Vector{Len: 2, Offsets: []uint32{0, 1, 3}, Children: []*Vector{words(8, -1, 300)}}
	_, err = g.Cast(0, f, narrowing, []*Block{{rows: 2, cols: []*Vector{large}, from: Origin{URI: "x"}}}, []Pick{1}, nil, heap)
	if want := `x: row group 0, column "ids": 300 does not fit int8 (take a type that holds it)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// showInts is showAll for int64.
func showInts(a *column.Array) string {
	var rows []string
	for i := range a.Len {
		if a.IsNull(i) {
			rows = append(rows, "-")
			continue
		}
		var items []string
		lo, hi := a.Items(i)
		for k := lo; k < hi; k++ {
			item := fmt.Sprint(int64(binary.LittleEndian.Uint64(a.Children[0].Data[8*k:])))
			if a.Children[0].IsNull(k) {
				item = "-"
			}
			items = append(items, item)
		}
		rows = append(rows, "["+strings.Join(items, " ")+"]")
	}
	return strings.Join(rows, " ")
}
