package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/shardfeed/shardfeed/internal/printable"
)

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// shown keeps control characters of the data away from terminals: it returns w, or a writer that
// escapes them if w is a terminal.
func shown(w io.Writer) io.Writer {
	if isTerminal(w) {
		return printable.Writer(w)
	}
	return w
}

func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return usualColumns
}

const usualColumns = 80
