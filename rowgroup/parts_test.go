package rowgroup

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/shard"
)

// partsOf makes a part of the shards below each of these names, in order.
func partsOf(shards []shard.Shard, names ...string) []Part {
	parts := make([]Part, len(names))
	for i, name := range names {
		for _, s := range shards {
			if strings.Contains(s.URI, "/"+name+"/") {
				s.Partitions = nil
				if _, value, ok := strings.Cut(s.URI, "dt="); ok {
					value, _, _ = strings.Cut(value, "/")
					s.Partitions = []shard.Partition{{Key: "dt", Value: value}}
				}
				parts[i].Shards = append(parts[i].Shards, s)
			}
		}
	}
	return parts
}

func columnsText(m *Reader) string {
	var names []string
	for _, f := range m.Schema().Fields {
		null := ""
		if f.Nullable {
			null = "?"
		}
		names = append(names, fmt.Sprintf("%s %v%s", f.Name, f, null))
	}
	return strings.Join(names, ", ")
}

// Parts get one schema, with the columns and partitions of all; each has its own rule columns, and
// rows are numbered over all.
func TestOpenParts(t *testing.T) {
	file := func(schema string, rows ...int) []byte { return filetest.File{Schema: schema, Rows: rows}.Bytes(t) }
	store, shards := putFiles(t, map[string][]byte{
		"a/p.parquet":               file(`required int32 x; required int32 text;`, 4, 3),
		"b/q.parquet":               file(`required int64 x; required int32 body; required double score;`, 5),
		"c/dt=2026-01-01/r.parquet": file(`required int32 x; required int32 text;`, 2),
	})
	parts := partsOf(shards, "a", "b", "c")
	parts[1].Rename = map[string]string{"body": "text"}
	parts[1].RuleColumns = []RuleColumn{{Path: "score"}, {Path: "text"}}
	parts[2].RuleColumns = []RuleColumn{{Path: "dt"}, {Path: "score"}}

	all, err := OpenParts(context.Background(), store, parts, Options{MissingIsNull: true})
	if err != nil {
		t.Fatal(err)
	}
	defer all[0].Close()
	const want = "x int64, text int32, score double?, dt date?"
	firsts := []int64{0, 7, 12}
	for i, m := range all {
		if got := columnsText(m); got != want {
			t.Errorf("part %d has the columns %s, want %s", i, got, want)
		}
		if m.Groups()[0].First != firsts[i] || len(m.Shards()) != 1 {
			t.Errorf("part %d begins at row %d, with %d shards", i, m.Groups()[0].First, len(m.Shards()))
		}
	}
	if g, row, err := all[1].Locate(11); err != nil || g != 0 || row != 4 {
		t.Errorf("row 11 is row %d of group %d, error %v", row, g, err)
	}
	if _, _, err := all[1].Locate(12); err == nil {
		t.Error("row 12 is of the second part")
	}
	for i, want := range []string{"", "x text score", "x text dt"} {
		var names []string
		if s := all[i].RuleSchema(); s != nil {
			for _, f := range s.Fields {
				names = append(names, f.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("rules of part %d see %q, want %q", i, got, want)
		}
	}
	if b := all[1].rules; !b[0].found || !b[1].found {
		t.Error("the second part does not find its rule columns")
	}
	if b := all[2].rules; !b[0].found || b[0].partition == nil || b[1].found {
		t.Error("the third part finds a column that it does not have, or not its partition")
	}
}

// A rule may read a column that other parts lack, where that is not delivered.
func TestRuleColumnsOfOnePart(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{
		"a/p.parquet": filetest.File{Schema: `required int32 x;`, Rows: []int{4}}.Bytes(t),
		"b/q.parquet": filetest.File{Schema: `required int32 x; required double score;`, Rows: []int{5}}.Bytes(t),
	})
	parts := partsOf(shards, "a", "b")
	parts[1].RuleColumns = []RuleColumn{{Path: "score"}}
	all, err := OpenParts(context.Background(), store, parts, Options{Columns: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	defer all[0].Close()
	if !all[1].rules[0].found || columnsText(all[0]) != "x int32" {
		t.Errorf("columns %s, the rule column is found: %t", columnsText(all[0]), all[1].rules[0].found)
	}
}

func TestOpenPartsRefuses(t *testing.T) {
	file := func(schema string) []byte { return filetest.File{Schema: schema, Rows: []int{4}}.Bytes(t) }
	store, shards := putFiles(t, map[string][]byte{
		"a/p.parquet":               file(`required int32 x;`),
		"b/q.parquet":               file(`required int32 x; required binary dt;`),
		"c/dt=2026-01-01/r.parquet": file(`required int32 x;`),
		"d/s.parquet":               file(`required double y;`),
		"e/t.parquet":               file(`required binary x (UTF8);`),
	})
	for _, c := range []struct {
		name   string
		parts  string
		rename map[string]string
		null   bool
		want   string
	}{
		{"a column that one lacks", "a d", nil, false, `d/s.parquet: column "x"`},
		{"unlike types", "a e", nil, true, `column "x"`},
		{"a partition that one lacks", "a c", nil, false, `a/p.parquet: column "dt"`},
		{"a partition that is a column elsewhere", "b c", nil, true, "rename one of the two"},
		{"renaming what is not there", "a", map[string]string{"z": "y"}, false, `to be renamed to "y"`},
		{"renaming to a name that is there", "b", map[string]string{"dt": "x"}, false, "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := partsOf(shards, strings.Fields(c.parts)...)
			parts[0].Rename = c.rename
			_, err := OpenParts(context.Background(), store, parts, Options{MissingIsNull: c.null})
			if err == nil {
				t.Fatal("no error")
			}
			text := err.Error()
			if e, ok := err.(*Error); ok {
				text += " " + e.Hint
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("error %s lacks %s", text, c.want)
			}
		})
	}
}
