package rowgroup

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/shard"
)

// partitionedShards are three files under dt= and lang= directories; the file's own column lang
// gives way.
func partitionedShards(t *testing.T) (shard.Store, []shard.Shard) {
	b := filetest.File{Schema: `required int32 lang; required int32 a;`, Rows: []int{4}}.Bytes(t)
	return putFiles(t, map[string][]byte{
		"dt=2026-01-01/lang=ko/a.parquet":                         b,
		"dt=2026-01-02/lang=en/b.parquet":                         b,
		"dt=__HIVE_DEFAULT_PARTITION__/lang=a%2Fb/c%3D1.parquet":  b,
		"dt=2026-01-02/lang=__HIVE_DEFAULT_PARTITION__/d.parquet": b,
	})
}

func TestPartitions(t *testing.T) {
	store, shards := partitionedShards(t)
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{nil, "a int32 false; dt date true; lang string true"},
		{[]string{"lang", "a"}, "a int32 false; lang string true"},
		{[]string{"dt"}, "dt date true"},
		{[]string{"a"}, "a int32 false"},
	} {
		m, err := Open(context.Background(), store, shards, Options{Columns: c.columns})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range m.Schema().Fields {
			names = append(names, fmt.Sprint(f.Name, " ", f, " ", f.Nullable))
			if f.Partition != (f.Name != "a") {
				t.Errorf("column %s: partition is %v", f.Name, f.Partition)
			}
		}
		if got := strings.Join(names, "; "); got != c.want {
			t.Errorf("columns are %s, want %s", got, c.want)
		}
		m.Close()
	}
}

// An unknown column's message knows the partition columns too.
func TestPartitionsAreSuggested(t *testing.T) {
	store, shards := partitionedShards(t)
	for column, want := range map[string]string{"dtt": `there is "dt"`, "nothing": `there is "a", "dt", "lang"`} {
		t.Run(column, func(t *testing.T) {
			m, err := Open(context.Background(), store, shards, Options{Columns: []string{column}})
			if err == nil {
				m.Close()
			}
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestPartitionValues(t *testing.T) {
	store, shards := partitionedShards(t)
	m, err := Open(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, s := range shards {
		raw := fetch(t, m, Rows{Shard: i, Hi: 4})
		if len(raw.columns) != 3 || len(raw.chunks) != 1 || raw.columns[1].Field != m.Schema().Fields[1] {
			t.Fatalf("%d columns, %d chunks", len(raw.columns), len(raw.chunks))
		}
		dt, lang := raw.columns[1].Partition, raw.columns[2].Partition
		switch {
		case strings.Contains(s.URI, "dt=__HIVE"):
			if !dt.Null || string(lang.Data) != "a/b" {
				t.Errorf("%s: %v, %v", s.URI, dt, lang)
			}
		case strings.Contains(s.URI, "lang=__HIVE"):
			if !lang.Null || len(lang.Data) != 0 {
				t.Errorf("%s: %v", s.URI, lang)
			}
		case strings.Contains(s.URI, "2026-01-01"):
			if days := binary.LittleEndian.Uint32(dt.Data); dt.Null || days != 20454 || string(lang.Data) != "ko" {
				t.Errorf("%s: %d days, %s", s.URI, days, lang.Data)
			}
		}
	}
}

func TestPartitionOnly(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{
		"n=7/a.parquet": filetest.File{Schema: `required int32 a;`, Rows: []int{4}}.Bytes(t), "n=-8/a.parquet": filetest.File{Schema: `required binary a;`, Rows: []int{2}}.Bytes(t),
	})
	m, err := Open(context.Background(), store, shards, Options{Columns: []string{"n"}})
	if err != nil {
		t.Fatal(err) // column a's types differ, but it is not asked for
	}
	defer m.Close()
	raw := fetch(t, m, Rows{Shard: 0, Hi: 2})
	if v := int64(binary.LittleEndian.Uint64(raw.columns[0].Partition.Data)); v != -8 || raw.Bytes() != 0 || m.NumRows() != 6 {
		t.Errorf("value %d, %d bytes, %d rows", v, raw.Bytes(), m.NumRows())
	}
}

func TestPartitionsOfSomeShards(t *testing.T) {
	b := filetest.File{Schema: `required int32 a;`, Rows: []int{4}}.Bytes(t)
	store, shards := putFiles(t, map[string][]byte{"n=7/a.parquet": b, "b.parquet": b})
	_, err := Open(context.Background(), store, shards, Options{})
	if err == nil || !strings.Contains(err.Error(), "mem://t/b.parquet") {
		t.Errorf("error is %v", err)
	}
}

// Directories of different depths: what a shard's path lacks is null where that is wanted.
func TestPartitionsOfUnevenDepth(t *testing.T) {
	own := filetest.File{Schema: `required int32 a; required int32 m;`, Rows: []int{1}}.Bytes(t)
	plain := filetest.File{Schema: `required int32 a;`, Rows: []int{1}}.Bytes(t)
	for _, c := range []struct {
		name  string
		files map[string][]byte
		null  bool
		want  string // the types and values of y and m, or an error
	}{
		{"null", map[string][]byte{"y=1/m=02/a": plain, "y=2/b": plain}, true, "y int64: 1 2; m int64: 2 null"},
		{"the first lacks it", map[string][]byte{"a": plain, "y=2/m=x/b": plain}, true, "y int64: null 2; m string: null x"},
		{"error", map[string][]byte{"y=1/m=02/a": plain, "y=2/b": plain}, false, `no partition key "m", which mem://t/y=1/m=02/a has`},
		{"a column of a file", map[string][]byte{"y=1/m=02/a": plain, "y=2/b": own}, true, `y=2/b: column "m": it is a column of the files here and a partition of other shards`},
		{"a column that gives way", map[string][]byte{"y=1/m=02/a": own, "y=2/m=3/b": own}, true, "y int64: 1 2; m int64: 2 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, shards := putFiles(t, c.files)
			m, err := Open(t.Context(), store, shards, Options{MissingIsNull: c.null})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want %s", err, c.want)
				}
				return
			}
			defer m.Close()
			if got := describePartitions(m.parts); got != c.want {
				t.Errorf("partitions are %s, want %s", got, c.want)
			}
		})
	}
}
