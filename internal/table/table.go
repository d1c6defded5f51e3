// Package table aligns cells of text in columns, by their width on a terminal.
package table

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Gap is the number of spaces between two columns.
const Gap = 2

// Text formats lines of cells as a table. Columns marked in right, if any, are aligned to the
// right.
func Text(lines [][]string, right []bool) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for c, cell := range line {
			widths[c] = max(widths[c], uniseg.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var text string
		for c, cell := range line {
			if padded := Pad(cell, widths[c]); right != nil && right[c] {
				text += padded[len(cell):] + cell
			} else {
				text += padded
			}
			text += strings.Repeat(" ", Gap)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String()
}

// Pad appends spaces to a text that has fewer than width columns.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-uniseg.StringWidth(s)))
}
