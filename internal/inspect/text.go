package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

// maxListed bounds the shards and columns of the text; JSON has all.
const maxListed = 40

// String is the report as tables for people.
func (r *Report) String() string {
	var b strings.Builder
	t := &r.Total
	fmt.Fprintf(&b, "%s, %s, %s, %s\n", count(len(r.Shards), "shard"), count(t.RowGroups, "row group"), count(int(t.Rows), "row"), count(r.Schemas, "schema"))
	fmt.Fprintf(&b, "%s stored, %s uncompressed; page index: %s\n\n", formatBytes(t.Compressed), formatBytes(t.Uncompressed), t.PageIndex)
	r.writeColumns(&b)
	b.WriteByte('\n')
	r.writeShards(&b)
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n   -> %s\n", w.Text, w.Do)
	}
	return b.String()
}

func (r *Report) writeColumns(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "column\ttype\tstored\tuncompressed\tcodecs\tencodings\tdata page")
	for i, c := range r.Total.Columns {
		if i == maxListed {
			fmt.Fprintf(w, "and %d more\n", len(r.Total.Columns)-i)
			break
		}
		page := "-"
		if c.PageBytes > 0 {
			page = formatBytes(c.PageBytes)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plainName(c.Path), c.Type, formatBytes(c.Compressed), formatBytes(c.Uncompressed),
			listNames(c.Codecs), listNames(c.Encodings), page)
	}
	_ = w.Flush() // a strings.Builder does not fail
}

func (r *Report) writeShards(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "shard\trows\trow groups\tlargest\tstored\tuncompressed\tpage index\twritten by")
	for i, s := range r.Shards {
		if i == maxListed {
			fmt.Fprintf(w, "and %d more\n", len(r.Shards)-i)
			break
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", plainName(s.URI), s.Rows, s.RowGroups, count(int(s.LargestRowGroup), "row"),
			formatBytes(s.Compressed), formatBytes(s.Uncompressed), s.PageIndex, plainName(s.CreatedBy))
	}
	_ = w.Flush()
}

// plainName is a name from outside as it may stand in a table: quoted where it would break a line
// or could not be seen.
func plainName(name string) string {
	if strings.TrimSpace(name) != name || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

func listNames(all []string) string {
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, " ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// formatBytes writes a size with two or three digits.
func formatBytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v /= 1024
		u++
	}
	if u == 0 || v >= 100 {
		return fmt.Sprintf("%.0f %s", v, units[u])
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}
