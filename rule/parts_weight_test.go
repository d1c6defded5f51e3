package rule

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// A weight is the mean of how often its rows come, and they come floor or ceiling times.
func TestRepeatsAreUnbiased(t *testing.T) {
	const rows = 40_000
	for _, w := range []float64{0, 0.001, 0.25, 1, 1.5, 3, 7.9, 254.5, 255} {
		weights, m := make([]float64, rows), make([]uint8, rows)
		for i := range weights {
			weights[i] = w
		}
		if err := Repeats(Column{Values: keysOf(weights...)}, 5, 1<<40, nil, m); err != nil {
			t.Fatal(err)
		}
		var sum float64
		for _, n := range m {
			if float64(n) < math.Floor(w) || float64(n) > math.Ceil(w) {
				t.Fatalf("weight %v: a row comes %d times", w, n)
			}
			sum += float64(n)
		}
		part := w - math.Floor(w)
		if off := math.Abs(sum - w*rows); off > 5*math.Sqrt(rows*part*(1-part)) {
			t.Errorf("weight %v: %.0f copies of %d rows", w, sum, rows)
		}
	}
}

// How often a row comes depends on the seed, its number and its weight alone.
func TestRepeatsAreOfTheRow(t *testing.T) {
	weights := make([]float64, 1000)
	for i := range weights {
		weights[i] = float64(i%40) / 10
	}
	whole, other := make([]uint8, 1000), make([]uint8, 1000)
	if err := Repeats(Column{Values: keysOf(weights...)}, 5, 300, nil, whole); err != nil {
		t.Fatal(err)
	}
	for _, lo := range []int{0, 1, 64, 999} {
		part := make([]uint8, 1000-lo)
		if err := Repeats(Column{Values: keysOf(weights[lo:]...)}, 5, int64(300+lo), nil, part); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(part, whole[lo:]) {
			t.Errorf("rows from %d on come as often as others", lo)
		}
	}
	if err := Repeats(Column{Values: keysOf(weights...)}, 6, 300, nil, other); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(other, whole) {
		t.Error("another seed draws the same")
	}
}

// The first draws in clear, for a reimplementation.
func TestGoldenRepeats(t *testing.T) {
	m := make([]uint8, 16)
	if err := Repeats(Column{Values: keysOf[float32](slices.Repeat([]float32{1.5}, 16)...)}, 42, 0, nil, m); err != nil {
		t.Fatal(err)
	}
	if want := []uint8{1, 2, 2, 1, 1, 2, 1, 2, 1, 2, 2, 2, 2, 1, 1, 1}; !slices.Equal(m, want) {
		t.Errorf("%v, want %v", m, want)
	}
}

// floor(w + u) is exact at both ends of u.
func TestRepeatsAreExact(t *testing.T) {
	const last = 1<<53 - 1
	for _, c := range []struct {
		w    float64
		x    uint64
		want uint8
	}{
		{0, last, 0},
		{1, last, 1},
		{1, 0, 1},
		{255, last, 255},
		{0.5, 1<<52 - 1, 0},
		{0.5, 1 << 52, 1},
		{math.Nextafter(1, 0), 1, 1},
		{math.Nextafter(1, 0), 0, 0},
		{math.Nextafter(255, 0), last, 255},
		{1e-300, last, 0},
	} {
		if got := repeats(c.w, c.x); got != c.want {
			t.Errorf("weight %v, u %d/2^53: %d times, want %d", c.w, c.x, got, c.want)
		}
	}
}

// Each numeric type counts the same.
func TestWeightTypes(t *testing.T) {
	for name, a := range map[string]*column.Array{
		"int8": keysOf[int8](0, 3, 100), "int16": keysOf[int16](0, 3, 100), "int32": keysOf[int32](0, 3, 100), "int64": keysOf[int64](0, 3, 100),
		"uint8": keysOf[uint8](0, 3, 100), "uint16": keysOf[uint16](0, 3, 100), "uint32": keysOf[uint32](0, 3, 100), "uint64": keysOf[uint64](0, 3, 100),
		"float32": keysOf[float32](0, 3, 100), "float64": keysOf[float64](0, 3, 100),
	} {
		t.Run(name, func(t *testing.T) {
			m := make([]uint8, 3)
			if err := Repeats(Column{Values: a}, 0, 0, nil, m); err != nil || !slices.Equal(m, []uint8{0, 3, 100}) {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
}

func TestWeightRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		a    *column.Array
		says string
	}{
		{"negative", keysOf(1, -0.5), `Weight must be from 0 to 255 in every row, got -0.5 in row 11 of column "key"`},
		{"too large", keysOf[int32](256, 0), "got 256 in row 10"},
		{"not a number", keysOf(math.NaN()), "got NaN in row 10"},
		{"infinite", keysOf(math.Inf(1)), "got +Inf in row 10"},
		{"null", nullAt(keysOf[float64](1, 0), 1), "got null in row 11"},
		{"text", keyTexts("1"), `must be a column of integers, float32 or float64, got "key", which is string`},
		{"no memory", &column.Array{Field: column.FieldOf[int64]("key"), Len: 1}, "1 values in 0 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Repeats(Column{Values: c.a}, 0, 10, nil, make([]uint8, c.a.Len)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Weights that are coded by a dictionary, or the same in all rows, are those of plain values.
func TestStoredWeights(t *testing.T) {
	const rows = 300
	entries := []float32{0, 0.5, 1.25, 3}
	plain := make([]float32, rows)
	var narrow, wide []byte
	for i := range plain {
		code := i * i % 4
		plain[i] = entries[code]
		narrow, wide = append(narrow, byte(code)), append(wide, byte(code), 0, 0, 0)
	}
	for _, c := range []struct {
		name      string
		got, want Column
	}{
		{"codes of a byte", Column{Values: keysOf(entries...), Codes: narrow, CodeWidth: 1}, Column{Values: keysOf(plain...)}},
		{"codes of 4 bytes", Column{Values: keysOf(entries...), Codes: wide, CodeWidth: 4}, Column{Values: keysOf(plain...)}},
		{"constant", Column{Values: keysOf(1.25), Constant: true}, Column{Values: keysOf(slices.Repeat([]float64{1.25}, rows)...)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := make([]uint8, rows), make([]uint8, rows)
			if err := Repeats(c.got, 3, 7, nil, got); err != nil {
				t.Fatal(err)
			}
			if err := Repeats(c.want, 3, 7, nil, want); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, plain values have %v", got, want)
			}
		})
	}
}

// A row that is not kept comes not at all, and its weight may be anything.
func TestRepeatsOfKeptRows(t *testing.T) {
	m := make([]uint8, 4)
	if err := Repeats(Column{Values: keysOf(2, -1, math.NaN(), 3)}, 0, 0, []uint64{0b1001}, m); err != nil || !slices.Equal(m, []uint8{2, 0, 0, 3}) {
		t.Errorf("got %v and %v", m, err)
	}
	if err := Repeats(Column{Values: keysOf(2, -1, math.NaN(), 3)}, 0, 0, []uint64{0b1011}, m); err == nil {
		t.Error("the weight of a row that is kept is not looked at")
	}
}
