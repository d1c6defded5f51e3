package term

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/shardfeed/shardfeed/internal/printable"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Shown keeps control characters of the data away from terminals: it returns w, or a writer that
// escapes them if w is a terminal.
func Shown(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return printable.Writer(w)
	}
	return w
}

// Columns returns the width of a terminal, and 80 for anything else.
func Columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return usualColumns
}

const usualColumns = 80
