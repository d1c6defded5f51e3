package table

import (
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestText(t *testing.T) {
	lines := [][]string{{"name", "rows", "note"}, {"a", "12", ""}, {"東京", "7", "wide"}}
	for _, c := range []struct {
		right []bool
		want  string
	}{
		{nil, "name  rows  note\na     12\n東京  7     wide\n"},
		{[]bool{false, true, false}, "name  rows  note\na       12\n東京     7  wide\n"},
	} {
		if got := Text(lines, c.right); got != c.want {
			t.Errorf("%v: got\n%swant\n%s", c.right, got, c.want)
		}
	}
}
