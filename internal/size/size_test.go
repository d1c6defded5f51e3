package size

import (
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestParse(t *testing.T) {
	cases := []struct {
		text string
		want int64 // -1: refused
	}{
		{"0", 0},
		{"1048576", 1 << 20},
		{"512MiB", 512 << 20},
		{"512 MiB", 512 << 20},
		{"512mib", 512 << 20},
		{"1GB", 1e9},
		{"1G", 1 << 30},
		{"1.5GiB", 3 << 29},
		{"0.5kB", 500},
		{"10b", 10},
		{"9007199254740993", 1<<53 + 1},
		{"8388607TiB", 8388607 << 40},
		{"8388608TiB", -1},
		{"9223372036854775808", -1},
		{"1e30GiB", -1},
		{"", -1},
		{"MiB", -1},
		{"-1", -1},
		{"-1MiB", -1},
		{"1.5", -1},
		{"1..5MiB", -1},
		{"1PB", -1},
		{"one", -1},
	}
	for _, c := range cases {
		got, err := Parse(c.text)
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("%q: got %d (%v), want %d", c.text, got, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1.5GiB")
	f.Add("1e5 MB")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := Parse(s); err == nil && n < 0 {
			t.Errorf("%q is %d bytes", s, n)
		}
	})
}

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "1.5d": 36 * time.Hour, "36h": 36 * time.Hour, "90m": 90 * time.Minute, "1e99d": maxDays * 24 * time.Hour} {
		if got, err := Age(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1d", "NaNd", "7", "0s", "-1h", "week"} {
		if got, err := Age(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
