package tokens

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/printable"
)

// backgrounds are colours of neighbours.
var backgrounds = [...]string{"\x1b[48;5;153m", "\x1b[48;5;194m", "\x1b[48;5;223m", "\x1b[48;5;218m"}

const (
	black = "\x1b[38;5;16m"
	reset = "\x1b[0m"
)

// Text returns the pieces in one line. Control characters are escaped.
func (v View) Text(colours bool) string {
	var b strings.Builder
	for i, p := range v.pieces {
		p = printable.Text(p)
		switch {
		case colours:
			b.WriteString(backgrounds[i%len(backgrounds)] + black + p + reset)
		case i > 0:
			b.WriteString("|" + p)
		default:
			b.WriteString(p)
		}
	}
	if v.more > 0 {
		fmt.Fprintf(&b, " … %d more", v.more)
	}
	return b.String()
}
