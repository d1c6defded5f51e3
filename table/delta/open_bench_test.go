package delta_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/table/delta"
)

// The columns of a checkpoint.
type (
	added struct {
		Path       string            `parquet:"path"`
		Partition  map[string]string `parquet:"partitionValues"`
		Size       int64             `parquet:"size"`
		Modified   int64             `parquet:"modificationTime"`
		DataChange bool              `parquet:"dataChange"`
		Stats      string            `parquet:"stats,optional"`
	}
	protocol struct {
		Reader int32 `parquet:"minReaderVersion"`
		Writer int32 `parquet:"minWriterVersion"`
	}
	metadata struct {
		ID         string            `parquet:"id"`
		Schema     string            `parquet:"schemaString"`
		Partitions []string          `parquet:"partitionColumns,list"`
		Config     map[string]string `parquet:"configuration"`
	}
	row struct {
		Add      *added    `parquet:"add,optional"`
		Protocol *protocol `parquet:"protocol,optional"`
		Metadata *metadata `parquet:"metaData,optional"`
	}
)

const largeSchema = `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"dt","type":"date","nullable":true,"metadata":{}}]}`

func statsOf(i int) string {
	return fmt.Sprintf(`{"numRecords":%d,"minValues":{"id":%d,"text":"the first of some text","score":0.1},`+
		`"maxValues":{"id":%d,"text":"the last of some texts","score":0.9},"nullCount":{"id":0,"text":0,"score":12}}`, 1000+i%7, i*1000, i*1000+999)
}

func pathOf(i int) string {
	return fmt.Sprintf("dt=2026-01-%02d/part-%05d-1f7e2d3c-5b6a-4789-8a9b-%012x-c000.snappy.parquet", 1+i%28, i, i)
}

// large writes a table of n files in a checkpoint, and of as many in commits.
func large(tb testing.TB, inCheckpoint, inCommits int) *mem.Store {
	store := &mem.Store{}
	rows := []row{{Protocol: &protocol{1, 2}}, {Metadata: &metadata{ID: "u", Schema: largeSchema, Partitions: []string{"dt"}}}}
	for i := range inCheckpoint {
		rows = append(rows, row{Add: &added{Path: pathOf(i), Partition: map[string]string{"dt": fmt.Sprintf("2026-01-%02d", 1+i%28)}, Size: 1 << 20, Stats: statsOf(i)}})
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(&parquet.Snappy))
	for len(rows) > 0 {
		n := min(len(rows), 50_000)
		if _, err := w.Write(rows[:n]); err != nil {
			tb.Fatal(err)
		}
		rows = rows[n:]
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	store.Put("t/_delta_log/00000000000000000010.checkpoint.parquet", b.Bytes())
	for c := range 10 {
		var lines strings.Builder
		fmt.Fprintf(&lines, "{\"commitInfo\":{\"timestamp\":%d,\"operation\":\"WRITE\"}}\n", 1_700_000_000_000+c)
		for i := c * inCommits / 10; i < (c+1)*inCommits/10; i++ {
			fmt.Fprintf(&lines, `{"add":{"path":"new/%s","partitionValues":{"dt":"2026-01-%02d"},"size":1048576,"modificationTime":1700000000000,"dataChange":true,"stats":%q}}`+"\n",
				pathOf(i), 1+i%28, statsOf(i))
		}
		store.Put(fmt.Sprintf("t/_delta_log/%020d.json", 11+c), []byte(lines.String()))
	}
	return store
}

// BenchmarkOpen opens tables of 100,000 files.
func BenchmarkOpen(b *testing.B) {
	const files = 100_000
	for name, inCommits := range map[string]int{"checkpoint": 0, "commits": files} {
		b.Run(name, func(b *testing.B) {
			store := large(b, files-inCommits, inCommits)
			b.ReportAllocs()
			for b.Loop() {
				s, err := delta.Open(b.Context(), "mem://t", options(store, ""))
				if err != nil || len(s.Files) != files {
					b.Fatalf("%v", err)
				}
				runtime.KeepAlive(s)
			}
		})
	}
}
