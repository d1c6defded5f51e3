package shard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// TestDiscoverFolders: descriptions and checksums beside the parquet files of a directory are left
// out, and that is said once; Strict refuses.
func TestDiscoverFolders(t *testing.T) {
	s := stores(
		"d/a.parquet", "d/x/b.parquet", "d/README.md", "d/meta.json", "d/x/notes.TXT",
		"p/dt=1/a.parquet", "p/dt=1/info.json",
		"only/README.md", "only/meta.json", "only/x/sums.txt",
		"hive/000000_0", "hive/README.md", "mixed/a.parquet", "mixed/LICENSE", "mixed/README.md", "plain/a.parquet", "plain/b.pq",
	)
	s["mem"].(*mem.Store).Put("list", []byte("mem://d\nmem://d/README.md\n"))
	const dFiles = "mem://d/a.parquet mem://d/x/b.parquet"
	for _, c := range []struct{ name, addresses, want, notes, strict string }{
		{
			"a directory", "mem://d", dFiles, "3 files are left out of mem://d, where the other files are parquet: README.md, meta.json and 1 more",
			"mem://d: list: bad address: beside parquet files it holds README.md, meta.json and 1 more (to read its parquet files alone, give mem://d/**/*.parquet)",
		},
		{"with a slash", "mem://d/", "mem://d/a.parquet mem://d/x/b.parquet", "3 files are left out of mem://d/", "beside parquet files it holds"},
		{"partitions", "mem://p", "mem://p/dt=1/a.parquet", "1 file is left out of mem://p, where the other files are parquet: dt=1/info.json", "beside"},
		{"many directories", "mem://d mem://p", dFiles + " mem://p/dt=1/a.parquet", "4 files are left out of mem://d", "beside"},
		{"a file itself", "mem://d/README.md", "mem://d/README.md", "", "ok"},
		{"a pattern", "mem://d/*", "mem://d/README.md mem://d/a.parquet mem://d/meta.json mem://d/x/b.parquet mem://d/x/notes.TXT", "", "ok"},
		{"the pattern of the hint", "mem://d/**/*.parquet", dFiles, "", "ok"},
		{"a file beside its directory", "mem://d mem://d/README.md", "mem://d/README.md " + dFiles, "3 files are left out", "beside"},
		{"in a list file", "@mem://list", "mem://d/README.md " + dFiles, "3 files are left out of mem://d", "line 1 of mem://list"},
		{"only parquet", "mem://plain", "mem://plain/a.parquet mem://plain/b.pq", "", "ok"},
		{"no names of parquet", "mem://hive", "mem://hive/000000_0 mem://hive/README.md", "", "ok"},
		{"other files", "mem://mixed", "mem://mixed/LICENSE mem://mixed/README.md mem://mixed/a.parquet", "", "ok"},
		{
			"nothing else", "mem://only", "error: mem://only: list: does not exist: this directory has no parquet files, only README.md, meta.json and 1 more " +
				"(to read its parquet files alone, give mem://only/**/*.parquet)", "", "this directory has no parquet files",
		},
		{
			"named twice", "mem://plain/a.parquet mem://plain mem://plain/*", "mem://plain/a.parquet mem://plain/b.pq",
			"2 files are named more than once and read once, such as mem://plain/a.parquet", "ok",
		},
		{"one named twice", "mem://plain/a.parquet mem://plain/a.parquet", "mem://plain/a.parquet", "1 file is named more than once and read once", "ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var notes []string
			found, err := shard.Discover(t.Context(), s, strings.Fields(c.addresses), shard.DiscoverOptions{Noted: func(text string) { notes = append(notes, text) }})
			got := strings.Join(uris(found), " ")
			if err != nil {
				got = "error: " + err.Error()
			}
			if want := strings.Fields(c.want); got != c.want && (err != nil || !slices.Equal(sorted(uris(found)), sorted(want))) {
				t.Errorf("got %s", got)
			}
			if said := strings.Join(notes, "; "); !strings.HasPrefix(said, c.notes) || c.notes == "" && said != "" || len(notes) > 1 {
				t.Errorf("it says %q", said)
			}
			_, err = shard.Discover(t.Context(), s, strings.Fields(c.addresses), shard.DiscoverOptions{Strict: true})
			if (err == nil) != (c.strict == "ok") || err != nil && !strings.Contains(err.Error(), c.strict) {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

func sorted(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return all
}
