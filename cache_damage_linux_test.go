package shardfeed

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/iterable"
)

// cachedSpec is a shard of many row groups on an S3 server, read through a cache.
func cachedSpec(t *testing.T) (s Spec, proxy *servertest.HTTPProxy) {
	t.Helper()
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.PutFile(t, bucket, "table/one.parquet", manyGroups(t))
	proxy = server.Proxy(t)
	dir := t.TempDir()
	s = Spec{
		Addresses: []string{"s3://" + bucket + "/table"}, Order: Order{Shuffle: true, Seed: 5, Lanes: 16}, BatchSize: 100, Memory: "600MiB",
		Caching: Caching{CacheDir: filepath.Join(dir, "cache"), RequireCache: true, DecodedLimit: "0"},
		Storage: map[string]string{"endpoint-url": proxy.Endpoint(), "key": server.Key, "secret": server.Secret, "region": server.Region},
	}
	return s, proxy
}

// manyGroups writes a file whose values have no patterns, without checksums of pages.
func manyGroups(t *testing.T) string {
	t.Helper()
	type row struct {
		ID int64   `parquet:"id,plain"`
		A  int64   `parquet:"a,plain"`
		B  float64 `parquet:"b,plain"`
		C  string  `parquet:"c,zstd"`
	}
	path := filepath.Join(t.TempDir(), "one.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[row](f, parquet.MaxRowsPerRowGroup(1000))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60_000 {
		if _, err := w.Write([]row{{int64(i), r.Int64(), r.Float64(), fmt.Sprint(r.Int64())}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// flipBlocks damages one byte of each block of a cache's file.
func flipBlocks(t *testing.T, path string, r *rand.Rand) {
	t.Helper()
	const block = 64 << 10
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for from := 2 * block; from < len(b); from += block {
		at := from + r.IntN(min(block, len(b)-from))
		if _, err := f.WriteAt([]byte{b[at] ^ 1}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServerCacheDamage: whatever happens to the files of the cache, at rest or while they are open
// and mapped, an epoch has the rows of the storage and loses none.
func TestServerCacheDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	resize := func(n func(size int64) int64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, n(info.Size()))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	damages := map[string]func(t *testing.T, path string){
		"flipped":       func(t *testing.T, path string) { flipBlocks(t, path, r) },
		"cut to 0":      resize(func(int64) int64 { return 0 }),
		"cut to 100":    resize(func(int64) int64 { return 100 }),
		"cut to a page": resize(func(int64) int64 { return 4096 }),
		"cut in half":   resize(func(n int64) int64 { return n / 2 }),
		"cut a little":  resize(func(n int64) int64 { return n - 1000 }),
		"longer":        resize(func(n int64) int64 { return n + 1 }),
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"a directory": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"overwritten": func(t *testing.T, path string) {
			if err := os.WriteFile(path, make([]byte, 100_000), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, refill := range refills {
		damages[name] = func(t *testing.T, path string) {
			if err := refill(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ := cachedSpec(t)
	plain := s
	plain.NoCache, plain.CacheDir, plain.RequireCache = true, "", false
	want := epochsOf(t, plain, nil, nil)
	for name, damage := range damages {
		for _, onError := range []iterable.OnError{iterable.Raise, iterable.Mask} {
			t.Run(name+"/"+string(onError), func(t *testing.T) {
				s := s
				s.CacheDir, s.OnError = filepath.Join(t.TempDir(), "cache"), onError
				d, err := Open(t.Context(), s, Events{})
				if err != nil {
					t.Fatal(err)
				}
				batchesOf(t, d, s.LoaderOptions())
				batchesOf(t, d, s.LoaderOptions())
				for i := range 3 {
					if i == 0 {
						for _, path := range shardFiles(t, s.CacheDir) {
							damage(t, path) // in use: the file is open
						}
					}
					if got := batchesOf(t, d, s.LoaderOptions()); !slices.Equal(got, want) {
						t.Errorf("epoch %d after the damage has other rows", i)
					}
				}
				if err := d.Close(t.Context()); err != nil {
					t.Error(err)
				}
				for _, path := range shardFiles(t, s.CacheDir) {
					if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
						damage(t, path) // at rest
					}
				}
				for i := range 2 {
					if got := epochsOf(t, s, nil, nil); !slices.Equal(got, want) {
						t.Errorf("start %d after the damage has other rows", i)
					}
				}
			})
		}
	}
}

// refills replace the bytes of a file in place, and keep its size and its modification time.
var refills = map[string]func(path string) error{
	"zeros":            func(path string) error { return refill(path, 0, false, nil) },
	"zeros as values":  func(path string) error { return refill(path, 128<<10, false, nil) },
	"random bytes":     func(path string) error { return refill(path, 0, false, rand.NewChaCha8([32]byte{1})) },
	"random values":    func(path string) error { return refill(path, 128<<10, false, rand.NewChaCha8([32]byte{2})) },
	"cut, then zeros":  func(path string) error { return refill(path, 0, true, nil) },
	"cut, then random": func(path string) error { return refill(path, 0, true, rand.NewChaCha8([32]byte{3})) },
}

// refill writes zeros, or bytes of r, over a file from a byte on. cut truncates it to nothing
// first.
func refill(path string, from int64, cut bool, r io.Reader) error {
	time.Sleep(20 * time.Millisecond) // more than a tick of the file system's clock
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if cut {
		err = errors.Join(f.Truncate(0), f.Truncate(info.Size()))
	}
	b := make([]byte, max(0, info.Size()-from))
	if r != nil {
		_, failed := io.ReadFull(r, b)
		err = errors.Join(err, failed)
	}
	_, failed := f.WriteAt(b, from)
	return errors.Join(err, failed, os.Chtimes(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), info.ModTime(), info.ModTime())) // a run may have removed it
}

// shardFiles are the shard files of a cache.
func shardFiles(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "v1", "?", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestServerDamagedAnswers: bytes that are damaged on their way are fetched again, with a cache and
// without, and do not stay in the cache.
func TestServerDamagedAnswers(t *testing.T) {
	s, proxy := cachedSpec(t)
	plain := s
	plain.NoCache, plain.CacheDir, plain.RequireCache = true, "", false
	want := epochsOf(t, plain, nil, nil)
	damage := &servertest.Rule{Chance: 0.1, Body: func(b []byte) []byte {
		for i := range b {
			b[i] = byte(rand.Int())
		}
		return b
	}}
	once := &servertest.Rule{Times: 4, Body: damage.Body}
	zeros := &servertest.Rule{Chance: 0.1, Body: func(b []byte) []byte { clear(b); return b }}
	for name, rule := range map[string]*servertest.Rule{"a tenth": damage, "the first": once, "zeros, a tenth": zeros} {
		for _, onError := range []iterable.OnError{iterable.Raise, iterable.Skip} {
			t.Run(name+"/"+string(onError), func(t *testing.T) {
				s, plain := s, plain
				s.CacheDir, s.IndexDir = filepath.Join(t.TempDir(), "cache"), filepath.Join(t.TempDir(), "index")
				plain.IndexDir = filepath.Join(t.TempDir(), "index")
				s.OnError, plain.OnError = onError, onError
				proxy.Use(rule)
				for _, s := range []Spec{s, plain, s} {
					if got := epochsOf(t, s, nil, nil); !slices.Equal(got, want) {
						t.Error("other rows while answers are damaged")
					}
				}
				if rule.Struck() == 0 {
					t.Error("no answer was damaged")
				}
				proxy.Use()
				if got := epochsOf(t, s, nil, nil); !slices.Equal(got, want) {
					t.Error("other rows from the cache")
				}
			})
		}
	}
}
