package main

import (
	"path/filepath"
	"sort"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/imagery"
	"github.com/shardfeed/shardfeed/internal/inspect"
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
	binary := func(name string) inspect.Column { return inspect.Column{Path: name, Type: "binary", Values: 9} }
	columns := [][]inspect.Column{{binary("img"), binary("other")}}
	sample := func(maxPlace, maxAll int64) (images, skipped int64) {
		s := imagery.NewSampling(maxPlace, maxAll)
		all, err := s.Take(t.Context(), stores, shards, columns, rowgroup.Options{}, func(_ shard.Shard, err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			if x.Column != "img" {
				t.Errorf("column %s has images", x.Column)
			}
			images += x.Sampled
		}
		return images, s.Skipped()
	}
	if images, skipped := sample(1<<20, 1<<20); images != 9 || skipped != 0 {
		t.Errorf("%d images, %d bytes skipped", images, skipped)
	}
	whole := sort.Search(1<<20, func(most int) bool {
		images, _ := sample(1<<20, int64(most))
		return images == 9
	})
	for name, c := range map[string]struct{ maxPlace, maxAll, images int64 }{
		"one byte less in all": {1 << 20, int64(whole) - 1, 5},
		"a small place":        {1, 1 << 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			images, skipped := sample(c.maxPlace, c.maxAll)
			if images != c.images || skipped == 0 {
				t.Errorf("%d images, %d bytes skipped; want %d images", images, skipped, c.images)
			}
		})
	}
}
