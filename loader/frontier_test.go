package loader

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

func TestFrontier(t *testing.T) {
	for _, c := range []struct {
		order []int64
		want  string // position after each batch; - when it did not move
	}{
		{[]int64{0, 1, 2}, "1 2 3"},
		{[]int64{1, 0, 2}, "- 2 3"},
		{[]int64{2, 1, 0}, "- - 3"},
		{[]int64{0, 3, 2, 1, 4}, "1 - - 4 5"},
		{[]int64{1, 3, 0, 2}, "- - 2 4"},
	} {
		var f frontier
		got := ""
		for i, seq := range c.order {
			if i > 0 {
				got += " "
			}
			if s := f.take(seq, shuffle.State{Position: seq + 1}); s != nil {
				got += fmt.Sprint(s.Position)
			} else {
				got += "-"
			}
		}
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.order, got, c.want)
		}
		if len(f.ahead) != 0 {
			t.Errorf("%v: %d states are left", c.order, len(f.ahead))
		}
	}
}
