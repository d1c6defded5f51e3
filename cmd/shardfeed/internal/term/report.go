package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/table"
)

// A Report is text for people, in sections of facts and tables. It is written as a whole, so that
// an error on the way leaves no half of it.
type Report struct{ B bytes.Buffer }

// Section starts a section.
func (r *Report) Section(title string) {
	if r.B.Len() > 0 {
		r.B.WriteByte('\n')
	}
	fmt.Fprintf(&r.B, "%s\n", printable.Text(title))
}

const factWidth = 20 // columns of a fact's name

// Fact adds a line with a name and its value.
func (r *Report) Fact(name, format string, args ...any) {
	value := printable.Text(fmt.Sprintf(format, args...))
	fmt.Fprintf(&r.B, "  %s %s\n", table.Pad(name, factWidth), value)
}

// Note adds a sentence, broken into lines.
func (r *Report) Note(format string, args ...any) {
	const width = 96
	line := " "
	for _, word := range strings.Fields(printable.Text(fmt.Sprintf(format, args...))) {
		if uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width {
			fmt.Fprintln(&r.B, line)
			line = " "
		}
		line += " " + word
	}
	fmt.Fprintln(&r.B, line)
}

// Line adds a line of text.
func (r *Report) Line(text string) { fmt.Fprintln(&r.B, printable.Text(text)) }

// Table adds lines of cells as a table.
func (r *Report) Table(lines [][]string) { r.B.WriteString(table.Text(lines, nil)) }

// Print writes the whole report.
func (r *Report) Print(w io.Writer) error {
	_, err := w.Write(r.B.Bytes())
	return err
}

// WriteJSON prints v as one object on one line.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(Shown(w)) // which writes nothing before it has encoded all
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// took prints a duration with three digits.
func took(d time.Duration) string {
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.3g us", d.Seconds()*1e6)
}

// Seconds prints a number of seconds as took does.
func Seconds(s float64) string { return took(time.Duration(s * float64(time.Second))) }
