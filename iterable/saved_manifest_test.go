package iterable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestManifestFile(t *testing.T) {
	d := open(t, files(t, [][]int{{12, 5}, {20}}, noImage), Options{})
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	path, err := d.SaveManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != d.sources[0].data.Content()+".json" {
		t.Errorf("it lies at %s", path)
	}
	m, err := ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	if one := m.Sources[0].Manifest; m.Content() != d.Content() || one.Versions() != d.Versions() || one.Base != "mem://data/" {
		t.Errorf("base %q", one.Base)
	}
	if again, err := d.SaveManifest(dir); err != nil || again != path {
		t.Errorf("saved again at %s: %v", again, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v", left)
	}

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string]string{
		"cut":    string(b[:len(b)/2]),
		"edited": strings.Replace(string(b), `"rows":[20]`, `"rows":[21]`, 1),
		"empty":  "",
	} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, []byte(damaged), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadManifest(p); err == nil || !contains(err.Error(), p) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := ReadManifest(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SaveManifest(filepath.Join(blocked, "below")); err == nil {
		t.Error("saved below a file")
	}
}

// A saved manifest names shards however the addresses are spelled now.
func TestOnlySaved(t *testing.T) {
	saved := &shuffle.Manifest{Base: "/data/", Shards: []shuffle.Shard{{Path: "a/1.parquet", Size: 5, Version: "x"}, {Path: "b/1.parquet", Size: 6, Version: "y"}}}
	found := []shard.Shard{
		{URI: "/data//a/1.parquet", Size: 5, Version: "x"}, {URI: "/data/./b/1.parquet", Size: 6, Version: "y"}, {URI: "/data/c.parquet", Size: 1},
	}
	kept, err := onlySaved(found, saved)
	if err != nil || len(kept) != 2 || kept[0].URI != found[0].URI || kept[1].URI != found[1].URI {
		t.Errorf("%v, %v", kept, err)
	}
	var many []shuffle.Shard
	for i := range 14 {
		many = append(many, shuffle.Shard{Path: string(rune('a'+i)) + ".parquet"})
	}
	_, err = onlySaved(found, &shuffle.Manifest{Base: "/data/", Shards: many})
	var e *ManifestError
	if !errors.As(err, &e) || len(e.Differences) != maxDifferences+1 || !contains(err.Error(), "and 4 more") {
		t.Errorf("error %v", err)
	}
}

func TestManifestErrorText(t *testing.T) {
	inner := errors.New("inner")
	for want, e := range map[string]*ManifestError{
		"the data is not what it was":       {},
		"inner":                             {Err: inner},
		"inner; added a, removed b":         {Err: inner, Differences: []string{"added a", "removed b"}},
		"the data is not what it was; x: y": {Differences: []string{"x: y"}},
	} {
		t.Run(want, func(t *testing.T) {
			if e.Error() != want || e.Err != nil && !errors.Is(e, inner) {
				t.Errorf("got %q, want %q", e.Error(), want)
			}
		})
	}
}

// mixtureState opens sources and takes a state after some steps.
func mixtureState(t *testing.T, store *memstore.Store, o Options) shuffle.State {
	t.Helper()
	_, state := globalRows(t, openMixture(t, store, o), 1, StreamOptions{BatchSize: 10}, 5)
	return state
}

// The list of a mixture has all sources, in one file, and its run finishes on it.
func TestManifestOfSources(t *testing.T) {
	store := &memstore.Store{}
	o := Options{Sources: mixtureSources(t, store, []int{300, 200}, []float64{2, 1})}
	d := openMixture(t, store, o)
	want, _ := globalRows(t, d, 1, StreamOptions{BatchSize: 10}, 0)
	got, state := globalRows(t, d, 1, StreamOptions{BatchSize: 10}, 5)
	path, err := d.SaveManifest(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sourceFiles(t, store, 2, [][]int{{30}})
	store.Put("s1/z.parquet", content(t, store, "s2/part-000.parquet"))
	if o.Manifest, err = ReadManifest(path); err != nil {
		t.Fatal(err)
	}
	more, _ := globalRows(t, openMixture(t, store, o), 1, StreamOptions{BatchSize: 10, State: reparse(t, state)}, 0)
	if got = append(got, more...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("other rows:\n%v, want\n%v", got, want)
	}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"a plain data set": {Options{Manifest: o.Manifest}, `Manifest is of the sources ["s0" "s1"], and there are none`},
		"other sources":    {Options{Order: Order{Shuffle: true}, Manifest: o.Manifest, Sources: []Source{o.Sources[1], o.Sources[0]}}, `Manifest must be of the sources ["s1" "s0"] in this order, got ["s0" "s1"]`},
		"a plain list": {Options{
			Order: Order{Shuffle: true}, Sources: o.Sources, Manifest: &SavedManifest{Sources: []SavedShards{{Manifest: d.sources[0].data}}},
		}, "Manifest is of one data set, and Sources are several"},
	} {
		if err := c.o.Validate(); err == nil || !contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// An error of a state names the shards that differ, of each source, and the ways out.
func TestStateOfOtherSources(t *testing.T) {
	store, dir := &memstore.Store{}, t.TempDir()
	o := Options{Sources: mixtureSources(t, store, []int{300, 200}, []float64{2, 1})}
	state := mixtureState(t, store, o)
	sourceFiles(t, store, 2, [][]int{{30}})
	store.Put("s1/a.parquet", content(t, store, "s2/part-000.parquet"))
	kept := openMixture(t, store, o)
	resume := func(o Options) string {
		t.Helper()
		o.ManifestDir = dir
		_, err := openMixture(t, store, o).Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 10, State: &state})
		if err == nil {
			t.Fatal("the state fits")
		}
		return err.Error()
	}
	got := resume(o)
	for _, want := range []string{`source "s1" had 200 rows then, 230 rows now`, "it is not in " + dir, "Plan", "table/day={1,2}"} {
		if !contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if contains(got, "s0") || contains(got, "added") {
		t.Error(got)
	}
	old := kept.SavedManifest()
	old.Sources[1].Sampled = slices.Repeat([]bool{true}, len(old.Sources[1].Manifest.Shards))
	old.Sources[1].Sampled[0] = false
	if b, err := old.JSON(); err != nil || os.WriteFile(filepath.Join(dir, old.Content()+".json"), b, 0o600) != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, old.Content()+".json")
	if got = resume(o); !contains(got, `; source "s1": added a.parquet; to finish the epoch, give the list of then as Manifest, kept in `+path) {
		t.Error(got)
	}
	store.Remove("s1/a.parquet")
	store.Put("s1/z.parquet", content(t, store, "s2/part-000.parquet"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got = resume(o); !contains(got, `source "s1": added z.parquet`) { // without the list of then
		t.Error(got)
	}
}

// Data that moved is found by the paths of its shards.
func TestManifestOfMovedData(t *testing.T) {
	store := files(t, [][]int{{12, 5}, {20}}, noImage)
	saved := open(t, store, Options{}).SavedManifest()
	saved.Sources[0].Manifest.Base = "mem://elsewhere/table/"
	saved.Sources[0].Manifest.Shards[0].Version = "of then"
	store.Put("data/new.parquet", content(t, store, "data/part-000.parquet"))
	if d := open(t, store, Options{Manifest: saved}); d.NumRows() != 37 {
		t.Errorf("%d rows", d.NumRows())
	}
}
