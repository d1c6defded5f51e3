package iceberg

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

const (
	a, b, c = dir + "/data/a.parquet", dir + "/data/b.parquet", dir + "/data/c.parquet"
	del     = dir + "/data/del.parquet"
	del2    = dir + "/data/del2.parquet"
	puffin  = dir + "/data/v.puffin"
)

// withData has a of partition en and sequence number 1, and b of de and 2, each with ten rows.
func withData(more ...commit) *fixture {
	f := newFixture()
	f.snapshot(append([]commit{
		{sequence: 1, files: []file{{path: a, lang: "en", rows: 10, size: 100}}},
		{sequence: 2, files: []file{{path: b, lang: "de", rows: 10, size: 200}}},
	}, more...)...)
	for _, path := range []string{a, b} {
		f.columns[path] = map[int32]*column.Array{1: count(0, 10)}
	}
	return f
}

// positionsIn are the columns of a position delete file of row 3 of a, and 4 of b.
func positionsIn() map[int32]*column.Array {
	return map[int32]*column.Array{2147483546: texts(a, b), 2147483545: ints(3, 4)}
}

// Position deletes apply to files of their partition, up to their own sequence number.
func TestPositionDeletes(t *testing.T) {
	for name, c := range map[string]struct {
		delete   file
		spec     int64
		sequence int64
		a, b     string
	}{
		"its own sequence number":  {file{lang: "en"}, 0, 1, "[3]", "[]"},
		"another partition":        {file{lang: "fr"}, 0, 9, "[]", "[]"},
		"of de":                    {file{lang: "de"}, 0, 2, "[]", "[4]"},
		"before the file":          {file{lang: "de"}, 0, 1, "[]", "[]"},
		"another spec":             {file{lang: "en"}, 1, 9, "[]", "[]"},
		"of one file":              {file{lang: "en", of: a}, 0, 9, "[3]", "[]"},
		"of another":               {file{lang: "en", of: b}, 0, 9, "[]", "[]"},
		"an old sequence number":   {file{lang: "en", sequence: 1}, 0, 9, "[3]", "[]"},
		"an older sequence number": {file{lang: "de", sequence: 1}, 0, 9, "[]", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.delete
			d.content, d.path, d.rows, d.size = contentPositions, del, 2, 50
			f := withData(commit{spec: c.spec, sequence: c.sequence, files: []file{d}})
			f.columns[del] = positionsIn()
			s, err := f.open(t, "")
			if err != nil {
				t.Fatal(err)
			}
			if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, b)); x != c.a || y != c.b {
				t.Errorf("rows %s of a and %s of b, want %s and %s", x, y, c.a, c.b)
			}
			want := 1
			if c.a == "[]" && c.b == "[]" {
				want = 0
			}
			if f.scans[del] != want || f.scans[a]+f.scans[b] != 0 {
				t.Errorf("scans %v, want the delete file once if it applies to a file", f.scans)
			}
		})
	}
}

// Equality deletes apply to older files: those of their partition, or all.
func TestEqualityDeletes(t *testing.T) {
	for name, c := range map[string]struct {
		delete   file
		spec     int64
		sequence int64
		a, b     string
	}{
		"its own sequence number": {file{lang: "en"}, 0, 1, "[]", "[]"},
		"a later one":             {file{lang: "en"}, 0, 2, "[3 4]", "[]"},
		"another partition":       {file{lang: "fr"}, 0, 9, "[]", "[]"},
		"no partition":            {file{}, 1, 9, "[3 4]", "[3 4]"},
		"no partition, old":       {file{}, 1, 2, "[3 4]", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.delete
			d.content, d.path, d.rows, d.size, d.ids = contentEquality, del, 3, 50, []int64{1}
			f := withData(commit{spec: c.spec, sequence: c.sequence, files: []file{d}})
			f.columns[del] = map[int32]*column.Array{1: ints(3, 4, 77)}
			s, err := f.open(t, "")
			if err != nil {
				t.Fatal(err)
			}
			if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, b)); x != c.a || y != c.b {
				t.Errorf("rows %s of a and %s of b, want %s and %s", x, y, c.a, c.b)
			}
			if (c.a == "[]") != (f.scans[a] == 0) || (c.b == "[]") != (f.scans[b] == 0) {
				t.Errorf("scans %v: files without equality deletes are not read", f.scans)
			}
		})
	}
}

// Keys have several columns, nulls, widths, constants of partitions and columns that a file lacks.
func TestEqualityKeys(t *testing.T) {
	int32s := &column.Array{Field: column.FieldOf[int32](""), Len: 3, Data: []byte{1, 0, 0, 0, 2, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}}
	for name, c := range map[string]struct {
		ids  []int64
		key  map[int32]*column.Array
		rows map[int32]*column.Array // of c
		want string
	}{
		"null":                     {[]int64{1}, map[int32]*column.Array{1: ints(-1)}, map[int32]*column.Array{1: ints(5, -1, 7)}, "[1]"},
		"wider":                    {[]int64{1}, map[int32]*column.Array{1: ints(-2, 2)}, map[int32]*column.Array{1: int32s}, "[1 2]"},
		"a column that it lacks":   {[]int64{1}, map[int32]*column.Array{1: ints(-1)}, map[int32]*column.Array{}, "[0 1 2]"},
		"one of two that it lacks": {[]int64{1, 3}, map[int32]*column.Array{1: ints(5, 7), 3: ints(-1, 1)}, map[int32]*column.Array{1: ints(5, 6, 7)}, "[0]"},
		"a dropped column":         {[]int64{3}, map[int32]*column.Array{3: ints(9)}, map[int32]*column.Array{3: ints(9, 8, 9)}, "[0 2]"},
		"the partition":            {[]int64{2, 1}, map[int32]*column.Array{1: ints(5, 6), 2: texts("en", "fr")}, map[int32]*column.Array{1: ints(5, 6, 5)}, "[0 2]"},
		"a long text": {
			[]int64{2},
			map[int32]*column.Array{2: texts(strings.Repeat("x", 100))},
			map[int32]*column.Array{2: texts(strings.Repeat("x", 99)+"y", strings.Repeat("x", 100), "x")},
			"[1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows := int64(0)
			for _, k := range c.key {
				rows = int64(k.Len)
			}
			f := newFixture()
			f.snapshot(
				commit{sequence: 1, files: []file{{path: a, lang: "en", rows: 3, size: 1}}},
				commit{sequence: 2, files: []file{{path: del, lang: "en", content: contentEquality, rows: rows, size: 1, ids: c.ids}}},
			)
			f.columns[a], f.columns[del] = c.rows, c.key
			s, err := f.open(t, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(deletedRows(s, a)); got != c.want {
				t.Errorf("rows %s, want %s", got, c.want)
			}
		})
	}
}

// A key that is deleted twice deletes rows of files between the two.
func TestEqualityAgain(t *testing.T) {
	f := withData(
		commit{sequence: 2, files: []file{{path: del, lang: "en", content: contentEquality, rows: 2, size: 1, ids: []int64{1}}}},
		commit{sequence: 3, files: []file{{path: c, lang: "en", rows: 10, size: 1}}},
		commit{sequence: 4, files: []file{{path: del2, lang: "en", content: contentEquality, rows: 1, size: 1, ids: []int64{1}}}},
	)
	f.columns[c] = map[int32]*column.Array{1: count(0, 10)}
	f.columns[del], f.columns[del2] = map[int32]*column.Array{1: ints(1, 2)}, map[int32]*column.Array{1: ints(2)}
	s, err := f.open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, c)); x != "[1 2]" || y != "[2]" {
		t.Errorf("rows %s of a and %s of c", x, y)
	}
}

// Vectors are read together, checked, and replace position deletes.
func TestVectors(t *testing.T) {
	first, second := vectorOf(1, 5), vectorOf(0)
	f := withData(
		commit{sequence: 3, files: []file{
			{path: puffin, format: "puffin", lang: "en", content: contentPositions, rows: 2, size: 500, of: a, blob: shard.Span{Off: 4, N: int64(len(first))}},
			{path: puffin, format: "puffin", lang: "de", content: contentPositions, rows: 1, size: 500, of: b, blob: shard.Span{Off: 200, N: int64(len(second))}},
			{path: puffin, format: "puffin", lang: "de", content: contentPositions, rows: 1, size: 500, of: c, blob: shard.Span{Off: 0, N: 1}}, // of no file
		}},
		commit{sequence: 2, files: []file{{path: del, lang: "en", content: contentPositions, rows: 2, size: 1}}},
	)
	f.columns[del] = positionsIn()
	content := make([]byte, 500)
	copy(content[4:], first)
	copy(content[200:], second)
	f.put(puffin, content)
	s, err := f.open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, b)); x != "[1 5]" || y != "[0]" {
		t.Errorf("rows %s of a and %s of b", x, y)
	}
}

func TestDeleteErrors(t *testing.T) {
	vector := func(rows int64, n int) file {
		return file{path: puffin, format: "puffin", lang: "en", content: contentPositions, rows: rows, size: 500, of: a, blob: shard.Span{Off: 4, N: int64(n)}}
	}
	n := len(vectorOf(1, 5))
	for name, test := range map[string]struct {
		file file
		want string
	}{
		"cardinality":     {vector(3, n), "it has 2 rows, and its manifest says 3"},
		"checksum":        {vector(2, n-1), "damaged deletion vector"},
		"end":             {vector(2, 1000), "end past the last of 500 bytes"},
		"position":        {file{path: del, lang: "en", content: contentPositions, rows: 1, size: 1}, "the delete file has 2 rows, and its manifest says 1"},
		"beyond":          {file{path: del2, lang: "en", content: contentPositions, rows: 1, size: 1}, "it deletes row 10 of " + a},
		"no position":     {file{path: c, lang: "en", content: contentPositions, rows: 1, size: 1}, "no column of field ID 2147483546"},
		"no keys":         {file{path: del, lang: "en", content: contentEquality, rows: 1, size: 1}, "has no columns"},
		"unknown key":     {file{path: del, lang: "en", content: contentEquality, rows: 1, size: 1, ids: []int64{99}}, "field ID 99, which no schema of the table has"},
		"many keys":       {file{path: del, lang: "en", content: contentEquality, rows: maxKeys + 1, size: 1, ids: []int64{1}}, "compact the table"},
		"unknown content": {file{path: del, lang: "en", content: 3, rows: 1, size: 1}, "content 3, which is not known"},
		"orc":             {file{path: del, lang: "en", content: contentEquality, format: "ORC", rows: 1, ids: []int64{1}}, `format "orc"`},
		"encrypted":       {file{path: del, lang: "en", content: contentEquality, rows: 1, ids: []int64{1}, key: true}, "encrypted"},
		"no path":         {file{lang: "en"}, "an entry has no path"},
		"twice":           {file{path: a, lang: "en", rows: 10}, "the snapshot has the file " + a + " twice"},
		"two vectors":     {file{}, "has two deletion vectors"},
		"no offset":       {file{path: puffin, format: "puffin", content: contentPositions, rows: 1, of: a}, "no data file, offset or size"},
	} {
		t.Run(name, func(t *testing.T) {
			files := []file{test.file}
			if name == "two vectors" {
				files = []file{vector(2, n), vector(2, n)}
			}
			f := withData(commit{sequence: 3, files: files})
			f.columns[del] = positionsIn()
			f.columns[del2] = map[int32]*column.Array{2147483546: texts(a), 2147483545: ints(10)}
			f.columns[c] = map[int32]*column.Array{2147483545: ints(1)}
			content := make([]byte, 500)
			copy(content[4:], vectorOf(1, 5))
			f.put(puffin, content)
			_, err := f.open(t, "")
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := (*shard.Error)(nil); err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, &e) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// Rows are counted by the kind of their deletes, and a row of two kinds as the first.
func TestDeletedBy(t *testing.T) {
	f := withData(commit{sequence: 9, files: []file{
		{lang: "en", content: contentPositions, path: del, rows: 2, size: 50},
		{lang: "en", content: contentEquality, path: del2, rows: 3, size: 50, ids: []int64{1}},
	}})
	f.columns[del] = positionsIn()
	f.columns[del2] = map[int32]*column.Array{1: ints(3, 4, 5)}
	s, err := f.open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Files[0].DeletedBy, [table.Deletions]int64{table.ByPosition: 1, table.ByEquality: 2}; got != want {
		t.Errorf("rows are deleted by kind %v, want %v", got, want)
	}
}
