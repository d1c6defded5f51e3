package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

// A list has a length only when every shard declares it.
func TestListSizeOfAllShards(t *testing.T) {
	const schema = `optional group emb (LIST) { repeated group list { optional float element; } }
		optional group ragged (LIST) { repeated group list { optional float element; } }`
	with := filetest.File{Schema: schema, Rows: []int{5}, Meta: func(m *format.FileMetaData) {
		m.KeyValueMetadata = []format.KeyValue{{Key: "other", Value: "x"}, {Key: "ARROW:schema", Value: string(filetest.ArrowSchema)}}
	}}
	without := filetest.File{Schema: schema, Rows: []int{5}}
	for _, c := range []struct {
		files []filetest.File
		want  int
	}{{[]filetest.File{with}, 4}, {[]filetest.File{with, with}, 4}, {[]filetest.File{with, without}, 0}, {[]filetest.File{without, with}, 0}} {
		all := map[string][]byte{}
		for i, f := range c.files {
			all[fmt.Sprint(i, ".parquet")] = f.Bytes(t)
		}
		store, shards := putFiles(t, all)
		o := Options{IndexDir: t.TempDir() + "/index"}
		for range 2 { // from the footers, then from the index
			m, err := Open(context.Background(), store, shards, o)
			if err != nil {
				t.Fatal(err)
			}
			if f := m.Schema().Fields; f[0].ListSize != c.want || f[1].ListSize != 0 {
				t.Errorf("%d files: lengths are %d and %d, want %d and 0", len(c.files), f[0].ListSize, f[1].ListSize, c.want)
			}
			m.Close()
		}
	}
}

// The error about types that do not go together is about the shard whose type is rare, wherever it
// comes, and names one that has the other type itself.
func TestConflictNamesTheOddShard(t *testing.T) {
	for _, c := range []struct {
		name    string
		schemas []string
		odd     int
		want    string // %s is the odd shard
	}{
		{"first", []string{`required binary a (UTF8);`, `required int64 a;`, `required int64 a;`}, 0, `its type is string here and int64 in mem://t/data/1.parquet`},
		{"middle", []string{`required int64 a;`, `required binary a (UTF8);`, `required int64 a;`}, 1, `its type is string here and int64 in mem://t/data/0.parquet`},
		{"last", []string{`required int64 a;`, `required int64 a;`, `required binary a (UTF8);`}, 2, `its type is string here and int64 in mem://t/data/0.parquet`},
		{"widened before", []string{`required int32 a;`, `required int64 a;`, `required int64 a;`, `required binary a (UTF8);`}, 3, `its type is string here and int64 in mem://t/data/1.parquet`},
		{"two that only go together without a third", []string{`required int32 a (UINT_32);`, `required int32 a;`, `required int64 a (UINT_64);`}, 2, `its type is uint64 here and int32 in mem://t/data/1.parquet`},
		{"in a list", []string{`repeated binary a;`, `repeated float a;`, `repeated float a;`}, 0, `its type is binary here and float in mem://t/data/1.parquet`},
		{"same schema but for another column", []string{`required int64 a; required int32 b;`, `required binary a; required int32 b;`, `required int64 a; required int64 b;`}, 1, `its type is binary here and int64 in mem://t/data/0.parquet`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{}
			for i, s := range c.schemas {
				files[fmt.Sprintf("data/%d.parquet", i)] = filetest.File{Schema: s, Rows: []int{1}}.Bytes(t)
			}
			store, shards := putFiles(t, files)
			_, err := Open(t.Context(), store, shards, Options{})
			var e *Error
			if !errors.As(err, &e) || e.URI != fmt.Sprintf("mem://t/data/%d.parquet", c.odd) || e.Err.Error() != c.want {
				t.Errorf("error %v, want one about shard %d: %s", err, c.odd, c.want)
			}
		})
	}
}
