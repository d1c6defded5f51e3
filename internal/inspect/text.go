package inspect

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/table"
	"github.com/shardfeed/shardfeed/internal/text"
)

// maxListed bounds the shards and columns of the text; JSON has all.
const maxListed = 40

// String is the report as tables for people.
func (r *Report) String() string {
	var b strings.Builder
	t := &r.Total
	fmt.Fprintf(&b, "%s, %s, %s, %s\n", text.Plural(len(r.Shards), "shard"), text.Plural(t.RowGroups, "row group"), text.Plural(t.Rows, "row"), text.Plural(r.Schemas, "schema"))
	fmt.Fprintf(&b, "%s stored, %s uncompressed; page index: %s\n\n", formatBytes(t.Compressed), formatBytes(t.Uncompressed), t.PageIndex)
	r.writeColumns(&b)
	b.WriteByte('\n')
	r.writeShards(&b)
	r.writeKeyValues(&b)
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n   -> %s\n", w.Text, w.Do)
	}
	return b.String()
}

func (r *Report) writeColumns(b *strings.Builder) {
	lines := [][]string{{"column", "type", "stored", "uncompressed", "codecs", "encodings", "data page", "nulls", "min", "max"}}
	for _, c := range r.Total.Columns[:min(maxListed, len(r.Total.Columns))] {
		page := "-"
		if c.PageBytes > 0 {
			page = formatBytes(c.PageBytes)
		}
		nulls := "-"
		if c.Nulls != nil {
			nulls = strconv.FormatInt(*c.Nulls, 10)
		}
		lines = append(lines, []string{
			plainName(c.Path), c.typeText(), formatBytes(c.Compressed), formatBytes(c.Uncompressed),
			listNames(c.Codecs), listNames(c.Encodings), page, nulls, shownBound(c.Min), shownBound(c.Max),
		})
	}
	writeTable(b, lines, len(r.Total.Columns))
}

// writeTable writes a table of a head and the first of n things.
func writeTable(b *strings.Builder, lines [][]string, n int) {
	b.WriteString(table.Text(lines, nil))
	if more := n - len(lines) + 1; more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

// typeText is the type of a column's values, or of the tensors that they are items of.
func (c *Column) typeText() string {
	if c.Tensor == nil {
		return c.Type
	}
	return fmt.Sprintf("tensor<%s>%v", c.Type, &column.Tensor{Shape: c.Tensor})
}

func (r *Report) writeShards(b *strings.Builder) {
	lines := [][]string{{"shard", "rows", "row groups", "rows of each", "stored", "uncompressed", "page index", "sorted by", "written by"}}
	for _, s := range r.Shards[:min(maxListed, len(r.Shards))] {
		lines = append(lines, []string{
			plainName(s.URI), fmt.Sprint(s.Rows), fmt.Sprint(s.RowGroups), runs(s.RowGroupRows),
			formatBytes(s.Compressed), formatBytes(s.Uncompressed), string(s.PageIndex), plainName(sortNames(s.SortedBy)), plainName(s.CreatedBy),
		})
	}
	writeTable(b, lines, len(r.Shards))
}

// writeKeyValues lists the entries of key-value metadata, each with how many shards have it.
func (r *Report) writeKeyValues(b *strings.Builder) {
	var order []KeyValue
	shards := map[KeyValue]int{}
	for _, s := range r.Shards {
		for _, e := range s.KeyValues {
			if shards[e] == 0 {
				order = append(order, e)
			}
			shards[e]++
		}
	}
	if len(order) == 0 {
		return
	}
	b.WriteByte('\n')
	lines := [][]string{{"metadata", "in", "value"}}
	for _, e := range order[:min(maxListed, len(order))] {
		lines = append(lines, []string{plainName(e.Key), text.Plural(shards[e], "shard"), plainName(text.Shorten(e.Value, shownMetadata))})
	}
	writeTable(b, lines, len(order))
}

const (
	shownMetadata = 60 // characters of a value
	shownBounds   = 24
	shownRuns     = 4 // of row groups
)

// shownBound formats a bound for a table.
func shownBound(b json.RawMessage) string {
	if b == nil {
		return "-"
	}
	var bound string
	if json.Unmarshal(b, &bound) != nil {
		bound = string(b)
	}
	return plainName(text.Shorten(bound, shownBounds))
}

// runs are the rows of row groups: "3 x 100, 57".
func runs(rows []int64) string {
	var parts []string
	for i := 0; i < len(rows); {
		n := 1
		for i+n < len(rows) && rows[i+n] == rows[i] {
			n++
		}
		if len(parts) == shownRuns {
			parts = append(parts, "...")
			break
		}
		part := strconv.FormatInt(rows[i], 10)
		if n > 1 {
			part = fmt.Sprintf("%d x %s", n, part)
		}
		parts, i = append(parts, part), i+n
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// plainName formats a foreign name for a table: quoted if it would break a line or be invisible.
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

func sortNames(all []string) string {
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
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
