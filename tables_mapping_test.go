package shardfeed

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/shuffle"
)

// mappedCommit is a commit of a Delta table whose columns id, a and b have these names in files.
func mappedCommit(protocol, add, id, a, b string) string {
	schema := ""
	for i, names := range [][2]string{{"id", id}, {"a", a}, {"b", b}} {
		if i > 0 {
			schema += ","
		}
		schema += fmt.Sprintf(`{"name":%q,"type":"long","nullable":false,"metadata":{"delta.columnMapping.id":%d,"delta.columnMapping.physicalName":%q}}`, names[0], i+1, names[1])
	}
	return fmt.Sprintf(`{"commitInfo":{"timestamp":1700000000000,"operation":"WRITE"}}
%s{"metaData":{"id":"u-1","format":{"provider":"parquet"},"schemaString":%q,"partitionColumns":[],"configuration":{"delta.columnMapping.mode":"name"}}}
%s`, protocol, `{"type":"struct","fields":[`+schema+`]}`, add)
}

// Two columns change their names: the rows that a filter chose of a file are not those of the other
// version.
func TestFilterOfRenamedColumns(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	type row struct {
		C1 int64 `parquet:"c1"`
		C2 int64 `parquet:"c2"`
		C3 int64 `parquet:"c3"`
	}
	dir := t.TempDir()
	rows := make([]row, 1000)
	for i := range rows {
		rows[i] = row{int64(i), int64(i) % 10, int64(i) % 3}
	}
	file := filepath.Join(dir, "f.parquet")
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	add := fmt.Sprintf(`{"add":{"path":"f.parquet","size":%d,"partitionValues":{},"modificationTime":1,"dataChange":true}}`, info.Size())
	protocol := `{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}` + "\n"
	log := filepath.Join(dir, "_delta_log")
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	for version, text := range []string{mappedCommit(protocol, add, "c1", "c2", "c3"), mappedCommit("", "", "c1", "c3", "c2")} {
		if err := os.WriteFile(filepath.Join(log, fmt.Sprintf("%020d.json", version)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for version, chosen := range []func(row) bool{func(r row) bool { return r.C2 < 1 }, func(r row) bool { return r.C3 < 1 }} {
		s := Spec{Addresses: []string{"delta+" + dir}, Snapshot: fmt.Sprint(version), Columns: []string{"id"}, BatchSize: 7}
		s.Filters, s.Tail = "a < 1", shuffle.Short
		got, _ := take(t, openSpec(t, s), s, 0, 1, 0, nil)
		var want []int64
		for _, r := range rows {
			if chosen(r) {
				want = append(want, r.C1)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("version %d: %d rows, want %d", version, len(got), len(want))
		}
	}
}
