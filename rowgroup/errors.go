package rowgroup

import (
	"fmt"
	"strings"
)

// An Error says which shard, row group, column and page could not be read, and what the user can do about it.
type Error struct {
	Op       string // "footer", "fetch", "decode", "schema"
	URI      string // the shard, as the user wrote it
	RowGroup int    // -1 when the error is not in a row group
	Column   string // dotted path, or ""
	Page     int64  // byte offset of the page in the shard, or -1
	Err      error
	Hint     string // what to try, or ""
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.URI)
	if e.RowGroup >= 0 {
		fmt.Fprintf(&b, ": row group %d", e.RowGroup)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ", column %q", e.Column)
	}
	if e.Page >= 0 {
		fmt.Fprintf(&b, ", page at byte %d", e.Page)
	}
	b.WriteString(": ")
	b.WriteString(strings.TrimPrefix(e.Err.Error(), e.URI+": ")) // a store's errors name the shard too
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
