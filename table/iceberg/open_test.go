package iceberg

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// A snapshot has its files in order, with sizes and constants, and the columns of its schema.
func TestOpen(t *testing.T) {
	f := withData(commit{sequence: 4, files: []file{{path: c, rows: 1, size: 3}, {path: del, status: deleted, rows: 1}}})
	s, err := f.open(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Format != "Iceberg" || s.Table != "u-1" || s.Name != "7" || !s.Time.Equal(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("snapshot %+v", s)
	}
	if len(s.Fields) != 2 || s.Fields[0].ID != 1 || s.Fields[0].Column.String() != "id int64" && s.Fields[0].Column.Name != "id" {
		t.Errorf("fields %+v", s.Fields)
	}
	var got []string
	for _, f := range s.Files {
		v := f.Constants[0]
		got = append(got, fmt.Sprintf("%s %d %d %d=%s %v", f.Shard.URI, f.Shard.Size, f.Rows, v.Field, v.Value.Data, v.Value.Null))
	}
	want := []string{a + " 100 10 1=en false", b + " 200 10 1=de false", c + " 3 1 1= true"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("files\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Snapshots are named by ID, tag, branch and time; a tag and an ID have the schema of their time.
func TestSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		want   string
		fields int
	}{
		"": {"7", 2}, "main": {"7", 2}, "7": {"7", 2}, "5": {"5", 3}, "t1": {"5", 3}, "b1": {"5", 2},
		"2026-01-01T00:00:00Z": {"5", 3}, "2026-01-01T23:00:00-01:00": {"7", 2}, "2030-01-01T00:00:00Z": {"7", 2},
	} {
		s, err := newFixture().open(t, name)
		if err != nil || s.Name != c.want || len(s.Fields) != c.fields {
			t.Errorf("%q: %+v, %v, want %s with %d columns", name, s, err, c.want, c.fields)
		}
	}
	for name, want := range map[string]string{
		"t2":                   `no snapshot, tag or branch "t2": it has branch b1, branch main, tag t1, 2 snapshots`,
		"8":                    `no snapshot, tag or branch "8"`,
		"2025-12-31T00:00:00Z": "no snapshot of 2025-12-31T00:00:00Z: the first one in its log is of 2026-01-01T00:00:00Z",
	} {
		if _, err := newFixture().open(t, name); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, shard.ErrNotExist) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

// A table without a snapshot has no files.
func TestEmpty(t *testing.T) {
	f := newFixture()
	f.meta["current-snapshot-id"] = -1
	f.meta["refs"] = map[string]any{}
	for _, name := range []string{"", "main"} {
		s, err := f.open(t, name)
		if err != nil || s.Name != emptyName || len(s.Files) != 0 || len(s.Fields) != 2 {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
	}
}

func TestHistory(t *testing.T) {
	f := newFixture()
	if _, err := f.open(t, ""); err != nil {
		t.Fatal(err)
	}
	all, err := History(t.Context(), dir, f.options(""))
	if err != nil || fmt.Sprint(all) != "[{5 2026-01-01 00:00:00 +0000 UTC append [b1 t1]} {7 2026-01-02 00:00:00 +0000 UTC overwrite [main]}]" {
		t.Errorf("%v, %v", all, err)
	}
}

// What is not known is refused by name.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(meta map[string]any)
		want   string
	}{
		"format":     {func(m map[string]any) { m["format-version"] = 4 }, "format version 4, and versions 1 to 3 can be read"},
		"no format":  {func(m map[string]any) { delete(m, "format-version") }, "format version 0"},
		"encrypted":  {func(m map[string]any) { m["encryption-keys"] = []any{map[string]any{"key-id": "k"}} }, "the table is encrypted"},
		"key":        {func(m map[string]any) { m["properties"] = map[string]any{"encryption.key-id": "k"} }, "the table is encrypted"},
		"schema":     {func(m map[string]any) { m["current-schema-id"] = 9 }, "no schema 9"},
		"no schemas": {func(m map[string]any) { delete(m, "schemas") }, "no schema"},
		"expired":    {func(m map[string]any) { m["current-snapshot-id"] = 3 }, "snapshot 3, which the metadata file does not list"},
		"mapping":    {func(m map[string]any) { m["properties"] = map[string]any{mappingProperty: "{"} }, mappingProperty},
		"kind":       {column1(`{"type":"set"}`, ""), `the type "set" is not known`},
		"default":    {column1(`"int"`, `"a"`), "x: its default value"},
		"spec":       {func(m map[string]any) { m["partition-specs"] = []any{} }, "no partition spec 0"},
		"old list": {func(m map[string]any) {
			m["snapshots"] = []any{map[string]any{"snapshot-id": 7, "manifests": []any{"m"}}}
		}, "snapshot 7 has no manifest list"},
	} {
		t.Run(name, func(t *testing.T) {
			f := withData()
			c.change(f.meta)
			_, err := f.open(t, "")
			if e := (*shard.Error)(nil); err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func column1(typ, preset string) func(map[string]any) {
	return func(m map[string]any) { m["schemas"] = []any{schemaOf(1, fieldOf(1, "x", typ, preset))} }
}

// A copy is read where it was opened, if the files are not where the metadata says.
func TestMoved(t *testing.T) {
	f := withData()
	if _, err := f.open(t, ""); err != nil {
		t.Fatal(err)
	}
	f.meta["location"] = "hdfs://elsewhere/t"
	var list []listed
	for i, c := range []commit{{sequence: 1}, {sequence: 2}} {
		content, err := readAll(t.Context(), &f.Store, fmt.Sprintf("%s/metadata/m%d.avro", dir, i), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, listed{fmt.Sprintf("hdfs://elsewhere/t/metadata/m%d.avro", i), len(content), 0, c.sequence})
	}
	f.put(listPath, listOf(list...))
	snapshots := f.meta["snapshots"].([]any)
	snapshots[1].(map[string]any)["manifest-list"] = "hdfs://elsewhere/t/metadata/snap-7.avro"
	s, err := f.open(t, "")
	if err != nil || len(s.Files) != 2 || s.Files[0].Shard.URI != a {
		t.Errorf("%+v, %v", s, err)
	}
	f.Remove("wh/t/metadata/snap-7.avro")
	if _, err := f.open(t, ""); err == nil || !strings.Contains(err.Error(), "the table's location is hdfs://elsewhere/t") {
		t.Errorf("without its list: %v", err)
	}
	content, err := json.Marshal(f.meta)
	if err != nil {
		t.Fatal(err)
	}
	f.put("elsewhere/00001-x.metadata.json", content)
	_, err = Open(t.Context(), "mem://elsewhere/00001-x.metadata.json", f.options(""))
	if err == nil || !strings.Contains(err.Error(), "is hdfs://elsewhere/t; a copy needs its manifests too") {
		t.Errorf("a metadata file alone: %v", err)
	}
}

// A file that a cleanup removed, and metadata that is cut, are errors with a remedy.
func TestRemovedFiles(t *testing.T) {
	f := withData()
	f.Remove("wh/t/metadata/m0.avro")
	if _, err := f.open(t, ""); err == nil || !strings.Contains(err.Error(), "m0.avro") || !strings.Contains(err.Error(), "a cleanup (VACUUM, expire_snapshots) removed it") {
		t.Errorf("without a manifest: %v", err)
	}
	f.put(dir+"/metadata/00009-x.metadata.json", []byte(`{"format-`))
	_, err := Open(t.Context(), dir+"/metadata/00009-x.metadata.json", f.options(""))
	if err == nil || !strings.Contains(err.Error(), "(if it is being written, try again; else name an older metadata file)") {
		t.Errorf("cut: %v", err)
	}
}

// The metadata file is the hint's or a newer one, else the one with the highest number.
func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		hint  string
		files string
		want  string
	}{
		"hint":            {"2", "v1.metadata.json v2.metadata.json", "v2.metadata.json"},
		"behind":          {"2", "v2.metadata.json v3.metadata.json v4.gz.metadata.json v6.metadata.json", "v4.gz.metadata.json"},
		"a name":          {"00003-x.metadata.json", "00003-x.metadata.json 00004-y.metadata.json", "00003-x.metadata.json"},
		"a missing name":  {"00005-z.metadata.json", "00003-x.metadata.json", "wh/t: table: does not exist: 00005-z.metadata.json, which version-hint.text names (correct the hint, or"},
		"gone":            {"9", "v1.metadata.json v2.metadata.json.gz", "v2.metadata.json.gz"},
		"of another kind": {"what", "v1.metadata.json", "v1.metadata.json"},
		"no hint":         {"", "00009-a.metadata.json 00010-b.metadata.json 00008-c.gz.metadata.json", "00010-b.metadata.json"},
		"two":             {"", "00010-a.metadata.json 00010-b.gz.metadata.json", "two files of version 10, 00010-a.metadata.json and 00010-b.gz.metadata.json"},
		"none":            {"", "x.avro a.metadata.json", "metadata/ has no version-hint.text and no *.metadata.json"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.Remove("wh/t/metadata/snap-5.avro")
			if c.hint != "" {
				f.put(dir+"/metadata/version-hint.text", []byte(c.hint))
			}
			for _, name := range strings.Fields(c.files) {
				f.put(dir+"/metadata/"+name, []byte("x"))
			}
			got, err := newest(t.Context(), &f.Store, dir+"/metadata/")
			if err != nil {
				got = err.Error()
			}
			if !strings.HasSuffix(got, c.want) && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A metadata file can be named, and compressed.
func TestMetadataFile(t *testing.T) {
	f := withData()
	content, err := json.Marshal(f.meta)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	f.put(dir+"/metadata/00001-x.gz.metadata.json", b.Bytes())
	f.put("elsewhere/00001-x.metadata.json", content)
	for _, address := range []string{dir + "/metadata/00001-x.gz.metadata.json", "mem://elsewhere/00001-x.metadata.json"} {
		s, err := Open(t.Context(), address, f.options(""))
		if err != nil || len(s.Files) != 2 {
			t.Errorf("%s: %+v, %v", address, s, err)
		}
	}
}

// FuzzMetadata opens damaged metadata.
func FuzzMetadata(f *testing.F) {
	content, err := json.Marshal(newFixture().meta)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		x := withData()
		x.put(dir+"/metadata/00001-x.metadata.json", content)
		_, _ = Open(t.Context(), dir+"/metadata/00001-x.metadata.json", x.options(""))
		_, _ = History(t.Context(), dir+"/metadata/00001-x.metadata.json", x.options(""))
	})
}

// Columns of types that cannot be read are listed apart, and the others stay readable.
func TestUnreadable(t *testing.T) {
	for kind, want := range map[string]table.Unreadable{
		`"variant"`:             {Column: "x", Type: "variant", Part: "x"},
		`"geometry(OGC:CRS84)"`: {Column: "x", Type: "geometry(OGC:CRS84)", Part: "x"},
		`"fixed[0]"`:            {Column: "x", Type: "fixed[0]", Part: "x"},
		`"decimal(39,2)"`:       {Column: "x", Type: "decimal(39,2)", Part: "x"},
		`{"type":"list","element-id":9,"element":"what","element-required":false}`: {Column: "x", Type: "what", Part: "x.element"},
	} {
		f := withData()
		f.meta["schemas"] = []any{schemaOf(1, fieldOf(1, "x", kind, ""), fieldOf(2, "lang", `"string"`, ""))}
		s, err := f.open(t, "")
		if err != nil || len(s.Unreadable) != 1 || s.Unreadable[0] != want || len(s.Fields) != 1 || s.Fields[0].ID != 2 {
			t.Errorf("%s: %+v, %v", kind, s, err)
		}
	}
}
