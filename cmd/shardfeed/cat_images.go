package main

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/imagery"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// imageFacts describes the images of the rows that cat prints; it returns nil if cat prints images
// as they are.
func (c *catCommand) imageFacts(ctx context.Context, ds *iterable.Dataset, shape *loader.Shape) (*imagery.Facts, error) {
	if !c.imageInfo {
		return nil, nil
	}
	parts := []*iterable.Dataset{ds}
	if n := len(c.Sources); n > 0 {
		parts = nil
		for i := range n {
			parts = append(parts, ds.Alone(i))
		}
	}
	found, err := imagery.Find(ctx, parts, shape)
	if err != nil {
		return nil, err
	}
	var files *imagery.Files
	if c.imageDir != "" {
		if len(found) == 0 {
			return nil, fmt.Errorf("--decode-images finds no image: no binary column has one in the first %d rows", imagery.SniffedRows)
		}
		var rows int64
		for _, part := range parts {
			rows += part.Manifest().NumRows() // sources are numbered consecutively
		}
		if files, err = imagery.OpenFiles(c.imageDir, rows); err != nil {
			return nil, err
		}
	}
	return imagery.NewFacts(shape.Schema(), found, files), nil
}
