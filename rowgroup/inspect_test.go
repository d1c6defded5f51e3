package rowgroup

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant (%s; -rewrite writes it anew)\n%s", got, path, want)
	}
}

func TestInspect(t *testing.T) {
	lzo := fakeFile{schema: nestedSchema, rows: []int{10, 20, 0}, meta: func(m *format.FileMetaData) {
		m.RowGroups[0].Columns[0].MetaData.Codec = format.LZO
		m.CreatedBy = "another writer"
	}}
	store, shards := putFiles(t, map[string][]byte{
		"a.parquet":     pagedFile(t, 200, 100),
		"b/0.parquet":   fakeFile{schema: nestedSchema, rows: []int{10, 20}}.bytes(t),
		"b/1.parquet":   lzo.bytes(t),
		"empty.parquet": fakeFile{schema: nestedSchema}.bytes(t),
	})
	o := Options{IndexDir: t.TempDir() + "/index"}
	for range 2 { // from the footers, then from the index
		r, err := Inspect(context.Background(), store, shards, o)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "inspect.txt", r.String())
		b, err := json.MarshalIndent(r.Shards[0], "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "inspect.json", string(b)+"\n")
	}
}

func TestInspectShop(t *testing.T) {
	store, shards := shopShards(t)
	r, err := Inspect(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Rows != 2026 || r.Total.RowGroups != 24 || len(r.Shards) != 8 || len(r.Total.Columns) != 6 || r.Total.PageIndex != ShareSome || len(r.Warnings) != 0 {
		t.Errorf("report is\n%s", r)
	}
	for _, s := range r.Shards {
		for _, c := range s.Columns {
			if c.PageBytes <= 0 || c.PageBytes > c.Compressed {
				t.Errorf("%s: a page of %s has %d bytes of %d", s.URI, c.Path, c.PageBytes, c.Compressed)
			}
		}
	}
}

// Without a page index the page size is that of the first data page, behind the dictionary.
func TestInspectFirstPage(t *testing.T) {
	b := pagedFile(t, 500)
	indexed, err := footerOf(t, b)
	if err != nil {
		t.Fatal(err)
	}
	end := len(b) - parquet.TailBytes
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[end-footerSize(b):end], &m); err != nil {
		t.Fatal(err)
	}
	for i := range m.RowGroups[0].Columns {
		m.RowGroups[0].Columns[i].OffsetIndexOffset, m.RowGroups[0].Columns[i].OffsetIndexLength = 0, 0
	}
	store, shards := putFiles(t, map[string][]byte{"a.parquet": appendFooter(t, b[:end-footerSize(b)], &m)})
	r, err := Inspect(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range r.Shards[0].Columns {
		page := indexed.Chunks[i].Pages[0]
		var header parquet.PageHeader
		if err := parquet.ParsePageHeader(b[indexed.Chunks[i].Start+page.Off:], &header); err != nil {
			t.Fatal(err)
		}
		if want := page.Size - int64(header.Bytes); c.PageBytes != want || c.Pages != 0 {
			t.Errorf("column %s: the first page has %d bytes, want %d", c.Path, c.PageBytes, want)
		}
	}
}

// Columns that share a path in one shard are counted apart, in total too; names that would break
// the table are quoted.
func TestInspectNames(t *testing.T) {
	same := fakeFile{schema: "optional int32 x; optional int64 a.b; optional group a { optional int64 b; } optional int32 x;", rows: []int{10}}.bytes(t)
	store, shards := putFiles(t, map[string][]byte{"a.parquet": same, "b.parquet": same})
	r, err := Inspect(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range r.Total.Columns {
		paths = append(paths, c.Path)
		if c.Compressed != 200 {
			t.Errorf("column %s has %d bytes", c.Path, c.Compressed)
		}
	}
	if got := strings.Join(paths, " "); got != "x a.b a.b x" {
		t.Errorf("columns %s", got)
	}
	for name, want := range map[string]string{
		"a.b": "a.b", "한글": "한글", "": `""`, " ": `" "`, "n\nl": `"n\nl"`, "\u2028": `"\u2028"`, "a b": "a b", "\x1b[2J": `"\x1b[2J"`,
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestInspectWarnings(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	good := func() *Report {
		c := Content{
			FileBytes: 100 * gib, FooterBytes: 10 * mib, Rows: 100_000_000, RowGroups: 4000, LargestRowGroup: 25_000, LargestBytes: 50 * mib,
			LargestEncoded: 25 * mib, Compressed: 100 * gib, Uncompressed: 200 * gib, PageIndex: ShareAll,
			Columns: []Column{{
				Path: "tokens.list.element", Type: "int32", Uncompressed: 100 * gib, physical: format.Int32, repeated: true,
				Encodings: []string{"PLAIN", "RLE", "RLE_DICTIONARY"}, Codecs: []string{"SNAPPY"},
			}},
		}
		return &Report{Total: c, Shards: []ShardReport{{URI: "a", Content: c}}}
	}
	for _, c := range []struct {
		name   string
		change func(r *Report)
		want   []string
	}{
		{"nothing", func(*Report) {}, nil},
		{"block", func(r *Report) { r.Shards[0].LargestEncoded = 200 * mib }, []string{
			"row_group_over_block: 1 of 1 shard has row groups over 128 MiB (the largest has 200 MiB, in a), so that one lies in two HDFS blocks or more",
			"write row groups of at most 125000 rows",
		}},
		{"shuffle", func(r *Report) { r.Total.LargestBytes = 2 * gib }, []string{
			"row_group_over_shuffle: row groups of up to 2.0 GiB uncompressed are large beside a shuffle buffer of 2.0 GiB: it holds 8 units at a time",
			"write row groups of at most 31000 rows (64.0 MiB), or give a larger shuffle buffer",
		}},
		{"small data is mixed whole", func(r *Report) { r.Total.LargestBytes, r.Total.Uncompressed = 100*mib, 200*mib }, nil},
		{"no page index", func(r *Report) { r.Total.PageIndex = ShareSome }, []string{
			"no_page_index: some of the column chunks have a page index, so row groups of up to 50.0 MiB are shuffled whole", "write_page_index=True",
		}},
		{"small groups need no page index", func(r *Report) { r.Total.PageIndex, r.Total.LargestBytes = ShareNone, 20*mib }, nil},
		{"tokens", func(r *Report) { r.Total.Columns[0].Encodings = []string{"PLAIN", "RLE"} }, []string{
			`plain_tokens: column "tokens.list.element" holds 100 GiB of integers in PLAIN`, "use_dictionary=True",
		}},
		{"floats", func(r *Report) {
			r.Total.Columns[0].Encodings, r.Total.Columns[0].physical = []string{"PLAIN", "RLE"}, format.Float
		}, nil},
		{"tiny groups", func(r *Report) { r.Total.RowGroups = 10_000_000 }, []string{"tiny_row_groups: 10000000 row groups hold 10.5 KiB each", "write row groups of 7800 rows or more"}},
		{"footer", func(r *Report) { r.Shards[0].FooterBytes = 6 * gib }, []string{"large_footer: the footer of a is 6.0 GiB of its 100 GiB", "no statistics"}},
		{"codec", func(r *Report) { r.Total.Columns[0].unreadable = "it is compressed with LZO" }, []string{`unreadable: column "tokens.list.element" cannot be read: it is compressed with LZO`, "leave the column out"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := good()
			c.change(r)
			all := r.warnings()
			text := ""
			for _, w := range all {
				text += w.Kind + ": " + w.Text + "\n" + w.Do + "\n"
			}
			if c.want == nil && len(all) > 0 || c.want != nil && len(all) != 1 {
				t.Errorf("warnings are\n%s", text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("warnings are\n%swant %q", text, want)
				}
			}
		})
	}
}

// What cannot be read is refused when it is asked for, and only then.
func TestUnreadableColumn(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(c *format.ColumnChunk)
	}{
		{"LZO", "it is compressed with LZO (codec 3), which cannot be read", func(c *format.ColumnChunk) { c.MetaData.Codec = format.LZO }},
		{"a codec of the future", "it is compressed with CompressionCodec(?) (codec 99), which cannot be read", func(c *format.ColumnChunk) { c.MetaData.Codec = 99 }},
		{"encrypted", "encrypted parquet is not supported", func(c *format.ColumnChunk) {
			c.CryptoMetadata.Value = &format.EncryptionWithColumnKey{PathInSchema: []string{"b"}}
			c.MetaData = format.ColumnMetaData{}
		}},
	} {
		f := fakeFile{schema: `required int32 a; required int32 b;`, rows: []int{5}, meta: func(m *format.FileMetaData) {
			c.change(&m.RowGroups[0].Columns[1])
		}}
		store, shards := putFiles(t, map[string][]byte{"a.parquet": f.bytes(t)})
		_, err := Open(context.Background(), store, shards, Options{})
		want := `mem://t/a.parquet: row group 0, column "b": ` + c.want + ` (leave the column out, or write it in another way)`
		if err == nil || err.Error() != want {
			t.Errorf("%s: error is %v\nwant     %s", c.name, err, want)
		}
		m, err := Open(context.Background(), store, shards, Options{Columns: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 150 << 10: "150 KiB", 1 << 30: "1.0 GiB", 1 << 62: "4.0 EiB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// The pages of shards without a page index are looked at side by side, and the first error in order
// is the one.
func TestInspectSideBySide(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 60))
	far := &farStore{Store: store, latency: 10 * time.Millisecond}
	dir := t.TempDir()
	if _, err := Inspect(t.Context(), far, shards, Options{IndexDir: dir}); err != nil {
		t.Fatal(err)
	}
	far.reads.Store(0)
	far.most.Store(0)
	r, err := Inspect(t.Context(), far, shards, Options{IndexDir: dir})
	if err != nil || len(r.Shards) != 60 || r.Shards[7].URI != shards[7].URI {
		t.Fatalf("%d shards, error %v", len(r.Shards), err)
	}
	if n, most := far.reads.Load(), far.most.Load(); n != 120 || most < 20 || most > 64 {
		t.Errorf("%d reads, %d at a time", n, most)
	}
	broken := &recordingStore{Store: store, noViews: true, fail: errors.New("the wire is cut")}
	if _, err = Inspect(t.Context(), broken, shards, Options{IndexDir: dir}); err == nil || !strings.HasPrefix(err.Error(), shards[0].URI) {
		t.Errorf("error %v", err)
	}
	if broken.open != 0 {
		t.Errorf("%d shards stay open", broken.open)
	}
}
