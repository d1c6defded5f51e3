package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
)

// What went wrong, for errors.Is. A store's driver classifies; the layers above only ask.
// ErrNotExist is also fs.ErrNotExist, and ErrDenied is fs.ErrPermission.
var (
	ErrNotExist  = error(&kind{"does not exist", fs.ErrNotExist})
	ErrChanged   = errors.New("changed since it was listed")
	ErrCorrupt   = errors.New("corrupt")
	ErrTransient = errors.New("passing fault")
	ErrDenied    = error(&kind{"access denied", fs.ErrPermission})
	ErrBadURI    = errors.New("bad address")
)

// A kind is an error that the standard library knows by another name.
type kind struct {
	text string
	is   error
}

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.is }

// An Error describes a failed operation of a store, its address, and a remedy.
type Error struct {
	Op   string // "list", "open", "read"
	URI  string // as the user wrote it; printed without its secrets
	Err  error
	Hint string // what to try, or ""; names options of the store as {Field}
}

func (e *Error) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options of the store as name spells them.
func (e *Error) Spelled(name func(field string) string) string {
	text := brief(Redact(e.URI), longestAddress) + ": "
	if e.Op != "" {
		text += e.Op + ": "
	}
	text += brief(option.Spelled(e.Err, name), longestText)
	if e.Hint != "" {
		text += " (" + option.Spell(e.Hint, name) + ")"
	}
	return text
}

// How much of an address and of an error's text a message prints, in bytes. No key of S3 and hardly
// a path is longer than an address.
const (
	longestAddress = 1200
	longestText    = 4 << 10
)

// brief shortens a text of more than longest bytes to its start and its end.
func brief(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	head, tail := text[:longest/3], text[len(text)-longest/6:]
	return fmt.Sprintf("%s...(%d bytes)...%s", strings.ToValidUTF8(head, ""), len(text), strings.ToValidUTF8(tail, ""))
}

func (e *Error) Unwrap() error { return e.Err }

// OfTable adds a remedy to the error of a file of a table that does not exist.
func OfTable(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && errors.Is(e.Err, ErrNotExist) && e.Hint == "" {
		e.Hint = "files of a table never change, so a cleanup (VACUUM, expire_snapshots) removed it: read a later snapshot, and keep files longer than runs take"
	}
	return err
}
