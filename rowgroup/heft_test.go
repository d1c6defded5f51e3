package rowgroup

import (
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// The rows at the end of a table that is sorted by length weigh as their pages do, whole and in
// parts.
func TestHeft(t *testing.T) {
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text"`
	}
	var rows []row
	for i := range 1000 {
		n := 100
		if i >= 900 {
			n = 10_000
		}
		rows = append(rows, row{int64(i), strings.Repeat("x", n)})
	}
	m := openBytes(t, Options{}, map[string][]byte{"a.parquet": writeRows(t, [][]row{rows}, parquet.PageBufferSize(2000))})
	for _, c := range []struct{ lo, hi, least, most int64 }{
		{0, 1000, 990, 1010}, {0, 500, 40, 60}, {900, 1000, 800, 950}, {950, 1000, 420, 480}, {0, 0, 0, 0},
	} {
		if got := m.Heft(0, c.lo, c.hi); got < c.least || got > c.most {
			t.Errorf("rows %d to %d weigh %d, want %d to %d", c.lo, c.hi, got, c.least, c.most)
		}
	}
	short := openBytes(t, Options{Columns: []string{"id"}}, map[string][]byte{"a.parquet": writeRows(t, [][]row{rows}, parquet.PageBufferSize(2000))})
	if got := short.Heft(0, 900, 1000); got < 90 || got > 110 {
		t.Errorf("%d of a column of one width", got)
	}
}
