package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

// projectTexts unites and projects schemas; it dumps the columns as they are bound in each file.
func projectTexts(t *testing.T, schemas, paths []string, missingIsNull bool) (string, error) {
	t.Helper()
	var files []*File
	var owners []string
	var counts []int
	for i, text := range schemas {
		files = append(files, fileSchemaOf(t, text))
		owners = append(owners, fmt.Sprintf("file%d", i))
		counts = append(counts, 1)
	}
	columns, err := Project(Unite(files), paths, missingIsNull, owners, counts)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range columns {
		null := ""
		if c.Field.Nullable {
			null = "?"
		}
		fmt.Fprintf(&b, "%s: %v%s\n", c.Field.Name, c.Field, null)
	}
	for _, f := range files {
		nodes, err := Bind(columns, f.Columns)
		if err != nil {
			return "", err
		}
		b.WriteString("--\n" + dumpNodes(nodes))
	}
	return b.String(), nil
}

func TestUnion(t *testing.T) {
	for _, c := range []struct {
		name    string
		schemas []string
		want    string
	}{
		{"first shard's order, then new columns", []string{`required int32 b; required int32 a;`, `required int32 c; required int32 a; required int32 b;`}, `
b: int32
a: int32
c: int32?
--
b int32 0/0 leaf 0 0/0
a int32 0/0 leaf 1 0/0
c int32? missing
--
b int32 0/0 leaf 2 0/0
a int32 0/0 leaf 1 0/0
c int32? 0/0 leaf 0 0/0
`},
		{"widening", []string{
			`required int32 a; optional float f; required int32 u (UINT_8); required int32 w (UINT_32); required int32 d (DECIMAL(5,2)); required int32 s (INT_8);`,
			`optional int64 a; required double f; required int32 u (INT_16); required int32 w; required int64 d (DECIMAL(18,2)); required int32 s (INT_16);`,
		}, `
a: int64?
f: double?
u: int16
w: int64
d: decimal(18,2)
s: int16
--
a int64? 0/0 leaf 0 0/0 widen int
f double? 1/0 leaf 1 1/0 widen float
u int16 0/0 leaf 2 0/0 narrow
w int64 0/0 leaf 3 0/0 widen uint
d decimal(18,2) 0/0 leaf 4 0/0 decimal
s int16 0/0 leaf 5 0/0 narrow
--
a int64? 1/0 leaf 0 1/0
f double? 0/0 leaf 1 0/0
u int16 0/0 leaf 2 0/0 narrow
w int64 0/0 leaf 3 0/0 widen int
d decimal(18,2) 0/0 leaf 4 0/0
s int16 0/0 leaf 5 0/0 narrow
`},
		{"nested", []string{
			`optional group s { required int32 x; } optional group l (LIST) { repeated group list { optional int32 element; } }`,
			`optional group s { optional int64 y; required int64 x; } optional group l (LIST) { repeated int64 array; }`,
		}, `
s: struct<x: int64, y: int64>?
l: list<int64>?
--
s struct? 1/0
  x int64 1/0 leaf 0 1/0 widen int
  y int64? missing
l list? 1 2/1
  element int64? 3/1 leaf 1 3/1 widen int
--
s struct? 1/0
  x int64 1/0 leaf 1 1/0
  y int64? 2/0 leaf 0 2/0
l list? 1 2/1
  element int64? 2/1 leaf 2 2/1
`},
		{"unknown takes the other's type", []string{
			`optional int32 a (:UNKNOWN); optional group l (LIST) { repeated group list { optional int32 element (:UNKNOWN); } }`,
			`required binary a (UTF8); optional group l (LIST) { repeated group list { required group element { required float x; } } }`,
			`optional int32 a (:UNKNOWN); optional group l (LIST) { repeated group list { optional int32 element (:UNKNOWN); } }`,
		}, `
a: string?
l: list<struct<x: float>>?
--
a string? 1/0 leaf 0 1/0 null
l list? 1 2/1
  element struct? 3/1 leaf 1 3/1 null
--
a string? 0/0 leaf 0 0/0
l list? 1 2/1
  element struct? 2/1
    x float 2/1 leaf 1 2/1
--
a string? 1/0 leaf 0 1/0 null
l list? 1 2/1
  element struct? 3/1 leaf 1 3/1 null
`},
		{"names that repeat go by occurrence", []string{`required int32 a; required binary a;`, `required binary b; required int32 a; required binary a;`}, `
a: int32
a: binary
b: binary?
--
a int32 0/0 leaf 0 0/0
a binary 0/0 leaf 1 0/0
b binary? missing
--
a int32 0/0 leaf 1 0/0
a binary 0/0 leaf 2 0/0
b binary? 0/0 leaf 0 0/0
`},
		{"maps", []string{
			`optional group m (MAP) { repeated group key_value { required int32 key; optional int32 value; } }`,
			`optional group m (MAP) { repeated group map { required int64 k; required int32 v; } }`,
		}, `
m: map<int64, int32>?
--
m map? 1 2/1
  key_value struct 2/1
    key int64 2/1 leaf 0 2/1 widen int
    value int32? 3/1 leaf 1 3/1
--
m map? 1 2/1
  key_value struct 2/1
    key int64 2/1 leaf 0 2/1
    value int32? 2/1 leaf 1 2/1
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := projectTexts(t, c.schemas, nil, true)
			if err != nil {
				t.Fatal(err)
			}
			if "\n"+got != c.want {
				t.Errorf("got\n%swant%s", got, c.want)
			}
		})
	}
}

func TestUnionErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		schemas []string
		paths   []string
		want    string
	}{
		{
			"conflict",
			[]string{`required int32 a;`, `required int32 a;`, `required binary a (UTF8);`},
			nil,
			`file2: column "a": its type is string here and int32 in file0 (no type holds both without loss; leave the column out, or rewrite the shards with one type)`,
		},
		{
			"conflict in a list",
			[]string{`optional group l (LIST) { repeated group list { optional int64 element; } }`, `optional group l (LIST) { repeated group list { optional float element; } }`},
			nil,
			`file1: column "l.element": its type is float here and int64 in file0 (no type holds both without loss; cast the column to the type you want, leave it out, or rewrite the shards with one type)`,
		},
		{"list and leaf", []string{`repeated int32 a;`, `required int32 a;`}, nil, `its type is int32 here and list<int32> in file0`},
		{"uint64 and int64", []string{`required int64 a (UINT_64);`, `required int64 a;`}, nil, `its type is int64 here and uint64 in file0`},
		{"decimal and float", []string{`required int64 a (DECIMAL(9,2));`, `required double a;`}, nil, `its type is double here and decimal(9,2) in file0`},
		{
			"missing later",
			[]string{`required int32 a; required int32 b;`, `required int32 a;`},
			nil,
			`file1: column "b": there is no such column here; file0 has it (leave the column out, or read it as null where it is missing with Missing="null")`,
		},
		{
			"missing earlier",
			[]string{`required int32 a;`, `required int32 a;`, `required int32 a; required int32 b;`},
			nil,
			`file0: column "b": there is no such column here; file2 has it`,
		},
		{
			"missing member",
			[]string{`required group s { required int32 a; required int32 b; }`, `required group s { required int32 a; }`},
			[]string{"s"},
			`file1: column "s.b": there is no such column here; file0 has it`,
		},
		{"unknown column", []string{`required int32 alpha; required int32 beta; required int32 gamma;`}, []string{"alpah"}, `there is no column "alpah"; there is "alpha"`},
		{"unknown column, nothing near", []string{`required int32 alpha; required int32 beta;`}, []string{"z"}, `there is no column "z"; there is "alpha", "beta"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := projectTexts(t, c.schemas, c.paths, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func TestProject(t *testing.T) {
	for _, c := range []struct {
		paths string
		want  string
	}{
		{"id", "id: int32"},
		{"s,id", "id: int32; s: struct<p: int32, q: struct<r: int32, t: int32>>"},
		{"id,id", "id: int32"},
		{"s.q.t", "s: struct<q: struct<t: int32>>"},
		{"s.q.t,s.q", "s: struct<q: struct<r: int32, t: int32>>"},
		{"s.p", "s.p: int32"}, // the exact name of a column wins over the path
		{"a.list.element.b", "a: list<struct<b: int32>>?"},
		{"a.b", "a: list<struct<b: int32>>?"},
		{"a.c,a.b", "a: list<struct<b: int32, c: int32>>?"},
		{"a.list.element", "a: list<struct<b: int32, c: int32>>?"},
		{"a", "a: list<struct<b: int32, c: int32>>?"},
		{"m.value.x", "m: map<string, struct<x: int32>>?"},
		{"m.key_value.value.y", "m: map<string, struct<y: int32>>?"},
		{"m.key", "m: map<string, struct<x: int32, y: int32>>?"},
		{"m.key_value", "m: map<string, struct<x: int32, y: int32>>?"},
	} {
		t.Run(c.paths, func(t *testing.T) {
			got, err := projectTexts(t, []string{filetest.Nested}, strings.Split(c.paths, ","), false)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			fields, _, _ := strings.Cut(got, "--\n")
			if fields = strings.ReplaceAll(strings.TrimSpace(fields), "\n", "; "); fields != c.want {
				t.Errorf("%s is\n%s, want\n%s", c.paths, fields, c.want)
			}
		})
	}
}

// A conflict or a hole in a column that is not projected does not count.
func TestProjectIgnoresTheRest(t *testing.T) {
	schemas := []string{`required int32 a; required int32 b; required int32 c;`, `required int32 a; required binary b;`}
	if _, err := projectTexts(t, schemas, []string{"a"}, false); err != nil {
		t.Error(err)
	}
}

// A struct of which no wanted member is in a file still knows where it is null, by the levels of
// another member.
func TestBindLevels(t *testing.T) {
	got, err := projectTexts(t, []string{
		`optional group s { required int32 a; required int32 b; }`,
		`optional group s { repeated int32 l; optional int32 c; }`,
	}, []string{"s.b"}, true)
	if err != nil {
		t.Fatal(err)
	}
	const want = `s: struct<b: int32>?
--
s struct? 1/0
  b int32? 1/0 leaf 1 1/0
--
s struct? 1/0
  b int32? 2/0 leaf 1 2/0 null
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	_, err = projectTexts(t, []string{`optional group s { required int32 a; }`, `optional group s { repeated int32 l; }`}, []string{"s.a"}, true)
	if err == nil || !strings.Contains(err.Error(), `"s": no wanted member`) {
		t.Errorf("error is %v", err)
	}
}

// TestProjectPatterns chooses columns by patterns, and members of structs by patterns with a dot; a
// name wins.
func TestProjectPatterns(t *testing.T) {
	schemas := []string{`required int32 num_a; required int32 label; required int32 num_b; required group s { required int32 num_c; required int32 d; }
		repeated group l { required group t { required int32 num_e; required int32 num_f; } }`}
	for _, c := range []struct {
		paths []string
		want  string // names, or the error
	}{
		{[]string{"num_*"}, "num_a num_b"},
		{[]string{"num_?", "label"}, "num_a label num_b"},
		{[]string{"*"}, "num_a label num_b s l"},
		{[]string{"[ls]*"}, "label s l"},
		{[]string{"x*"}, `there is no column "x*"`},
		{[]string{"s.num_*"}, "s"},
		{[]string{"?.num_*", "label"}, "label s"},
		{[]string{"l.*.num_e"}, "l"},
		{[]string{"s.x*"}, `there is no column "s.x*"`},
		{[]string{"num_a.*"}, `there is no column "num_a.*"`},
	} {
		t.Run(strings.Join(c.paths, " "), func(t *testing.T) {
			text, err := projectTexts(t, schemas, c.paths, false)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			var names []string
			for line := range strings.Lines(strings.Split(text, "--\n")[0]) {
				names = append(names, strings.Split(line, ":")[0])
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestNearNames(t *testing.T) {
	n := indexNames(Unite([]*File{fileSchemaOf(t, `required int32 price; required int32 Prize; required int32 title; optional group emb (LIST) { repeated group list { optional float element; } }
		required group meta { required int32 prices; }`)}))
	for _, c := range []struct{ path, want string }{
		{"pricee", `; there is "price", "Prize"`},
		{"PRICE", `; there is "price", "Prize"`},
		{"meta.price", `; there is "meta.prices"`},
		{"embeddings_of_the_title", `; there is "Prize", "emb", "meta", "price", "title"`},
	} {
		t.Run(c.path, func(t *testing.T) {
			if got := n.near(c.path); got != c.want {
				t.Errorf("near %q%s, want %s", c.path, got, c.want)
			}
		})
	}
}
