package all_test

import (
	"os"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/mem"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestEachScheme: a store stands under each scheme that it serves.
func TestEachScheme(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	stores := all.Stores()
	stores["mem"].(*mem.Store).Put("a", nil)
	for _, address := range []string{"all_test.go", "file://" + dir + "/all_test.go", "mem://a"} {
		if found, err := stores.List(t.Context(), address); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", address, found, err)
		}
	}
	if _, err := all.Stores().List(t.Context(), "mem://a"); err == nil {
		t.Error("two sets of stores share what they hold")
	}
}
