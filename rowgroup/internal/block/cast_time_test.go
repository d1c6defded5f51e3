package block

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

func int96Bytes(day, nanos int64) (b [12]byte) {
	*(*int64)(unsafe.Pointer(&b)) = nanos
	*(*int32)(unsafe.Pointer(&b[8])) = int32(day + julianUnixDay)
	return b
}

// TestInt96 converts the edges of each unit, by hand, and any value as big integers do.
func TestInt96(t *testing.T) {
	for _, c := range []struct {
		name       string
		day, nanos int64
		unit       column.Unit
		want       int64
		ok         bool
	}{
		{"1970", 0, 0, column.Nano, 0, true},
		{"before 1970", -1, nanosPerDay - 1, column.Nano, -1, true},
		{"nanoseconds over the day", 0, nanosPerDay + 5, column.Nano, nanosPerDay + 5, true},
		{"nanoseconds under the day", 1, -1, column.Nano, nanosPerDay - 1, true},
		{"least", -106_752, 763_145_224_192, column.Nano, math.MinInt64, true},
		{"below the least", -106_752, 763_145_224_191, column.Nano, 0, false},
		{"most", 106_751, 85_636_854_775_807, column.Nano, math.MaxInt64, true},
		{"above the most", 106_751, 85_636_854_775_808, column.Nano, 0, false},
		{"9999", 2_932_896, 86_399_000_000_000, column.Nano, 0, false},
		{"9999 in us", 2_932_896, 86_399_000_000_000, column.Micro, 253_402_300_799_000_000, true},
		{"within a microsecond", 0, 1_999, column.Micro, 1, true},
		{"within a microsecond before 1970", -1, nanosPerDay - 1, column.Micro, -1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, got := int96Bytes(c.day, c.nanos), int64(0)
			misfit := int96In(unitNanos(c.unit))(unsafe.Pointer(&got), 1, unsafe.Pointer(&b), 1, nil)
			if misfit == c.ok || c.ok && got != c.want {
				t.Errorf("got %d, misfit %v", got, misfit)
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		day, nanos := r.Int64N(1<<20)-1<<19, r.Int64()>>r.IntN(63)
		if r.IntN(4) == 0 {
			day = int64(int32(r.Uint32()) / 2)
		}
		for _, unit := range []int64{1, 1e3, 1e6} {
			b, got := int96Bytes(day, nanos), int64(0)
			misfit := int96In(unit)(unsafe.Pointer(&got), 1, unsafe.Pointer(&b), 1, nil)
			want := new(big.Int).Mul(big.NewInt(day), big.NewInt(nanosPerDay))
			want.Div(want.Add(want, big.NewInt(nanos)), big.NewInt(unit)) // Euclid's, as unit is positive
			if misfit == want.IsInt64() || !misfit && got != want.Int64() {
				t.Fatalf("day %d, %d ns in units of %d: got %d, misfit %v, want %v", day, nanos, unit, got, misfit, want)
			}
		}
	}
}

// TestTimestampUnits casts dates and timestamps to other units.
func TestTimestampUnits(t *testing.T) {
	stamp := func(u column.Unit) *column.Field {
		return &column.Field{Name: "t", Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8, Unit: u, UTC: true}
	}
	date := &column.Field{Name: "t", Kind: column.Fixed, Type: column.TypeDate, Width: 4}
	for _, c := range []struct {
		from *column.Field
		v    int64
		to   column.Unit
		want int64
		text string
	}{
		{stamp(column.Micro), 5, column.Nano, 5000, ""},
		{stamp(column.Nano), -1, column.Micro, -1, ""},
		{stamp(column.Nano), -1000, column.Micro, -1, ""},
		{stamp(column.Milli), math.MaxInt64, column.Milli, math.MaxInt64, ""},
		{date, -1, column.Milli, -86_400_000, ""},
		{date, 2_932_896, column.Micro, 253_402_214_400_000_000, ""},
		{date, 2_932_896, column.Nano, 0, "9999-12-31 does not fit a timestamp in ns, which holds the years 1677 to 2262"},
		{stamp(column.Micro), 253_402_300_799_000_000, column.Nano, 0, "9999-12-31T23:59:59 does not fit a timestamp in ns, which holds the years 1677 to 2262"},
	} {
		m, err := NewCaster(c.from, Cast{To: column.TypeTimestamp, Unit: c.to})
		if err != nil {
			t.Fatal(err)
		}
		if f := m.To(); f.Unit != c.to || f.UTC != c.from.UTC || f.Width != 8 {
			t.Errorf("%v becomes %v", c.from, f)
		}
		got, text := int64(0), ""
		if m.run(unsafe.Pointer(&got), 1, unsafe.Pointer(&c.v), 1, nil) {
			text = m.misfit(unsafe.Pointer(&c.v)).Error()
		}
		if text != c.text || text == "" && got != c.want {
			t.Errorf("%d of %v in %v: got %d, %q", c.v, c.from, c.to, got, text)
		}
	}
	if _, err := NewCaster(&column.Field{Kind: column.Fixed, Type: column.TypeInt64, Width: 8}, Cast{To: column.TypeTimestamp}); err == nil {
		t.Error("an integer becomes a timestamp")
	}
}
