package table

import "testing"

func TestAddressOf(t *testing.T) {
	for path, want := range map[string]string{
		"s3a://b/k": "s3://b/k", "s3n://b/k": "s3://b/k", "s3://b/k": "s3://b/k", "file:/a/b": "/a/b", "file:///a/b": "/a/b",
		"file://localhost/a": "/a", "/a/b": "/a/b", "gs://b/k": "gs://b/k", "hdfs://n:8020/a": "hdfs://n:8020/a",
	} {
		if got := AddressOf(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}
