package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// The verbs of the cache tell what is decoded from the shards, and clear removes it alone.
func TestCacheDecoded(t *testing.T) {
	dir := t.TempDir()
	if cache.Fit(dir) != nil {
		t.Skip("the directory for temporary files cannot hold a cache")
	}
	c, err := cache.Open(cache.Options{Dir: dir, Limit: 1 << 30, DecodedLimit: 1 << 29})
	if err != nil {
		t.Fatal(err)
	}
	var store mem.Store
	store.Put("a", bytes.Repeat([]byte("a"), 1<<20))
	s, err := store.List(t.Context(), "mem://a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fill(t.Context(), &store, s[0], []shard.Span{{N: 1 << 20}}, nil); err != nil {
		t.Fatal(err)
	}
	d := c.OpenDecoded(&store, s[0], "form", 4<<20)
	if err := d.Keep(t.Context(), 1<<20, make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		verb  string
		wants []string
	}{
		{"du", []string{"of 1 shard\n", "decoded", "of them, of 1 shard"}},
		{"ls", []string{"mem://a  encoded  1.0 MiB  1.0 MiB", "mem://a  decoded  4.0 MiB  2.0 MiB"}},
		{"verify", []string{"3.0 MiB of 1 shard, 1 decoded", "nothing"}},
		{"clear --decoded", []string{"0 shards, 1 decoded, 2.0 MiB"}},
		{"ls", []string{"mem://a  encoded"}},
		{"clear", []string{"1 shard, 1.0 MiB"}},
		{"ls", []string{"the cache is empty"}},
	} {
		t.Run(step.verb, func(t *testing.T) {
			code, stdout, stderr := command(t, append([]string{"cache"}, append(strings.Fields(step.verb), "--cache-dir", dir)...)...)
			for _, want := range step.wants {
				if code != 0 || !strings.Contains(stdout, want) {
					t.Errorf("exit %d, %s%s does not say %q", code, stdout, stderr, want)
				}
			}
		})
	}
}
