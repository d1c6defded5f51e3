package rowgroup

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

// Ten thousand columns in a hundred shards: the first start, the second, and the memory that a
// manifest holds.
func TestWide(t *testing.T) {
	const columns = 10_000
	files := 100
	if racetest.Enabled {
		files = 10
	}
	if testing.Short() {
		t.Skip("reads a hundred footers of a megabyte")
	}
	var schema strings.Builder
	for i := range columns {
		fmt.Fprintf(&schema, "optional double feature_%05d;", i)
	}
	b := filetest.File{Schema: schema.String(), Rows: []int{1000, 1000}}.Bytes(t)
	all := map[string][]byte{}
	for i := range files {
		all[fmt.Sprintf("%03d.parquet", i)] = b
	}
	store, shards := putFiles(t, all)
	o := Options{IndexDir: t.TempDir() + "/index"}

	before := heapInUse()
	cold, reads := openRecorded(t, store, shards, o)
	if reads < files || reads > files+16 || len(cold.Schema().Fields) != columns || cold.NumRows() != 2000*int64(files) {
		t.Errorf("%d reads, %d columns, %d rows", reads, len(cold.Schema().Fields), cold.NumRows())
	}
	held := heapInUse() - before
	warm, reads := openRecorded(t, store, shards, o)
	if reads != 0 {
		t.Errorf("%d reads at the second start", reads)
	}
	t.Logf("footer of %d bytes; %d MiB held", len(b), held>>20)
	const perChunk = 32
	if limit := int64(files*2*columns*perChunk + columns*2000); held > limit {
		t.Errorf("a manifest holds %d bytes, over %d", held, limit)
	}
	m, err := Open(context.Background(), store, shards, Options{IndexDir: o.IndexDir, Columns: []string{"feature_00007", "feature_09999"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if r := fetch(t, m, Rows{Shard: files - 1, RowGroup: 1, Hi: 1000}); r.Bytes() != 200 {
		t.Errorf("two columns are %d bytes", r.Bytes())
	}
	runtime.KeepAlive(warm)
}

func heapInUse() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// Ten thousand shards found in the index.
func TestManyShards(t *testing.T) {
	files := 10_000
	if testing.Short() {
		t.Skip("opens ten thousand shards")
	}
	if racetest.Enabled {
		files = 1000
	}
	b := filetest.File{Schema: strings.Repeat(`optional binary a (UTF8);`, 10), Rows: []int{100, 100, 100}}.Bytes(t)
	all := map[string][]byte{}
	for i := range files {
		all[fmt.Sprintf("%05d.parquet", i)] = b
	}
	store, shards := putFiles(t, all)
	o := Options{IndexDir: t.TempDir() + "/index"}
	openRecorded(t, store, shards, o)
	m, reads := openRecorded(t, store, shards, o)
	if reads != 0 || m.NumRows() != int64(files)*300 {
		t.Errorf("%d reads, %d rows", reads, m.NumRows())
	}
}
