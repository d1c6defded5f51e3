package main

import (
	"context"
	"io"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func TestEmbeddedShop(t *testing.T) {
	stores, addresses, err := embeddedShop()
	if err != nil {
		t.Fatal(err)
	}
	shards, err := shard.Discover(context.Background(), stores, addresses, shard.DiscoverOptions{})
	if err != nil || len(shards) != 8 {
		t.Fatalf("%d shards, %v", len(shards), err)
	}
	o, err := stores.Open(context.Background(), shards[7])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	magic := make([]byte, 4)
	if err := o.ReadAt(context.Background(), magic, 0); err != nil || string(magic) != "PAR1" {
		t.Errorf("begins with %q, %v", magic, err)
	}
	if err := o.ReadAt(context.Background(), magic, shards[7].Size); err == io.EOF || err == nil {
		t.Errorf("past the end: %v", err)
	}
}
