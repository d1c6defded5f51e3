package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// sameBytes reads ranges of a shard of size bytes by both ways and compares their checksums with
// that of one reader.
func sameBytes(t *testing.T, uri string, size int64, ways ...string) {
	t.Helper()
	var pieces []piece
	for off, n := int64(0), int64(1); off < size; off, n = off+n, n*3 {
		pieces = append(pieces, piece{uri, off, min(n, size-off)})
	}
	sums := map[uint32]bool{}
	for _, name := range ways {
		for _, inFlight := range []int{1, 4} {
			f := readFlags{way: name, inFlight: inFlight, check: true}
			w, err := openWay(t.Context(), f, pieces)
			if err != nil {
				t.Fatal(err)
			}
			r, err := readAll(t.Context(), w, f, pieces)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if r.Bytes != size {
				t.Errorf("%s: %d bytes, want %d", name, r.Bytes, size)
			}
			sums[r.CRC] = true
		}
	}
	if len(sums) != 1 {
		t.Errorf("ways read different bytes: checksums %v", sums)
	}
}

// content differs at every place.
func content(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.Bytes()[:size]
}

func TestServerS3(t *testing.T) {
	const size = 3_000_000
	s := servertest.S3(t)
	s.Setenv(t)
	bucket, dir := s.Bucket(t), t.TempDir()
	for _, name := range []string{"a.parquet", "b.parquet", "c.parquet", "no"} {
		if err := os.WriteFile(filepath.Join(dir, name), content(size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a bucket that is there is no error
		if err := run(t.Context(), []string{"put", "--bucket", bucket, "--prefix", "x", "--files", "2", dir}); err != nil {
			t.Fatal(err)
		}
	}
	sameBytes(t, "s3://"+bucket+"/x/b.parquet", size, "s3", "sdk")
	for _, name := range []string{"c.parquet", "no"} {
		gone := []piece{{"s3://" + bucket + "/x/" + name, 0, 1}}
		for _, way := range []string{"s3", "sdk"} {
			f := readFlags{way: way, inFlight: 1}
			w, err := openWay(t.Context(), f, gone)
			if err == nil {
				_, err = readAll(t.Context(), w, f, gone)
				w.Close()
			}
			if err == nil {
				t.Errorf("%s: %s was uploaded", way, name)
			}
		}
	}
}

func TestServerHDFS(t *testing.T) {
	const size = 3_000_000
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	path := c.Dir(t) + "/a.parquet"
	c.Put(t, path, content(size))
	sameBytes(t, "hdfs://"+c.RPC[0]+path, size, "hdfs", "library")
}
