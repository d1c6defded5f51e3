package main

import (
	"bytes"
	"context"
	"errors"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/shard"
)

// The generated shop has about its size, enough row groups to mix, and products that are numbered
// in file order with an image each.
func TestGenerateShop(t *testing.T) {
	const size = 6 << 20
	dir := t.TempDir()
	var told int64
	if err := generateShop(context.Background(), dir, size, func(n int64) { told += n }); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(names) != leastGroups/groupsPerShard {
		t.Fatalf("%d shards, %v", len(names), err)
	}
	var bytesOnDisk, next int64
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		bytesOnDisk += info.Size()
		next = checkProducts(t, name, next)
	}
	for what, n := range map[string]int64{"on disk": bytesOnDisk, "told": told} {
		if n < size/2 || n > size*3/2 {
			t.Errorf("%d bytes %s, want about %d", n, what, size)
		}
	}
}

// checkProducts reads a shard whose first product has the number next, and returns the number after
// its last.
func checkProducts(t *testing.T, name string, next int64) int64 {
	t.Helper()
	rows, err := parquet.ReadFile[product](name)
	if err != nil {
		t.Fatal(err)
	}
	var prices int
	for i, p := range rows {
		if got := productNumber([]byte(p.UniqueID)); got != next {
			t.Fatalf("%s: row %d is product %d, want %d", name, i, got, next)
		}
		if p.Price != nil {
			prices++
		}
		next++
	}
	if prices == 0 || prices == len(rows) {
		t.Errorf("%s: %d of %d rows have a price", name, prices, len(rows))
	}
	if _, err := jpeg.Decode(bytes.NewReader(rows[0].Image)); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if bytes.Equal(rows[0].Image, rows[1].Image) {
		t.Errorf("%s: two images are alike", name)
	}
	return next
}

func TestGenerateShopStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	err := generateShop(ctx, t.TempDir(), 1<<40, func(int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

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
