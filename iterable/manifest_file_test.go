package iterable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestManifestFile(t *testing.T) {
	d := open(t, files(t, [][]int{{12, 5}, {20}}, noImage), Options{})
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	path, err := d.SaveManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != d.data.Content()+".json" {
		t.Errorf("it lies at %s", path)
	}
	m, err := ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	if m.Content() != d.data.Content() || m.Versions() != d.data.Versions() || m.Base != "mem://data/" {
		t.Errorf("base %q", m.Base)
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
