package term

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

const TableGap = 2 // columns between two columns of a table

// WriteAligned writes lines of cells as a table. Columns of right, if there are any, are aligned to
// the right.
func WriteAligned(b *bytes.Buffer, lines [][]string, right []bool) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for c, cell := range line {
			widths[c] = max(widths[c], uniseg.StringWidth(cell))
		}
	}
	for _, line := range lines {
		var text strings.Builder
		for c, cell := range line {
			gap := strings.Repeat(" ", widths[c]-uniseg.StringWidth(cell))
			if right != nil && right[c] {
				text.WriteString(gap + cell)
			} else {
				text.WriteString(cell + gap)
			}
			text.WriteString(strings.Repeat(" ", TableGap))
		}
		fmt.Fprintln(b, strings.TrimRight(text.String(), " "))
	}
}
