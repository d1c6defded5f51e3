package main

import (
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/all"
)

// stores is the one place where stores and what is put around them are chosen.
func stores() shard.Stores {
	return all.Stores()
}
