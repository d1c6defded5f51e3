package jsonl

import (
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestDates(t *testing.T) {
	cases := []struct {
		day  int32
		want string
	}{
		{0, "1970-01-01"},
		{-1, "1969-12-31"},
		{11016, "2000-02-29"},
		{19782, "2024-02-29"},
		{47540, "2100-02-28"},
		{47541, "2100-03-01"},
		{-719528, "0000-01-01"},
		{-719529, "-0001-12-31"},
		{-719468 - 366, "-0001-03-01"},
		{2932896, "9999-12-31"},
		{2932897, "10000-01-01"},
		{math.MinInt32, "-5877641-06-23"},
		{math.MaxInt32, "5881580-07-11"},
	}
	for _, c := range cases {
		if got := value(fixed(&column.Field{Type: column.TypeDate}, u32(uint32(c.day)))); got != `"`+c.want+`"` {
			t.Errorf("%d: got %s, want %q", c.day, got, c.want)
		}
	}
}

func TestTimestamps(t *testing.T) {
	cases := []struct {
		name  string
		value int64
		unit  column.Unit
		utc   bool
		want  string
	}{
		{"epoch, ms", 0, column.Milli, true, "1970-01-01T00:00:00.000Z"},
		{"epoch, us", 0, column.Micro, false, "1970-01-01T00:00:00.000000"},
		{"epoch, ns", 0, column.Nano, true, "1970-01-01T00:00:00.000000000Z"},
		{"before the epoch", -1, column.Micro, true, "1969-12-31T23:59:59.999999Z"},
		{"fraction kept", 1_700_000_000_120, column.Milli, false, "2023-11-14T22:13:20.120"},
		{"least ns", math.MinInt64, column.Nano, false, "1677-09-21T00:12:43.145224192"},
		{"largest ns", math.MaxInt64, column.Nano, false, "2262-04-11T23:47:16.854775807"},
		{"last moment of year -2", -62_198_755_200_001, column.Milli, false, "-0002-12-31T23:59:59.999"},
		{"year 10000", 253_402_300_800_000, column.Milli, true, "10000-01-01T00:00:00.000Z"},
		{"least ms", math.MinInt64, column.Milli, false, "-292275055-05-16T16:47:04.192"},
		{"largest ms", math.MaxInt64, column.Milli, false, "292278994-08-17T07:12:55.807"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := &column.Field{Type: column.TypeTimestamp, Unit: c.unit, UTC: c.utc}
			if got := value(fixed(f, u64(uint64(c.value)))); got != `"`+c.want+`"` {
				t.Errorf("got %s, want %q", got, c.want)
			}
		})
	}
}

func TestInt96(t *testing.T) {
	cases := []struct {
		name       string
		nanos, day int64
		want       string
	}{
		{"epoch", 0, unixJulianDay, "1970-01-01T00:00:00.000000000"},
		{"last nanosecond", secondsPerDay*nanosPerSecond - 1, unixJulianDay, "1970-01-01T23:59:59.999999999"},
		{"beyond int64 nanoseconds", 1, 5373484, "9999-12-31T00:00:00.000000001"},
		{"year 10000", 0, 5373485, "10000-01-01T00:00:00.000000000"},
		{"day 0", 0, 0, "-4713-11-24T00:00:00.000000000"},
		{"nanoseconds of another day", -1, unixJulianDay, "1969-12-31T23:59:59.999999999"},
		{"more than a day", secondsPerDay * nanosPerSecond, unixJulianDay, "1970-01-02T00:00:00.000000000"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bytes := append(u64(uint64(c.nanos)), u32(uint32(c.day))...)
			if got := value(fixed(&column.Field{Type: column.TypeInt96}, bytes)); got != `"`+c.want+`"` {
				t.Errorf("got %s, want %q", got, c.want)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	cases := []struct {
		value int64
		unit  column.Unit
		want  string
	}{
		{0, column.Milli, "00:00:00.000"},
		{86_399_999, column.Milli, "23:59:59.999"},
		{1, column.Micro, "00:00:00.000001"},
		{3_723_000_000_004, column.Nano, "01:02:03.000000004"},
		{86_400_000, column.Milli, "24:00:00.000"},
		{-1, column.Milli, "-00:00:00.001"},
		{math.MinInt64, column.Nano, "-2562047:47:16.854775808"},
	}
	for _, c := range cases {
		got := value(fixed(&column.Field{Type: column.TypeTime, Unit: c.unit, UTC: true}, u64(uint64(c.value))))
		if got != `"`+c.want+`"` {
			t.Errorf("%d: got %s, want %q", c.value, got, c.want)
		}
	}
}
