package all_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/azure"
	"github.com/shardfeed/shardfeed/shard/gs"
	"github.com/shardfeed/shardfeed/shard/hub"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/s3"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestEachScheme: a store stands under each scheme that it serves.
func TestEachScheme(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	stores := all.Stores(all.Options{})
	stores["mem"].(*mem.Store).Put("a", nil)
	for _, address := range []string{"all_test.go", "file://" + dir + "/all_test.go", "mem://a"} {
		if found, err := stores.List(t.Context(), address); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", address, found, err)
		}
	}
	if _, err := all.Stores(all.Options{}).List(t.Context(), "mem://a"); err == nil {
		t.Error("two sets of stores share what they hold")
	}
	want := "|abfs|abfss|az|file|gcs|gs|hdfs|hf|http|https|mem|s3|s3a|s3n|swebhdfs|viewfs|wasb|wasbs|webhdfs"
	if got := strings.Join(slices.Sorted(maps.Keys(stores)), "|"); got != want {
		t.Errorf("schemes %s, want %s", got, want)
	}
	if err := stores.Close(); err != nil {
		t.Errorf("stores that were not used: %v", err)
	}
}

// TestShared: the names of one kind of server share one store, and so its connections and its
// account of requests.
func TestShared(t *testing.T) {
	stores := all.Stores(all.Options{S3: s3.Options{MaxRequests: 3}})
	for _, names := range [][]string{{"s3", "s3a", "s3n"}, {"hdfs", "viewfs"}, {"webhdfs", "swebhdfs"}, {"gs", "gcs"}, {"az", "abfs", "abfss", "wasb", "wasbs"}} {
		for _, name := range names {
			if stores[name] != stores[names[0]] {
				t.Errorf("%s:// and %s:// have two stores", name, names[0])
			}
		}
	}
	if got := stores.Parallel("s3://bucket/key"); got != 3 {
		t.Errorf("%d reads in parallel, want what the options say", got)
	}
	if err := stores.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnused: figures and the end of stores that nothing was read from look up no setting.
func TestUnused(t *testing.T) {
	getenv := func(name string) string {
		t.Errorf("%s is looked up", name)
		return ""
	}
	stores := all.Stores(all.Options{Hub: hub.Options{Getenv: getenv}, GS: gs.Options{Getenv: getenv}, Azure: azure.Options{Getenv: getenv}})
	if got := stores.Traffic(); got != (shard.Traffic{}) {
		t.Errorf("traffic %+v", got)
	}
	for _, of := range stores.ByStore() {
		t.Errorf("figures of %s", of.Store)
	}
	if err := stores.Close(); err != nil {
		t.Error(err)
	}
}
