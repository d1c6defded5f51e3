package iceberg

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/avro/avrotest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A fixture is a table in memory, whose parquet files are columns in memory too.
type fixture struct {
	mem.Store
	meta    map[string]any
	columns map[string]map[int32]*column.Array // of files, by address and field ID

	keeper table.Keeper

	mu    sync.Mutex
	scans map[string]int // by address
}

const (
	dir      = "mem://wh/t"
	listPath = dir + "/metadata/snap-7.avro"
)

// newFixture is a table of the columns id, lang (the partition) and old, with snapshot 7.
func newFixture() *fixture {
	f := &fixture{columns: map[string]map[int32]*column.Array{}, scans: map[string]int{}}
	f.meta = map[string]any{
		"format-version": 2, "table-uuid": "u-1", "location": dir, "current-snapshot-id": 7, "current-schema-id": 1,
		"schemas": []any{
			schemaOf(0, fieldOf(1, "id", `"int"`, ""), fieldOf(2, "lang", `"string"`, ""), fieldOf(3, "old", `"int"`, "")),
			schemaOf(1, fieldOf(1, "id", `"long"`, ""), fieldOf(2, "lang", `"string"`, "")),
		},
		"partition-specs": []any{
			map[string]any{"spec-id": 0, "fields": []any{map[string]any{"source-id": 2, "field-id": 1000, "name": "lang", "transform": "identity"}}},
			map[string]any{"spec-id": 1, "fields": []any{map[string]any{"source-id": 2, "field-id": 1000, "name": "lang", "transform": "void"}}},
		},
		"snapshots": []any{
			map[string]any{"snapshot-id": 5, "timestamp-ms": 1767225600000, "manifest-list": dir + "/metadata/snap-5.avro", "schema-id": 0, "summary": map[string]any{"operation": "append"}},
			map[string]any{"snapshot-id": 7, "timestamp-ms": 1767312000000, "manifest-list": listPath, "schema-id": 1, "summary": map[string]any{"operation": "overwrite"}},
		},
		"snapshot-log": []any{
			map[string]any{"snapshot-id": 5, "timestamp-ms": 1767225600000},
			map[string]any{"snapshot-id": 7, "timestamp-ms": 1767312000000},
		},
		"refs": map[string]any{
			"main": map[string]any{"snapshot-id": 7, "type": "branch"},
			"t1":   map[string]any{"snapshot-id": 5, "type": "tag"},
			"b1":   map[string]any{"snapshot-id": 5, "type": "branch"},
		},
	}
	f.put(listPath, listOf())
	f.put(dir+"/metadata/snap-5.avro", listOf())
	return f
}

func schemaOf(id int, fields ...any) any {
	return map[string]any{"type": "struct", "schema-id": id, "fields": fields}
}

func fieldOf(id int, name, typ, preset string) any {
	f := map[string]any{"id": id, "name": name, "required": false, "type": json.RawMessage(typ)}
	if preset != "" {
		f["initial-default"] = json.RawMessage(preset)
	}
	return f
}

func (f *fixture) put(address string, content []byte) {
	f.Put(strings.TrimPrefix(address, "mem://"), content)
}

// open writes the metadata file and opens the table.
func (f *fixture) open(t testing.TB, snapshot string) (*table.Snapshot, error) {
	t.Helper()
	content, err := json.Marshal(f.meta)
	if err != nil {
		t.Fatal(err)
	}
	f.put(dir+"/metadata/v3.metadata.json", content)
	f.put(dir+"/metadata/version-hint.text", []byte("3\n"))
	return Open(t.Context(), dir+"/", f.options(snapshot))
}

func (f *fixture) options(snapshot string) table.Options {
	return table.Options{Store: &f.Store, Scan: f.scan, Snapshot: snapshot, Parallel: 4, Keeper: f.keeper}
}

func (f *fixture) scan(_ context.Context, s shard.Shard, fields []table.Field, each func(int64, []*column.Array) error) error {
	f.mu.Lock()
	f.scans[s.URI]++
	f.mu.Unlock()
	all, ok := f.columns[s.URI]
	if !ok {
		return &shard.Error{Op: "open", URI: s.URI, Err: shard.ErrNotExist}
	}
	arrays, n := make([]*column.Array, len(fields)), 0
	for i, want := range fields {
		if arrays[i] = all[want.ID]; arrays[i] != nil {
			n = arrays[i].Len
		}
	}
	if n == 0 {
		return nil
	}
	return each(0, arrays)
}

// ints is a column of longs; -1 is null.
func ints(values ...int64) *column.Array {
	a := &column.Array{Field: column.FieldOf[int64](""), Len: len(values), Valid: make([]byte, len(values)/8+1)}
	for i, v := range values {
		a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(v))
		if v != -1 {
			a.Valid[i/8] |= 1 << (i % 8)
		}
	}
	return a
}

func count(from, to int64) *column.Array {
	var all []int64
	for v := from; v < to; v++ {
		all = append(all, v)
	}
	return ints(all...)
}

func texts(values ...string) *column.Array {
	a := &column.Array{Field: &column.Field{Kind: column.Binary, Type: column.TypeString}, Len: len(values), Offsets: []int32{0}}
	for _, v := range values {
		a.Data = append(a.Data, v...)
		a.Offsets = append(a.Offsets, int32(len(a.Data)))
	}
	return a
}

const listSchema = `{"type":"record","name":"manifest_file","fields":[
 {"name":"manifest_path","type":"string","field-id":500},{"name":"manifest_length","type":"long","field-id":501},
 {"name":"partition_spec_id","type":"int","field-id":502},{"name":"sequence_number","type":"long","field-id":515}]}`

// A listed manifest, with the sequence number of its snapshot.
type listed struct {
	path     string
	bytes    int
	spec     int64
	sequence int64
}

func listOf(all ...listed) []byte {
	w := &avrotest.Writer{}
	for _, m := range all {
		w.Bytes(m.path).Long(int64(m.bytes)).Long(m.spec).Long(m.sequence)
	}
	return avrotest.File("deflate", listSchema, nil, w.Block(int64(len(all))))
}

const entrySchema = `{"type":"record","name":"manifest_entry","fields":[
 {"name":"status","type":"int","field-id":0},
 {"name":"sequence_number","type":["null","long"],"field-id":3},
 {"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[
  {"name":"content","type":"int","field-id":134},
  {"name":"file_path","type":"string","field-id":100},
  {"name":"file_format","type":"string","field-id":101},
  {"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[{"name":"lang","type":["null","string"],"field-id":1000}]}},
  {"name":"record_count","type":"long","field-id":103},
  {"name":"file_size_in_bytes","type":"long","field-id":104},
  {"name":"lower_bounds","type":["null",{"type":"array","logicalType":"map","items":{"type":"record","name":"k126_v127","fields":[
    {"name":"key","type":"int","field-id":126},{"name":"value","type":"bytes","field-id":127}]}}],"field-id":125},
  {"name":"upper_bounds","type":["null",{"type":"array","logicalType":"map","items":{"type":"record","name":"k129_v130","fields":[
    {"name":"key","type":"int","field-id":129},{"name":"value","type":"bytes","field-id":130}]}}],"field-id":128},
  {"name":"key_metadata","type":["null","bytes"],"field-id":131},
  {"name":"equality_ids","type":["null",{"type":"array","items":"int","element-id":136}],"field-id":135},
  {"name":"referenced_data_file","type":["null","string"],"field-id":143},
  {"name":"content_offset","type":["null","long"],"field-id":144},
  {"name":"content_size_in_bytes","type":["null","long"],"field-id":145}]}}]}`

// A file is an entry of a manifest. The zero values are what most files have.
type file struct {
	status   int64
	sequence int64 // 0 is inherited
	content  int64
	path     string
	format   string // "" is parquet
	lang     string // "" is null
	rows     int64
	size     int64
	key      bool
	ids      []int64
	of       string
	blob     shard.Span
	bounds   int // columns with statistics
}

func optional(w *avrotest.Writer, there bool, write func()) {
	if !there {
		w.Long(0)
		return
	}
	w.Long(1)
	write()
}

func (e *file) write(w *avrotest.Writer) {
	w.Long(e.status)
	optional(w, e.sequence != 0, func() { w.Long(e.sequence) })
	format := e.format
	if format == "" {
		format = "PARQUET"
	}
	w.Long(e.content).Bytes(e.path).Bytes(format)
	optional(w, e.lang != "", func() { w.Bytes(e.lang) })
	w.Long(e.rows).Long(e.size)
	for range 2 {
		optional(w, e.bounds > 0, func() {
			w.Long(int64(e.bounds))
			for i := range e.bounds {
				w.Long(int64(i)).Bytes("0123456789abcdef")
			}
			w.Long(0)
		})
	}
	optional(w, e.key, func() { w.Bytes("secret") })
	optional(w, e.ids != nil, func() {
		w.Long(int64(len(e.ids)))
		for _, id := range e.ids {
			w.Long(id)
		}
		w.Long(0)
	})
	optional(w, e.of != "", func() { w.Bytes(e.of) })
	optional(w, e.blob.N != 0, func() { w.Long(e.blob.Off) })
	optional(w, e.blob.N != 0, func() { w.Long(e.blob.N) })
}

// A commit is a manifest of a snapshot: its files inherit the sequence number.
type commit struct {
	spec, sequence int64
	files          []file
}

// snapshot writes snapshot 7 as manifests, one for each commit.
func (f *fixture) snapshot(commits ...commit) {
	var all []listed
	for i, c := range commits {
		w := &avrotest.Writer{}
		for _, e := range c.files {
			if e.status == 0 && e.sequence == 0 {
				e.status = added
			}
			e.write(w)
		}
		content := avrotest.File("deflate", entrySchema, nil, w.Block(int64(len(c.files))))
		path := fmt.Sprintf("%s/metadata/m%d.avro", dir, i)
		f.put(path, content)
		all = append(all, listed{path, len(content), c.spec, c.sequence})
	}
	f.put(listPath, listOf(all...))
}

// vectorOf is the blob of a deletion vector of rows below 65536.
func vectorOf(rows ...uint16) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, 1681511377)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, 12346)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(rows)-1))
	b = binary.LittleEndian.AppendUint32(b, 16)
	for _, row := range rows {
		b = binary.LittleEndian.AppendUint16(b, row)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
	return binary.BigEndian.AppendUint32(append(out, b...), crc32.ChecksumIEEE(b))
}

// deletedRows are the deleted rows of a file of a snapshot.
func deletedRows(s *table.Snapshot, uri string) (rows []int64) {
	for _, f := range s.Files {
		if f.Shard.URI != uri {
			continue
		}
		for row := range f.Rows {
			if f.Deleted.Has(row) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}
