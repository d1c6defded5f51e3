package rowgroup

import (
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("short")
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{URI: "a", RowGroup: -1, Page: -1, Err: cause}, "a: short"},
		{Error{URI: "a", RowGroup: 0, Page: -1, Err: cause}, "a: row group 0: short"},
		{Error{URI: "a", RowGroup: -1, Column: "x.y", Page: -1, Err: cause}, `a: column "x.y": short`},
		{Error{URI: "a", RowGroup: 2, Column: "x", Page: 40, Err: cause, Hint: "try again"}, `a: row group 2, column "x", page at byte 40: short (try again)`},
		{Error{URI: "a", RowGroup: 1, Page: -1, Err: &shard.Error{Op: "read", URI: "a", Err: cause}}, "a: row group 1: read: short"},
		{Error{URI: "a", RowGroup: -1, Page: -1, Err: &shard.Error{Op: "read", URI: "b", Err: cause}}, "a: b: read: short"},
	} {
		if got := c.err.Error(); got != c.want || !errors.Is(&c.err, cause) {
			t.Errorf("error is %q, want %q", got, c.want)
		}
	}
}
