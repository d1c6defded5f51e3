package iterable

import (
	"context"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// openFiles opens the files of the shop.
func openFiles(t *testing.T, o Options) *Dataset {
	t.Helper()
	d, err := Open(t.Context(), shard.Stores{"": local.Store{}}, []string{"../testdata/shop"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Nothing is kept where there is no tier.
func TestKeepDecodedWithoutTier(t *testing.T) {
	d := openFiles(t, Options{})
	if _, err := d.KeepDecoded(context.Background(), nil, nil); err != ErrNoTier {
		t.Errorf("%v", err)
	}
	if _, ok := d.KeptSpace(); ok {
		t.Error("a data set without a tier tells what it keeps")
	}
}
