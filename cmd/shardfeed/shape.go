package main

import (
	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/loader"
)

// shapeOf is how the features shape the columns of an open data set.
func shapeOf(ds *shardfeed.Dataset) (*loader.Shape, error) {
	shape, err := ds.Shape()
	if err != nil {
		return nil, usagef("%s", option.Spelled(err, option.Flag))
	}
	return shape, nil
}
