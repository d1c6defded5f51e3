package main

import (
	"context"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/imagery"
	"github.com/shardfeed/shardfeed/internal/inspect"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// sampleImages adds samples of images.
func (a *app) sampleImages(ctx context.Context, i *inspection, stores shard.Stores, shards []shard.Shard, o rowgroup.Options) (err error) {
	columns := make([][]inspect.Column, len(shards))
	for k := range shards {
		columns[k] = i.Shards[k].Columns
	}
	s := imagery.NewSampling(imagery.MaxPlace, imagery.MaxBytes)
	i.Images, err = s.Take(ctx, stores, shards, columns, o, func(x shard.Shard, err error) {
		a.note("what images are like cannot be told of %s: %v", x.URI, err)
	})
	if err == nil && s.Skipped() > 0 && len(i.Images) == 0 {
		a.note("binary columns were not looked into for images: a place takes %v to read; with a page index, or row groups below %v, it takes less",
			mem.Bytes(s.Skipped()), mem.Bytes(imagery.MaxPlace))
	}
	return err
}
