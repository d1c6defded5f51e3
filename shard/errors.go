package shard

import (
	"errors"
	"strings"
)

// What went wrong, for errors.Is. A store's driver classifies; the layers above only ask.
var (
	ErrNotExist  = errors.New("does not exist")
	ErrChanged   = errors.New("changed since it was listed")
	ErrCorrupt   = errors.New("corrupt")
	ErrTransient = errors.New("passing fault")
	ErrDenied    = errors.New("access denied")
	ErrBadURI    = errors.New("bad address")
)

// An Error says what a store was doing, to which address, and what the user can do about it.
type Error struct {
	Op   string // "list", "open", "read"
	URI  string // as the user wrote it; printed without its secrets
	Err  error
	Hint string // what to try, or ""
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(Redact(e.URI))
	b.WriteString(": ")
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	if e.Hint != "" {
		b.WriteString(" (")
		b.WriteString(e.Hint)
		b.WriteString(")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
