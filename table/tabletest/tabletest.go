// Package tabletest compares a snapshot with the rows that a table's writer reads, value by value.
package tabletest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/jsonl"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// Written is the rows of a snapshot by the table's writer.
type Written struct {
	Columns []string            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
}

// Lines returns the rows as JSON lines, sorted.
func (w Written) Lines(t *testing.T) []string {
	all := make([]string, len(w.Rows))
	for i, row := range w.Rows {
		var b bytes.Buffer
		for c, name := range w.Columns {
			key, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(map[bool]string{true: "{", false: ","}[c == 0])
			b.Write(key)
			b.WriteByte(':')
			b.Write(row[c])
		}
		b.WriteByte('}')
		all[i] = canonical(t, b.Bytes())
	}
	slices.Sort(all)
	return all
}

// Parse returns JSON lines as Lines has them.
func Parse(t *testing.T, text string) (all []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		all = append(all, canonical(t, []byte(line)))
	}
	slices.Sort(all)
	return all
}

// canonical spells JSON in one way.
func canonical(t *testing.T, b []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	text, err := json.Marshal(plain(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// plain replaces numbers with a point or an exponent by float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			return f
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// Columns returns the names of a snapshot's columns, with row IDs only if they are asked for.
func Columns(s *table.Snapshot, asked []string) (all []string) {
	for _, f := range s.Fields {
		if !f.RowIDs || slices.Contains(asked, f.Column.Name) {
			all = append(all, f.Column.Name)
		}
	}
	return all
}

// Lines reads columns of the live rows of a snapshot as JSON lines, sorted; nil are all columns.
func Lines(t *testing.T, store shard.Store, s *table.Snapshot, columns []string) (all []string) {
	t.Helper()
	part := rowgroup.Part{Table: &rowgroup.Table{Fields: s.Fields, FirstRows: s.FirstRows()}}
	for i := range s.Files {
		part.Shards = append(part.Shards, s.Files[i].Shard)
		part.Table.Constants = append(part.Table.Constants, s.Files[i].Constants)
	}
	if len(s.Files) == 0 {
		return nil
	}
	readers, err := rowgroup.OpenParts(t.Context(), store, []rowgroup.Part{part}, rowgroup.Options{Parallel: 2, Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer readers[0].Close()
	r := reader{Reader: readers[0], decoder: readers[0].NewDecoder()}
	defer r.decoder.Close()
	writer := jsonl.NewWriter(r.Schema())
	live := make([]int64, len(s.Files))
	first := make([]int64, len(s.Files)) // row of the next row group
	for g, group := range r.Groups() {
		f := &s.Files[group.Shard]
		columns, free := r.read(t, g)
		for i := range int(group.Rows) {
			if !f.Deleted.Has(first[group.Shard] + int64(i)) {
				all = append(all, canonical(t, writer.AppendRow(nil, columns, i)))
				live[group.Shard]++
			}
		}
		first[group.Shard] += group.Rows
		free()
	}
	for i := range s.Files {
		if f := &s.Files[i]; f.Rows >= 0 && f.Rows-f.Deleted.Len() != live[i] {
			t.Errorf("%s: %d rows, %d deleted, %d are live", f.Shard.URI, f.Rows, f.Deleted.Len(), live[i])
		}
		if by := s.Files[i].DeletedBy; by[0]+by[1]+by[2] != s.Files[i].Deleted.Len() {
			t.Errorf("%s: rows %v are deleted by kind, %d in all", s.Files[i].Shard.URI, by, s.Files[i].Deleted.Len())
		}
	}
	slices.Sort(all)
	return all
}

type reader struct {
	*rowgroup.Reader
	decoder *rowgroup.Decoder
}

// read decodes a row group.
func (r *reader) read(t *testing.T, g int) (columns []*column.Array, free func()) {
	t.Helper()
	group := r.Groups()[g]
	raw, err := r.Fetch(t.Context(), rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows})
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Release()
	blocks, err := r.decoder.Decode(raw, rowgroup.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	defer blocks[0].Release()
	picks := make([]rowgroup.Pick, group.Rows)
	for i := range picks {
		picks[i] = rowgroup.MakePick(0, i)
	}
	var gatherer rowgroup.Gatherer
	var pool mem.Pool
	arena := pool.NewArena()
	for c, f := range r.Schema().Fields {
		a, err := gatherer.Gather(c, rowgroup.Timestamps(f), blocks, picks, func(n int) ([]byte, error) { return arena.Alloc(n), nil })
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, a)
	}
	return columns, func() { arena.Free(); pool.Trim(0) }
}

// Compare reports the first differences of two lists of rows.
func Compare(t *testing.T, name string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
	shown := 0
	for i := 0; i < max(len(got), len(want)) && shown < 3; i++ {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%s\n got %s\nwant %s", name, at(got, i), at(want, i))
			shown++
		}
	}
}

func at(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "nothing"
}
