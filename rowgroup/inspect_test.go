package rowgroup

import (
	"context"
	"testing"
)

func TestInspectShop(t *testing.T) {
	store, shards := shopShards(t)
	r, err := Inspect(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.String())
}
