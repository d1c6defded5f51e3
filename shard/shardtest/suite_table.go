package shardtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// A tableCase writes files and looks for them at an address.
type tableCase struct {
	name, files, address string
	refused              string // format of the table that the address is refused for, or ""
	noted                string // format of the table that a note names, or ""
}

var tableCases = []tableCase{
	{"delta", "t/a.parquet t/_delta_log/00000000000000000000.json", "t", "Delta", ""},
	{"delta with slash", "t/a.parquet t/_delta_log/00000000000000000000.json", "t/", "Delta", ""},
	{"delta partition", "t/k=1/a.parquet t/_delta_log/00000000000000000000.json", "t/k=1", "Delta", ""},
	{"delta log", "t/a.parquet t/_delta_log/1.checkpoint.parquet", "t/_delta_log", "Delta", ""},
	{"delta below", "w/t/a.parquet w/t/_delta_log/00000000000000000000.json w/u/b.parquet", "w", "Delta", ""},
	{"delta beside", "w/t/a.parquet w/t/_delta_log/00000000000000000000.json w/u/b.parquet", "w/u", "", ""},
	{"delta in braces", "t/k=1/a.parquet t/k=2/a.parquet t/_delta_log/0.json", "t{,}", "Delta", ""},
	{"delta file", "t/a.parquet t/_delta_log/0.json", "t/a.parquet", "", "Delta"},
	{"delta glob", "t/a.parquet t/_delta_log/0.json", "t/*.parquet", "", "Delta"},
	{"delta deep glob", "w/t/k=1/a.parquet w/t/_delta_log/0.json", "w/*/k=*/*.parquet", "", "Delta"},
	{"a file of that name", "t/a.parquet t/_delta_log", "t", "", ""},
	{"hudi", "t/a.parquet t/.hoodie/hoodie.properties", "t", "Hudi", ""},
	{"hudi partition", "t/2026/01/a.parquet t/.hoodie/hoodie.properties", "t/2026/01", "Hudi", ""},
	{"hudi partition alone", "t/k=1/a.parquet t/k=1/.hoodie_partition_metadata", "t/k=1", "Hudi", ""},
	{"hudi glob", "t/k=1/a.parquet t/.hoodie/hoodie.properties", "t/*/*.parquet", "", "Hudi"},
	{"iceberg", "t/data/a.parquet t/metadata/v1.metadata.json", "t", "Iceberg", ""},
	{"iceberg compressed", "t/data/a.parquet t/metadata/00000-6f5e.gz.metadata.json", "t", "Iceberg", ""},
	{"iceberg data", "t/data/k=1/a.parquet t/metadata/00000-6f5e.metadata.json t/metadata/snap-1.avro", "t/data", "Iceberg", ""},
	{"iceberg partition", "t/data/k=1/a.parquet t/metadata/v1.metadata.json", "t/data/k=1", "Iceberg", ""},
	{"iceberg file", "t/data/k=1/a.parquet t/metadata/v1.metadata.json", "t/data/k=1/a.parquet", "", "Iceberg"},
	{"metadata of something else", "t/data/a.parquet t/metadata/columns.json", "t/data", "", ""},
	{"acid base", "t/base_0000002/bucket_00000", "t", "Hive ACID", ""},
	{"acid delta", "t/k=1/delta_0000001_0000001_0000/bucket_00000", "t", "Hive ACID", ""},
	{"acid delete", "t/delete_delta_0000003_0000003_0001_v0000012/bucket_00000", "t", "Hive ACID", ""},
	{"acid base itself", "t/base_0000002_v0000012/bucket_00000", "t/base_0000002_v0000012", "Hive ACID", ""},
	{"acid file", "t/base_0000002/bucket_00000", "t/base_0000002/bucket_00000", "", "Hive ACID"},
	{"names alike", "t/base_2/a t/delta_x/a t/deltas/a t/delta_0000001/a", "t", "", ""},
}

func (c tableCase) run(t *testing.T, f Fixture) {
	if _, unlisted := f.(Unlister); unlisted {
		t.Skip("the place lists no directories")
	}
	files := strings.Fields(c.files)
	for i, name := range files {
		f.Write(t, name, content(uint64(i), 10))
	}
	var noted []string
	found, err := shard.Discover(t.Context(), f.Store(), []string{f.Address(c.address)}, shard.DiscoverOptions{
		Noted: func(text string) { noted = append(noted, text) },
	})
	if c.refused != "" {
		if !errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), c.refused+" table (") || found != nil {
			t.Fatalf("%d shards, error %v", len(found), err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	noted = slices.DeleteFunc(noted, func(text string) bool { return !strings.Contains(text, " table (") })
	if c.noted == "" && len(noted) > 0 || c.noted != "" && (len(noted) != 1 || !strings.Contains(noted[0], c.noted+" table (")) {
		t.Fatalf("noted %q, want one note about %q", noted, c.noted)
	}
}
