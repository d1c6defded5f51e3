package main

import (
	"path/filepath"
	"testing"
)

func TestRemote(t *testing.T) {
	dir := t.TempDir()
	near, mixed := filepath.Join(dir, "near"), filepath.Join(dir, "mixed")
	write(t, near, "a.parquet\n# s3://bucket/no\nfile:///b.parquet\n")
	write(t, mixed, "a.parquet\n  s3://bucket/b.parquet\n")
	cases := []struct {
		addresses []string
		want      bool
	}{
		{[]string{"data/", "file:///data", "mem://a", "c:odd"}, false},
		{[]string{"data/", "s3://bucket/data"}, true},
		{[]string{"S3A://bucket/data"}, true},
		{[]string{"hdfs:///data"}, true},
		{[]string{"@" + near}, false},
		{[]string{"@file://" + near}, false},
		{[]string{"@" + mixed}, true},
		{[]string{"@file://" + mixed}, true},
		{[]string{"@s3://bucket/list"}, true},
		{[]string{"@" + filepath.Join(dir, "none")}, false},
	}
	for _, c := range cases {
		if got := anyRemote(c.addresses); got != c.want {
			t.Errorf("%q: %v, want %v", c.addresses, got, c.want)
		}
	}
}
