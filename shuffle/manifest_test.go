package shuffle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestManifestRefuses(t *testing.T) {
	for name, spoil := range map[string]func(m *Manifest){
		"twice":       func(m *Manifest) { m.Shards[1].Path = m.Shards[0].Path },
		"unsorted":    func(m *Manifest) { m.Shards[0].Path = "z" },
		"size":        func(m *Manifest) { m.Shards[0].Size = -1 },
		"shard":       func(m *Manifest) { m.Groups[3].Shard = 9 },
		"no shard":    func(m *Manifest) { m.Groups[0].Shard = -1 },
		"shard order": func(m *Manifest) { m.Groups[0].Shard = 1 },
		"index":       func(m *Manifest) { m.Groups[1].Index = 2 },
		"first index": func(m *Manifest) { m.Groups[0].Index = 1 },
		"rows":        func(m *Manifest) { m.Groups[1].Rows = -1 },
		"overflow":    func(m *Manifest) { m.Groups[0].Rows, m.Groups[1].Rows = 1<<62, 1<<62 },
	} {
		t.Run(name, func(t *testing.T) {
			m := manifestOf([]int64{10, 20}, []int64{30}, []int64{40})
			if err := m.Validate(); err != nil {
				t.Fatal(err)
			}
			if spoil(m); m.Validate() == nil {
				t.Errorf("%s: accepted", name)
			}
		})
	}
}

// Any change of a path, a size, the rows or the number of groups is another content; a version is
// not.
func TestManifestHashes(t *testing.T) {
	build := func() *Manifest { return manifestOf([]int64{10, 20}, []int64{30}, nil) }
	content, versions := build().Content(), build().Versions()
	for _, c := range []struct {
		name                 string
		change               func(m *Manifest)
		content, versionsToo bool // must change
	}{
		{"nothing", func(*Manifest) {}, false, false},
		{"base", func(m *Manifest) { m.Base = "s3://elsewhere/" }, false, false},
		{"path", func(m *Manifest) { m.Shards[1].Path += "x" }, true, true},
		{"size", func(m *Manifest) { m.Shards[1].Size++ }, true, true},
		{"version", func(m *Manifest) { m.Shards[1].Version = "2" }, false, true},
		{"rows", func(m *Manifest) { m.Groups[0].Rows++ }, true, false},
		{"rows of two groups", func(m *Manifest) { m.Groups[0].Rows++; m.Groups[1].Rows-- }, true, false},
		{"a group more", func(m *Manifest) { m.Groups = append(m.Groups, Group{Shard: 2}) }, true, false},
		{"a group of another shard", func(m *Manifest) { m.Groups[1] = Group{Shard: 1}; m.Groups[2].Index = 1 }, true, false},
		{"a shard more", func(m *Manifest) { m.Shards = append(m.Shards, Shard{Path: "z"}) }, true, true},
		{"a shard fewer", func(m *Manifest) { m.Shards = m.Shards[:2] }, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := build()
			if c.change(m); (m.Content() != content) != c.content || (m.Versions() != versions) != c.versionsToo {
				t.Errorf("content changed %t, versions changed %t", m.Content() != content, m.Versions() != versions)
			}
		})
	}
}

func TestSavedManifest(t *testing.T) {
	for n := range uint64(50) {
		r := newRNG("test", 10, n)
		m := randomManifest(&r, 9, 5, 0, 1<<40)
		m.Base = "s3://bucket/table/"
		data, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseManifest(data)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Shards, m.Shards) || !slices.Equal(got.Groups, m.Groups) || got.Base != m.Base {
			t.Fatalf("case %d: %+v became %+v", n, m, got)
		}
	}
}

func TestSavedManifestRefuses(t *testing.T) {
	data, err := goldenManifest().JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"v":1`, `"v":2`},
		{`3000`, `3001`},
		{`"size":1000`, `"size":1001`},
		{`"version":"1"`, `"version":"2"`},
		{`part-000002`, `part-000001`},
		{`[10]`, `[-10]`},
		{`]}]}`, `]}]`},
		{`"content":"`, `"content":"0`},
	} {
		changed := strings.Replace(string(data), c[0], c[1], 1)
		if changed == string(data) {
			t.Fatalf("%s is not in the manifest", c[0])
		}
		if _, err := ParseManifest([]byte(changed)); err == nil {
			t.Errorf("%s for %s is accepted", c[1], c[0])
		}
	}
	bad := manifestOf([]int64{1})
	bad.Shards[0].Path = "caf\xe9.parquet"
	if _, err := bad.JSON(); err == nil {
		t.Error("a path that is not UTF-8 is saved, and could not be read back")
	}
}

func TestDifferences(t *testing.T) {
	was := manifestOf([]int64{10, 20}, []int64{30}, []int64{40}, []int64{50}, []int64{60})
	now := manifestOf([]int64{10, 20}, []int64{31}, []int64{40, 1}, []int64{50}, []int64{60})
	now.Shards[0].Version = "2"
	now.Shards[3].Size = 7
	now.Shards[4].Path = "part-000005.parquet"
	want := []string{
		"changed part-000000.parquet: version 1, now 2",
		"changed part-000001.parquet: other rows per row group",
		"changed part-000002.parquet: 1 row groups, now 2",
		"changed part-000003.parquet: 1003 bytes, now 7",
		"removed part-000004.parquet",
		"added part-000005.parquet",
	}
	if got := was.Differences(now, 10); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got := was.Differences(now, 2); len(got) != 3 || got[2] != "and 4 more" {
		t.Errorf("at most 2: %q", got)
	}
	if got := was.Differences(was, 2); len(got) != 0 {
		t.Errorf("of itself: %q", got)
	}
}

// Paths are compared below the directory of both lists.
func TestDifferencesOfBases(t *testing.T) {
	of := func(base string, paths ...string) *Manifest {
		m := &Manifest{Base: base}
		for _, p := range paths {
			m.Shards = append(m.Shards, Shard{Path: p, Size: 5})
		}
		return m
	}
	for _, c := range []struct {
		was, now *Manifest
		want     string
	}{
		{of("s3://b/t/dt=26/", "x"), of("s3://b/t/", "dt=26/x", "dt=27/x"), "[added dt=27/x]"},
		{of("s3://b/t/", "dt=26/x", "dt=27/x"), of("s3://b/t/dt=26/", "x"), "[removed dt=27/x]"},
		{of("/a/t/", "x", "y"), of("/b/t/", "x"), "[removed y]"},
		{of("/t/dt=26/", "x"), of("/t/dt=27/", "y"), "[removed dt=26/x added dt=27/y]"},
	} {
		if got := fmt.Sprint(c.was.Differences(c.now, 9)); got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.was.Base, c.now.Base, got, c.want)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	data, err := goldenManifest().JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"v":1,"shards":[{"path":"a","rows":[9223372036854775807,1]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		again, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
