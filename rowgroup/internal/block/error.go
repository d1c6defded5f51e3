package block

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
)

// An Error names the shard, row group, column and page that could not be read, and what the user
// can do about it.
type Error struct {
	Op       string // "footer", "fetch", "decode", "schema"
	URI      string // the shard, as the user wrote it
	RowGroup int    // -1 when the error is not in a row group
	Column   string // dotted path, or ""
	Page     int64  // byte offset of the page in the shard, or -1
	Err      error
	Hint     string // what to try, or ""; options are in it as {Field}
}

func (e *Error) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options of the store as name spells them.
func (e *Error) Spelled(name func(field string) string) string {
	var where []string
	if e.RowGroup >= 0 {
		where = append(where, fmt.Sprintf("row group %d", e.RowGroup))
	}
	if e.Column != "" {
		where = append(where, fmt.Sprintf("column %q", e.Column))
	}
	if e.Page >= 0 {
		where = append(where, fmt.Sprintf("page at byte %d", e.Page))
	}
	text := e.URI + ": "
	if len(where) > 0 {
		text += strings.Join(where, ", ") + ": "
	}
	text += strings.TrimPrefix(option.Spelled(e.Err, name), e.URI+": ") // a store's errors name the shard too
	if e.Hint != "" {
		text += " (" + option.Spell(e.Hint, name) + ")"
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }
