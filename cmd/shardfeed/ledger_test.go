package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestLedger(t *testing.T) {
	cases := []struct {
		name string
		n    int64
		rows []int64
		want string // "" when all is right
	}{
		{"each once", 3, []int64{2, 0, 1}, ""},
		{"over a word", 65, sequence(65), ""},
		{"no rows", 0, nil, ""},
		{"one missing", 3, []int64{0, 2}, "of 3 rows, 1 did not come, 0 came more than once, 0 are not in the data"},
		{"one twice", 2, []int64{0, 1, 1}, "of 2 rows, 0 did not come, 1 came more than once, 0 are not in the data"},
		{"unknown", 1, []int64{0, 1, -1}, "of 1 rows, 0 did not come, 0 came more than once, 2 are not in the data"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger(c.n)
			for _, r := range c.rows {
				l.add(r)
			}
			err := l.verify()
			if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestProductNumber(t *testing.T) {
	for id, want := range map[string]int64{
		"N00000000000":                0,
		"N00000002025":                2025,
		"N99999999999":                99999999999,
		"N-0000000001":                -1,
		"X00000000001":                -1,
		"N0000000001":                 -1,
		"":                            -1,
		"N" + strings.Repeat("0", 12): -1,
		"N0000000000x":                -1,
	} {
		t.Run(fmt.Sprintf("%q", id), func(t *testing.T) {
			if got := productNumber([]byte(id)); got != want {
				t.Errorf("%q is %d, want %d", id, got, want)
			}
		})
	}
}

func sequence(n int64) []int64 {
	var rows []int64
	for i := range n {
		rows = append(rows, i)
	}
	return rows
}
