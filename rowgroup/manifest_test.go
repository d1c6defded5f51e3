package rowgroup

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

func shopShards(t *testing.T) (shard.Store, []shard.Shard) {
	t.Helper()
	store := &local.Store{}
	shards, err := store.List(context.Background(), filepath.Join("..", "testdata", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	return store, shards
}

func TestOpenShop(t *testing.T) {
	store, shards := shopShards(t)
	m, err := Open(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var schema strings.Builder
	for _, f := range m.Schema().Fields {
		fmt.Fprintf(&schema, "%s %v %v\n", f.Name, f, f.Nullable)
	}
	const want = "unique_id string true\nimg_jpg binary true\ntitle string true\ntoken_ids list<int32> true\nlabel string true\nprice double true\n"
	if schema.String() != want {
		t.Errorf("schema is\n%swant\n%s", &schema, want)
	}
	rows := int64(0)
	for _, g := range m.Groups() {
		rows += g.Rows
		r, err := m.Fetch(context.Background(), Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Hi: g.Rows})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.chunks) != 6 || r.Bytes() != g.Compressed || !r.mapped {
			t.Errorf("group %v: %d chunks, %d bytes, mapped %v", g, len(r.chunks), r.Bytes(), r.mapped)
		}
		r.Release()
	}
	if rows != 2026 || m.NumRows() != rows {
		t.Errorf("%d rows in groups, %d in all", rows, m.NumRows())
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}
