package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// openOne lists an address that names one shard, and opens it.
func openOne(t *testing.T, address string) shard.Object {
	t.Helper()
	found, err := Store{}.List(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%s names %d shards", address, len(found))
	}
	o, err := Store{}.Open(context.Background(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func TestTruncatedUnderView(t *testing.T) {
	pages := 64
	path := write(t, t.TempDir()+"/a.parquet", bytes.Repeat([]byte{7}, pages*os.Getpagesize()))
	o := openOne(t, path)
	b, release, ok, err := shard.View(o, 0, int64(pages*os.Getpagesize()))
	if !ok || err != nil {
		t.Skip("no views here:", err)
	}
	defer release()
	sum := 0
	err = shard.Use(o, func() error {
		for i := 0; i < len(b); i += os.Getpagesize() {
			if i == 10*os.Getpagesize() {
				if err := os.Truncate(path, 100); err != nil {
					return err
				}
			}
			sum += int(b[i])
		}
		return nil
	})
	if !errors.Is(err, shard.ErrChanged) {
		t.Fatalf("after truncation: %v", err)
	}
	want := path + ": read: changed since it was listed: was 262144 bytes, is 100"
	if os.Getpagesize() == 4096 && err.Error() != want {
		t.Fatalf("got  %q\nwant %q", err, want)
	}
	if sum != 70 {
		t.Fatalf("read %d before the fault, want 10 pages", sum/7)
	}
}
