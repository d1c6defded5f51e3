package delta_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/delta"
)

// watched is a store that keeps the addresses it is asked for.
type watched struct {
	shard.Store
	mu             sync.Mutex
	listed, opened []string
}

func (w *watched) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	w.mu.Lock()
	w.listed = append(w.listed, pattern)
	w.mu.Unlock()
	return w.Store.List(ctx, pattern)
}

func (w *watched) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	w.mu.Lock()
	w.opened = append(w.opened, s.URI)
	w.mu.Unlock()
	return w.Store.Open(ctx, s)
}

// The log is listed and read once, and no data file is asked for.
func TestRequests(t *testing.T) {
	store := &watched{Store: large(t, 20, 20)}
	s, err := delta.Open(t.Context(), "mem://t", options(store, ""))
	if err != nil || len(s.Files) != 40 {
		t.Fatalf("%v, %v", s, err)
	}
	seen := map[string]int{}
	for _, uri := range store.opened {
		most := 1
		if strings.HasSuffix(uri, ".parquet") { // for the footer, too
			most = 2
		}
		if seen[uri]++; !strings.Contains(uri, "/_delta_log/") || seen[uri] > most {
			t.Errorf("opened %s, %d times", uri, seen[uri])
		}
	}
	if len(store.listed) != 1 || len(seen) != 11 {
		t.Errorf("listed %q, opened %q", store.listed, store.opened)
	}
	if f := s.Files[0]; f.Rows < 1000 || f.Shard.Size != 1<<20 || len(f.Constants) != 1 {
		t.Errorf("%+v", f)
	}
	if !slices.IsSortedFunc(s.Files, func(a, b table.File) int { return strings.Compare(a.Shard.URI, b.Shard.URI) }) {
		t.Error("the files are not in order")
	}
}

// head is the protocol and the metadata of a commit.
func head(protocol, schema, partitions, config string) string {
	return fmt.Sprintf(`{"commitInfo":{"timestamp":1700000000000,"operation":"CREATE"}}
{"protocol":%s}
{"metaData":{"id":"u-1","format":{"provider":"parquet"},"schemaString":%q,"partitionColumns":%s,"configuration":%s}}
`, protocol, `{"type":"struct","fields":[`+schema+`]}`, partitions, config)
}

const (
	plainProtocol = `{"minReaderVersion":1,"minWriterVersion":2}`
	idColumn      = `{"name":"id","type":"long","nullable":true,"metadata":{}}`
)

// put writes commits from version 0 on.
func put(store *mem.Store, commits ...string) {
	for v, text := range commits {
		store.Put(fmt.Sprintf("t/_delta_log/%020d.json", v), []byte(text))
	}
}

func addLine(path, more string) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":10,"modificationTime":0,"dataChange":true,"stats":"{\"numRecords\":8}"%s}}`+"\n", path, more)
}

// Columns of types that cannot be read are listed apart, and the others stay readable.
func TestUnreadable(t *testing.T) {
	features := `{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["variantType"],"writerFeatures":["variantType"]}`
	for kind, want := range map[string]table.Unreadable{
		`"variant"`:       {Column: "x", Type: "variant", Part: "x"},
		`"decimal(50,2)"`: {Column: "x", Type: "decimal(50,2)", Part: "x"},
		`{"type":"array","elementType":"odd","containsNull":true}`: {Column: "x", Type: "odd", Part: "x.element"},
	} {
		store := &mem.Store{}
		put(store, head(features, `{"name":"x","type":`+kind+`,"nullable":true,"metadata":{}},`+idColumn, "[]", "{}"))
		s, err := delta.Open(t.Context(), "mem://t", options(store, ""))
		if err != nil || len(s.Fields) != 1 || s.Fields[0].Column.Name != "id" || len(s.Unreadable) != 1 || s.Unreadable[0] != want {
			t.Errorf("%s: %+v, %v", kind, s, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	start := head(plainProtocol, idColumn, "[]", "{}")
	feature := func(names string) string {
		return head(`{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[`+names+`],"writerFeatures":[]}`, idColumn, "[]", "{}")
	}
	vector := func(text string) string { return addLine("a", `,"deletionVector":`+text) }
	for _, c := range []struct {
		name, commit, want string
	}{
		{"version", head(`{"minReaderVersion":4,"minWriterVersion":7}`, idColumn, "[]", "{}"), "needs a reader of version 4"},
		{"feature", feature(`"deletionVectors","catalogManaged"`), "delta+mem://t: table: the table has the feature catalogManaged, which cannot be read (read the table by its catalog's Iceberg"},
		{"features", feature(`"geospatial","abacus"`), "the features abacus, geospatial, which cannot be read (copy the table without its columns of geometries)"},
		{"mapping", head(`{"minReaderVersion":2,"minWriterVersion":5}`, idColumn, "[]", `{"delta.columnMapping.mode":"magic"}`), `"magic"`},
		{"partition column", head(plainProtocol, idColumn, `["dt"]`, "{}"), `lacks the partition column "dt"`},
		{"no metadata", `{"protocol":` + plainProtocol + "}\n", "no protocol or no metadata"},
		{"not JSON", start + "{\n", "not of the known form"},
		{"no path", start + `{"add":{"size":1}}`, "has no path"},
		{"twice", start + addLine("a", "") + vector(`{"storageType":"i","pathOrInlineDv":"^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":44,"cardinality":6}`), "has this file twice"},
		{"vector's rows", start + vector(`{"storageType":"i","pathOrInlineDv":"^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":44,"cardinality":6}`), "has row 11, and the file 8 rows"},
		{"vector's kind", start + vector(`{"storageType":"x","pathOrInlineDv":"a","sizeInBytes":44,"cardinality":6}`), `stored as "x"`},
		{"vector's size", start + vector(`{"storageType":"i","pathOrInlineDv":"a","sizeInBytes":-1,"cardinality":6}`), "has -1 bytes"},
		{"vector's text", start + vector(`{"storageType":"i","pathOrInlineDv":"ab","sizeInBytes":4,"cardinality":6}`), "cannot be decoded"},
		{"vector's name", start + vector(`{"storageType":"u","pathOrInlineDv":"ab","offset":1,"sizeInBytes":4,"cardinality":6}`), "too short"},
		{"vector's file", start + vector(`{"storageType":"p","pathOrInlineDv":"mem://t/d.bin","offset":1,"sizeInBytes":4,"cardinality":6}`), "mem://t/d.bin: list: does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &mem.Store{}
			put(store, c.commit)
			s, err := delta.Open(t.Context(), "mem://t", options(store, ""))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v, want %q", s, err, c.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	store := &mem.Store{}
	start := head(plainProtocol, idColumn, "[]", "{}")
	put(store, start+addLine("a", ""), addLine("b", ""), `{"remove":{"path":"a"}}`, "")
	for _, c := range []struct{ snapshot, files, err string }{
		{"", "mem://t/b", ""},
		{"0", "mem://t/a", ""},
		{"1", "mem://t/a mem://t/b", ""},
		{"3", "mem://t/b", ""},
		{"4", "", "there is no version 4: the table has 0 to 3 (older versions"},
		{"2023-11-14T22:13:20Z", "", "its commits have no times"},
		{"2001-01-01T00:00:00Z", "", "its commits have no times"},
		{"main", "", `the snapshot "main" is neither a version nor a time (the table has the versions 0 to 3`},
	} {
		s, err := delta.Open(t.Context(), "mem://t", options(store, c.snapshot))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %q", c.snapshot, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, f := range s.Files {
			files = append(files, f.Shard.URI)
		}
		if got := strings.Join(files, " "); got != c.files {
			t.Errorf("%q: %s, want %s", c.snapshot, got, c.files)
		}
	}
	store.Remove("t/_delta_log/00000000000000000001.json")
	_, err := delta.Open(t.Context(), "mem://t", options(store, ""))
	if err == nil || !strings.Contains(err.Error(), "the log lacks commit 1, which version 3 needs: it has the versions 0 (restore _delta_log/00000000000000000001.json, or read one of these versions)") {
		t.Errorf("a gap: %v", err)
	}
	store.Put("t/_delta_log/00000000000000000002.checkpoint.0000000001.0000000002.parquet", nil) // half of one
	if _, err := delta.Open(t.Context(), "mem://t", options(store, "2")); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("half a checkpoint: %v", err)
	}
	_, err = delta.Open(t.Context(), "mem://u", options(store, ""))
	if !errors.Is(err, shard.ErrNotExist) || !strings.Contains(err.Error(), "not a Delta table") {
		t.Errorf("no table: %v", err)
	}
}

// vectorFile writes bitmaps, each of the rows up to a number, as a file of vectors has them.
func vectorFile(rows ...uint16) (b []byte, lines []string, offsets []int) {
	b = []byte{1}
	for _, n := range rows {
		bitmap := binary.LittleEndian.AppendUint32(nil, 1681511377)
		bitmap = binary.LittleEndian.AppendUint64(bitmap, 1)
		bitmap = binary.LittleEndian.AppendUint32(bitmap, 0)
		bitmap = binary.LittleEndian.AppendUint32(bitmap, 12346)
		bitmap = binary.LittleEndian.AppendUint32(bitmap, 1)
		bitmap = binary.LittleEndian.AppendUint16(bitmap, 0)
		bitmap = binary.LittleEndian.AppendUint16(bitmap, n-1)
		bitmap = binary.LittleEndian.AppendUint32(bitmap, 0)
		for v := range n {
			bitmap = binary.LittleEndian.AppendUint16(bitmap, v)
		}
		lines = append(lines, fmt.Sprintf(`"offset":%d,"sizeInBytes":%d,"cardinality":%d`, len(b), len(bitmap), n))
		offsets = append(offsets, len(b))
		b = binary.BigEndian.AppendUint32(b, uint32(len(bitmap)))
		b = append(b, bitmap...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(bitmap))
	}
	return b, lines, offsets
}

// Vectors in files: by their UUID and by their path, each file read once, also if there are many.
func TestVectors(t *testing.T) {
	for _, files := range []int{1, 20} {
		store := &watched{Store: &mem.Store{}}
		inner := store.Store.(*mem.Store)
		commit := head(plainProtocol, idColumn, "[]", "{}")
		b, lines, _ := vectorFile(3, 1, 8)
		for i := range files {
			name := fmt.Sprintf("t/deletion_vector_00000000-0000-0000-0000-%012x.bin", i)
			inner.Put(name, b)
			id := "00000000000000" + z85(uint32(i))
			for k, place := range lines {
				how := fmt.Sprintf(`{"storageType":"u","pathOrInlineDv":%q,%s}`, id[len(id)-20:], place)
				if i == 0 {
					how = fmt.Sprintf(`{"storageType":"p","pathOrInlineDv":"mem://%s",%s}`, name, place)
				}
				commit += addLine(fmt.Sprintf("f-%d-%d", i, k), `,"deletionVector":`+how)
			}
		}
		put(inner, commit)
		s, err := delta.Open(t.Context(), "mem://t", options(store, ""))
		if err != nil || len(s.Files) != 3*files {
			t.Fatalf("%v, %v", s, err)
		}
		for i, f := range s.Files {
			if n := []int64{3, 1, 8}[i%3]; f.Deleted.Len() != n || !f.Deleted.Has(n-1) {
				t.Errorf("%s: %d rows, want %d", f.Shard.URI, f.Deleted.Len(), n)
			}
		}
		if len(store.opened) != 1+files || len(store.listed) != 2 {
			t.Errorf("%d files: listed %q, opened %q", files, store.listed, store.opened)
		}
		b[20] ^= 1
		inner.Put("t/deletion_vector_00000000-0000-0000-0000-000000000000.bin", b)
		if _, err := delta.Open(t.Context(), "mem://t", options(store, "")); !errors.Is(err, shard.ErrCorrupt) || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("a damaged vector: %v", err)
		}
		b[20] ^= 1
	}
}

// memory keeps deleted rows.
type memory map[string]table.Rows

func (m memory) Kept(s shard.Shard, name [16]byte) (table.Rows, bool) {
	rows, ok := m[fmt.Sprint(s.URI, name)]
	return rows, ok
}

func (m memory) Keep(found []table.Found) {
	for _, f := range found {
		m[fmt.Sprint(f.Shard.URI, f.Name)] = f.Rows
	}
}

// A second opening reads no vectors, and one of a later version the new ones.
func TestVectorsAreKept(t *testing.T) {
	store := &watched{Store: &mem.Store{}}
	b, lines, _ := vectorFile(3, 1)
	store.Store.(*mem.Store).Put("t/v.bin", b)
	o := options(store, "")
	kept := memory{}
	o.Keeper = kept
	for i, c := range []struct {
		place, vectors int
		rows           int64
	}{{0, 1, 3}, {0, 0, 3}, {1, 1, 1}, {1, 0, 1}, {0, 0, 3}} {
		commit := head(plainProtocol, idColumn, "[]", "{}") +
			addLine("f", fmt.Sprintf(`,"deletionVector":{"storageType":"p","pathOrInlineDv":"mem://t/v.bin",%s}`, lines[c.place]))
		put(store.Store.(*mem.Store), commit)
		store.opened, store.listed = nil, nil
		s, err := delta.Open(t.Context(), "mem://t", o)
		if err != nil {
			t.Fatal(err)
		}
		if f := &s.Files[0]; f.Deleted.Len() != c.rows || f.DeletedBy[table.ByVector] != c.rows {
			t.Errorf("opening %d: %d rows, %v, want %d", i, f.Deleted.Len(), f.DeletedBy, c.rows)
		}
		if len(store.opened) != 1+c.vectors || len(store.listed) != 1+c.vectors {
			t.Errorf("opening %d: listed %q, opened %q, want %d of vectors", i, store.listed, store.opened, c.vectors)
		}
	}
	if len(kept) != 2 {
		t.Errorf("%d vectors are kept, want 2", len(kept))
	}
}

// z85 spells a number in base 85, as ten characters.
func z85(n uint32) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
	b := []byte("0000000000")
	for i := 9; n > 0; i-- {
		b[i] = letters[n%85]
		n /= 85
	}
	return string(b)
}
