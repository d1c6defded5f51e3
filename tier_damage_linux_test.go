package shardfeed

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/loader"
)

// tierDamages are what other programs do to a file of decoded rows.
func tierDamages(t *testing.T) map[string]func(path string) error {
	t.Helper()
	resize := func(n func(size int64) int64) func(path string) error {
		return func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, n(info.Size()))
		}
	}
	damages := map[string]func(path string) error{
		"cut to 0":    resize(func(int64) int64 { return 0 }),
		"cut to 100":  resize(func(int64) int64 { return 100 }),
		"cut in half": resize(func(n int64) int64 { return n / 2 }),
		"longer":      resize(func(n int64) int64 { return n + 1 }),
		"removed":     os.Remove,
		"a directory": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", make([]byte, 200_000), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"overwritten": func(path string) error { return os.WriteFile(path, make([]byte, 100_000), 0o600) },
	}
	maps.Copy(damages, refills)
	return damages
}

// damageTier damages all files of decoded rows below a directory.
func damageTier(t *testing.T, dir string, damage func(path string) error) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "v1", "d*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
	}
}

// batchesWith digests the batches of a loader, and calls during after the n-th.
func batchesWith(t *testing.T, d *Dataset, o loader.Options, n int, during func()) (all []digested) {
	t.Helper()
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Errorf("batch %d: %v", len(all), err)
			return all
		}
		all = append(all, digestOf(b))
		b.Release()
		if len(all) == n {
			during()
		}
	}
	return all
}

// testTierDamage damages the files of decoded rows of a spec: between two epochs while they are
// mapped, within an epoch while blocks lie in them, and at rest. Each epoch has the rows of the
// storage, and what was damaged is kept again. prepare gives the spec a cache of its own, and
// returns its directory.
func testTierDamage(t *testing.T, s Spec, prepare func(t *testing.T, s *Spec) string) {
	s.Shuffle, s.Seed, s.BatchSize, s.ShuffleBuffer, s.DecodedLimit = true, 3, 64, "1500", "256MiB"
	plain := s
	plain.DecodedLimit = "0"
	prepare(t, &plain)
	want := epochsOf(t, plain, nil, nil)
	for name, damage := range tierDamages(t) {
		for _, memory := range []string{"1GiB", "24MiB"} { // blocks lie in images, or rows are copied out
			t.Run(name+"/"+memory, func(t *testing.T) {
				s := s
				s.Memory = memory
				files := prepare(t, &s)
				d := openSpec(t, s)
				same := func(when string, got []digested) {
					t.Helper()
					if !slices.Equal(got, want) {
						t.Errorf("%s: %d batches, want %d; the first that differs is %d", when, len(got), len(want), firstDifference(got, want))
					}
				}
				same("before", batchesOf(t, d, s.LoaderOptions()))
				keepAllAgain(t, d)
				same("undamaged", batchesOf(t, d, s.LoaderOptions()))
				damageTier(t, files, damage)
				same("damaged while mapped", batchesOf(t, d, s.LoaderOptions()))
				keepAllAgain(t, d)
				same("kept again", batchesOf(t, d, s.LoaderOptions()))
				if name != "a directory" {
					expectKept(t, d)
				}
				got := batchesWith(t, d, s.LoaderOptions(), 2, func() { damageTier(t, files, damage) })
				if refills[name] == nil || len(got) != len(want) { // values that change in an image in use are not detected
					same("damaged while in use", got)
				}
				same("after the damage", batchesOf(t, d, s.LoaderOptions()))
				if err := d.Close(t.Context()); err != nil {
					t.Error(err)
				}
				damageTier(t, files, damage)
				for range 2 {
					same("damaged at rest", epochsOf(t, s, nil, nil))
				}
			})
		}
	}
}

// expectKept waits until all row groups are kept decoded on the disk.
func expectKept(t *testing.T, d *Dataset) {
	t.Helper()
	k := keepAllAgain(t, d)
	for late := time.Now().Add(30 * time.Second); k.Wrote > 0 && time.Now().Before(late); k = keepAllAgain(t, d) {
		time.Sleep(10 * time.Millisecond)
	}
	if k.There == 0 || k.Wrote > 0 || k.Lacking > 0 {
		t.Errorf("what was damaged is not kept again: %+v", k)
	}
}

// longTexts writes a file of several row groups whose columns are nearly as long as their images.
func longTexts(t *testing.T) string {
	t.Helper()
	type row struct {
		ID   int64
		Text string
	}
	path, rng := filepath.Join(t.TempDir(), "long.parquet"), rand.New(rand.NewPCG(1, 1))
	rows := make([]row, 6000)
	for i := range rows {
		rows[i] = row{int64(i), strings.Repeat(strconv.FormatUint(rng.Uint64(), 36), 40)}
	}
	if err := parquet.WriteFile(path, rows, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(300)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTierDamageLocal damages the decoded rows of a local shard.
func TestTierDamageLocal(t *testing.T) {
	testTierDamage(t, Spec{Addresses: []string{longTexts(t)}}, func(t *testing.T, _ *Spec) string {
		dir := t.TempDir()
		t.Setenv(dirVariable, dir)
		return dir
	})
}

// TestServerTierDamage damages the decoded rows of a shard that comes through a cache.
func TestServerTierDamage(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.PutFile(t, bucket, "table/long.parquet", longTexts(t))
	s := Spec{Addresses: []string{"s3://" + bucket + "/table"}, Caching: Caching{RequireCache: true}, Storage: map[string]string{
		"endpoint-url": server.Endpoint, "key": server.Key, "secret": server.Secret, "region": server.Region,
	}}
	testTierDamage(t, s, func(t *testing.T, s *Spec) string {
		s.CacheDir = filepath.Join(t.TempDir(), "cache")
		return s.CacheDir
	})
}
