package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/shardfeed/shardfeed/internal/printable"
)

// A report is text for people, in sections of facts and tables. It is written as a whole, so that
// an error on the way leaves no half of it.
type report struct{ b bytes.Buffer }

func (r *report) section(title string) {
	if r.b.Len() > 0 {
		r.b.WriteByte('\n')
	}
	fmt.Fprintf(&r.b, "%s\n", printable.Text(title))
}

const factWidth = 20 // columns of a fact's name

// fact is one line: a name and what is so.
func (r *report) fact(name, format string, args ...any) {
	value := printable.Text(fmt.Sprintf(format, args...))
	fmt.Fprintf(&r.b, "  %s %s\n", pad(name, factWidth), value)
}

// note is a sentence of its own, broken into lines.
func (r *report) note(format string, args ...any) {
	const width = 96
	line := " "
	for _, word := range strings.Fields(printable.Text(fmt.Sprintf(format, args...))) {
		if uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width {
			fmt.Fprintln(&r.b, line)
			line = " "
		}
		line += " " + word
	}
	fmt.Fprintln(&r.b, line)
}

// line is text on a line of its own.
func (r *report) line(text string) { fmt.Fprintln(&r.b, printable.Text(text)) }

func (r *report) writeTo(w io.Writer) error {
	_, err := w.Write(r.b.Bytes())
	return err
}

// print prints what a verb found: the object with --json, else the report.
func (a *app) print(f *flags, object any, r *report) error {
	if f.json {
		return writeJSON(a.stdout, object)
	}
	return r.writeTo(a.stdout)
}

// writeJSON prints v as one object on one line.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(shown(w)) // which writes nothing before it has encoded all
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-uniseg.StringWidth(s)))
}

func count(n int64) string {
	s := fmt.Sprintf("%d", n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural is "1 shard", "2 shards", "2 batches" or "2 copies".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "tch") {
		noun += "e"
	}
	if stem, ok := strings.CutSuffix(noun, "py"); ok {
		noun = stem + "pie"
	}
	return count(n) + " " + noun + "s"
}

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

// seconds prints a number of seconds as took does.
func seconds(s float64) string { return took(time.Duration(s * float64(time.Second))) }

// bar draws value as a part of full, width characters wide.
func bar(value, full float64, width int) string {
	filled := 0
	if full > 0 {
		filled = int(value/full*float64(width) + 0.5)
	}
	filled = min(max(filled, 0), width)
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}
