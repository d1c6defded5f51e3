package main

import (
	"sync"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/engine"
)

// mostSummed bounds the row groups whose bytes are added up for verdicts.
const mostSummed = 200_000

// keptOf returns the local disk's part in a data set. The first call adds up its bytes.
func keptOf(ds *shardfeed.Dataset) func() engine.Kept {
	needed := sync.OnceValue(func() (k engine.Kept) {
		for _, m := range ds.Manifests() {
			if len(m.Groups()) > mostSummed {
				return engine.Kept{}
			}
			for g, group := range m.Groups() {
				narrow, wide := m.DecodedBytes(g)
				k.CacheNeeded += group.Compressed
				k.DecodedNeeded += narrow + wide
			}
		}
		return k
	})
	return func() engine.Kept {
		k := needed()
		if c, _ := ds.Cache(); c != nil {
			k.CacheLimit, k.DecodedLimit = c.Limit(), c.DecodedLimit()
		}
		return k
	}
}
