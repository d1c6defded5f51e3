package inspect

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/mem"
)

var rewrite = flag.Bool("rewrite", false, "write golden files")

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
		t.Errorf("got\n%s\nwant (%s; -rewrite writes it)\n%s", got, path, want)
	}
}

// putFiles stores files of testdata in memory, by their names there, and lists them.
func putFiles(t *testing.T, files map[string]string) (shard.Store, []shard.Shard) {
	t.Helper()
	store := &mem.Store{}
	for name, from := range files {
		b, err := os.ReadFile("testdata/" + from)
		if err != nil {
			t.Fatal(err)
		}
		store.Put("t/"+name, b)
	}
	shards, err := store.List(t.Context(), "mem://t")
	if err != nil {
		t.Fatal(err)
	}
	return store, shards
}

// In all files but paged.parquet only the footer means anything.
func TestInspect(t *testing.T) {
	store, shards := putFiles(t, map[string]string{
		"a.parquet": "paged.parquet", "b/0.parquet": "nested.parquet", "b/1.parquet": "lzo.parquet", "empty.parquet": "empty.parquet",
	})
	o := rowgroup.Options{IndexDir: t.TempDir() + "/index"}
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
	store := &local.Store{}
	shards, err := store.List(t.Context(), filepath.Join("..", "..", "testdata", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Inspect(context.Background(), store, shards, rowgroup.Options{})
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

// Columns that share a path in one shard are counted apart, in total too; names that would break
// the table are quoted.
func TestInspectNames(t *testing.T) {
	store, shards := putFiles(t, map[string]string{"a.parquet": "names.parquet", "b.parquet": "names.parquet"})
	r, err := Inspect(context.Background(), store, shards, rowgroup.Options{})
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
		t.Run(name, func(t *testing.T) {
			if got := plainName(name); got != want {
				t.Errorf("%s", got)
			}
		})
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
			}, {Path: "n_tokens", Type: "int32", physical: format.Int32}},
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
			"write row groups of at most 125,000 rows",
		}},
		{"shuffle", func(r *Report) { r.Total.LargestBytes = 2 * gib }, []string{
			"row_group_over_shuffle: row groups of up to 2.0 GiB uncompressed are large beside a shuffle buffer of 2.0 GiB: it holds 8 units at a time",
			"write row groups of at most 31000 rows (64.0 MiB), or give a larger shuffle buffer",
		}},
		{"shuffle of less data", func(r *Report) { r.Total.LargestBytes, r.Total.Uncompressed = 100*mib, gib }, []string{
			"row_group_over_shuffle: row groups of up to 100 MiB uncompressed are large beside a shuffle buffer of 128 MiB: it holds 8 units at a time",
			"write row groups of at most 390000 rows (4.0 MiB), or give a larger shuffle buffer",
		}},
		{"small data is mixed whole", func(r *Report) { r.Total.LargestBytes, r.Total.Uncompressed = 100*mib, 200*mib }, nil},
		{"no page index", func(r *Report) { r.Total.PageIndex = ShareSome }, []string{
			"no_page_index: some of the column chunks have a page index, so row groups of up to 50.0 MiB are shuffled whole", "write_page_index=True",
		}},
		{"small groups need no page index", func(r *Report) { r.Total.PageIndex, r.Total.LargestBytes = ShareNone, 20*mib }, nil},
		{"tokens", func(r *Report) { r.Total.Columns[0].Encodings = []string{"PLAIN", "RLE"} }, []string{
			`plain_tokens: column "tokens.list.element" holds 100 GiB of integers in PLAIN`, "use_dictionary=True",
		}},
		{"no lengths", func(r *Report) { r.Total.Columns[1].Path = "id" }, []string{
			`no_list_lengths: column "tokens.list.element" holds 100 GiB of compressed lists, and no column their lengths`, `data_page_version="2.0"`,
		}},
		{"lists as they are", func(r *Report) { r.Total.Columns[1].Path, r.Total.Columns[0].Codecs = "id", []string{"UNCOMPRESSED"} }, nil},
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

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 150 << 10: "150 KiB", 1 << 30: "1.0 GiB", 1 << 62: "4.0 EiB"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := formatBytes(n); got != want {
				t.Errorf("%d is %s, want %s", n, got, want)
			}
		})
	}
}
