package s3

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// TestServerTableCosts: each directory above an address takes one request to look for marks of
// tables, and a table is found wherever its mark is among the pages.
func TestServerTableCosts(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	keys := []string{"w/x/plain/k=1/a.parquet"}
	for table, mark := range map[string]string{"delta": "_delta_log/0.json", "hudi": ".hoodie/hoodie.properties", "iceberg": "metadata/v1.metadata.json"} {
		keys = append(keys, "w/"+table+"/k=1/a.parquet", "w/"+table+"/"+mark)
		for i := range 9 {
			keys = append(keys, fmt.Sprintf("w/%s/%d/b.parquet", table, i), fmt.Sprintf("w/%s/z%d/b.parquet", table, i))
		}
	}
	put(t, server, bucket, keys)
	for _, pageKeys := range []int32{0, 3} {
		store := newStore(t, optionsOf(server))
		store.pageKeys = pageKeys
		for _, table := range []string{"delta", "hudi", "iceberg"} {
			_, err := shard.Discover(t.Context(), store, []string{"s3://" + bucket + "/w/" + table + "/k=1"}, shard.DiscoverOptions{})
			if !errors.Is(err, shard.ErrBadURI) {
				t.Errorf("pages of %d: %s: %v", pageKeys, table, err)
			}
		}
	}
	store := newStore(t, optionsOf(server))
	if _, err := shard.Discover(t.Context(), store, []string{"s3://" + bucket + "/w/x/plain/k=1/"}, shard.DiscoverOptions{}); err != nil {
		t.Fatal(err)
	}
	const above, own = 4, 1 // plain, x, w and the bucket; the address itself
	if n := store.Traffic(); n.Lists != above+own || n.Looks != 0 {
		t.Errorf("%d lists and %d looks, want %d and 0", n.Lists, n.Looks, above+own)
	}
}
