package main

import (
	"io/fs"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/testdata"
)

// embeddedShop puts the shop within the program into a store in memory.
func embeddedShop() (shard.Stores, []string, error) {
	store := &mem.Store{}
	names, err := fs.Glob(testdata.Shop, "shop/*.parquet")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		content, err := testdata.Shop.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		store.Put(name, content)
	}
	return shard.Stores{"mem": store}, []string{"mem://shop"}, nil
}
