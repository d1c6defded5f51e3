package main

import (
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// What is read is bounded: by the place, and in all.
func TestInspectedImagesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.parquet")
	writePictures(t, path, pictures(t))
	stores, err := (&flags{}).at(nil).Stores(shardfeed.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close()
	shards, err := shard.Discover(t.Context(), stores, []string{path}, shard.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sample := func(maxPlace, maxAll int64) *imageSampling {
		s := newImageSampling(maxPlace, maxAll)
		if err := s.shard(t.Context(), stores, shards[0], []string{"img", "other"}, rowgroup.Options{}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := sample(1<<20, 1<<20)
	whole := s.bytes
	if got := s.by["img"].Sampled; got != 9 || s.skipped != 0 || !s.without["other"] {
		t.Errorf("%d images, %d bytes skipped, columns without images %v", got, s.skipped, s.without)
	}
	for name, c := range map[string]struct{ maxPlace, maxAll, images int64 }{
		"one byte less in all": {1 << 20, whole - 1, 5},
		"a small place":        {1, 1 << 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample(c.maxPlace, c.maxAll)
			got := int64(0)
			if s.by["img"] != nil {
				got = s.by["img"].Sampled
			}
			if got != c.images || s.skipped == 0 || s.bytes > c.maxAll {
				t.Errorf("%d images of %d bytes, %d skipped; want %d images", got, s.bytes, s.skipped, c.images)
			}
		})
	}
}
