// Package all lists the stores that shardfeed knows, in one place that is read and not registered.
package all

import (
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// Stores returns a store for each scheme. The memory store is empty.
func Stores() shard.Stores {
	return shard.Stores{
		"":     local.Store{},
		"file": local.Store{},
		"mem":  &mem.Store{},
	}
}
