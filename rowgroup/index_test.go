package rowgroup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// manyFiles are n small files of two schemas.
func manyFiles(t testing.TB, n int) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for i := range n {
		f := filetest.File{Schema: `required int32 a; optional group l (LIST) { repeated group list { optional int64 element; } }`, Rows: []int{10 + i, 3}}
		if i%3 == 2 {
			f.Schema = `required int64 a; optional group l (LIST) { repeated group list { optional int64 element; } }`
		}
		files[fmt.Sprintf("%04d.parquet", i)] = f.Bytes(t)
	}
	return files
}

// openRecorded opens the shards and says how many ranges were read of them.
func openRecorded(t testing.TB, store shard.Store, shards []shard.Shard, o Options) (*Reader, int) {
	t.Helper()
	recorder := &recordingStore{Store: store}
	m, err := Open(context.Background(), recorder, shards, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, len(recorder.take())
}

// sameManifest compares what two manifests say of a data set.
func sameManifest(t testing.TB, got, want *Reader) {
	t.Helper()
	if !reflect.DeepEqual(got.Schema(), want.Schema()) || !reflect.DeepEqual(got.Groups(), want.Groups()) || got.NumRows() != want.NumRows() {
		t.Error("the manifests differ")
	}
	for i := range want.files {
		if !bytes.Equal(got.files[i].record, want.files[i].record) {
			t.Errorf("the records of shard %d differ", i)
		}
	}
	for i := range want.bound {
		if !reflect.DeepEqual(got.bound[i].columns, want.bound[i].columns) {
			t.Errorf("the columns of schema %d differ", i)
		}
	}
}

func TestIndexSecondStart(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 30))
	o := Options{IndexDir: filepath.Join(t.TempDir(), "made", "index")}
	cold, reads := openRecorded(t, store, shards, o)
	if reads != 30 {
		t.Errorf("%d reads at the first start", reads)
	}
	warm, reads := openRecorded(t, store, shards, o)
	if reads != 0 {
		t.Errorf("%d reads at the second start", reads)
	}
	sameManifest(t, warm, cold)
}

// Another size or version is another file, and takes the old one's place.
func TestIndexChangedShard(t *testing.T) {
	store := &mem.Store{}
	put := func(rows int) []shard.Shard {
		store.Put("t/a.parquet", filetest.File{Schema: `required int32 a;`, Rows: []int{rows}}.Bytes(t))
		shards, err := store.List(context.Background(), "mem://t")
		if err != nil {
			t.Fatal(err)
		}
		return shards
	}
	o := Options{IndexDir: filepath.Join(t.TempDir(), "index")}
	var once int64
	for rows := range 5 {
		m, reads := openRecorded(t, store, put(rows+1), o)
		if reads != 1 || m.NumRows() != int64(rows+1) {
			t.Errorf("%d reads, %d rows, want %d", reads, m.NumRows(), rows+1)
		}
		if rows == 0 {
			_, once = segmentsOf(t, o.IndexDir)
		}
	}
	if n, bytes := segmentsOf(t, o.IndexDir); n != 1 || bytes != once {
		t.Errorf("%d segments of %d bytes, want 1 of %d", n, bytes, once)
	}
}

func TestIndexWithoutVersion(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 2))
	for i := range shards {
		shards[i].Version = ""
	}
	anyVersion := versionless{store}
	o := Options{IndexDir: filepath.Join(t.TempDir(), "index")}
	for range 2 {
		if _, reads := openRecorded(t, anyVersion, shards, o); reads != 2 {
			t.Errorf("%d reads", reads)
		}
	}
}

// versionless opens whatever version there is.
type versionless struct{ shard.Store }

func (v versionless) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	all, err := v.List(ctx, s.URI)
	if err != nil {
		return nil, err
	}
	return v.Store.Open(ctx, all[0])
}

// A growing data set leaves a number of segments that grows with the logarithm, and each shard is
// in one of them.
func TestIndexGrowth(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 120))
	o := Options{IndexDir: filepath.Join(t.TempDir(), "index")}
	for n := 1; n <= len(shards); n++ {
		if _, reads := openRecorded(t, store, shards[:n], o); reads != 1 {
			t.Fatalf("%d reads for the one new shard of %d", reads, n)
		}
	}
	n, bytes := segmentsOf(t, o.IndexDir)
	o.IndexDir = t.TempDir()
	openRecorded(t, store, shards, o)
	if _, once := segmentsOf(t, o.IndexDir); n > 8 || bytes < once || bytes > once*5/4 {
		t.Errorf("%d segments of %d bytes for %d shards, which take %d in one", n, bytes, len(shards), once)
	}
}

// Whatever bytes of a segment are damaged, the next start gives the same manifest, and the start
// after it reads nothing.
func TestIndexDamage(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 4))
	dir := t.TempDir()
	want, _ := openRecorded(t, store, shards, Options{IndexDir: dir})
	names, _ := filepath.Glob(filepath.Join(dir, "*.sfi"))
	if len(names) != 1 {
		t.Fatalf("segments are %v", names)
	}
	good, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{"empty": {}, "header": good[:64], "half": good[:len(good)/2], "long": append(bytes.Clone(good), 0)}
	for i := 0; i < len(good); i += 5 {
		b := bytes.Clone(good)
		b[i] ^= 1 << (i % 4)
		damages[fmt.Sprintf("byte %d", i)] = b
	}
	reread := 0
	for name, b := range damages {
		o := Options{IndexDir: filepath.Join(dir, name)}
		if err := os.MkdirAll(o.IndexDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.IndexDir, "x.sfi"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		m, reads := openRecorded(t, store, shards, o)
		sameManifest(t, m, want)
		reread += reads
		if _, reads := openRecorded(t, store, shards, o); reads != 0 {
			t.Errorf("%s: %d reads at the start after the damage was met", name, reads)
		}
	}
	if reread < len(damages) {
		t.Errorf("%d footers were read again for %d damages", reread, len(damages))
	}
}

func TestIndexConcurrency(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 40))
	dir := t.TempDir()
	want, _ := openRecorded(t, store, shards, Options{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := 1 + i; n <= len(shards); n += 7 {
				m, err := Open(context.Background(), store, shards[:n], Options{IndexDir: dir, Parallel: 3})
				if err != nil {
					t.Error(err)
					return
				}
				m.Close()
			}
		})
	}
	all.Wait()
	openRecorded(t, store, shards, Options{IndexDir: dir})
	m, reads := openRecorded(t, store, shards, Options{IndexDir: dir})
	if reads != 0 {
		t.Errorf("%d reads in the end", reads)
	}
	sameManifest(t, m, want)
	if names, _ := filepath.Glob(filepath.Join(dir, "*.sfi")); len(names) > 16 {
		t.Errorf("%d segments are left", len(names))
	}
	if temps, _ := filepath.Glob(filepath.Join(dir, "tmp-*")); len(temps) > 0 {
		t.Errorf("temporary files are left: %v", temps)
	}
}

// An index that cannot be kept is said once, and everything works without.
func TestIndexUnusable(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 3))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	o := Options{IndexDir: filepath.Join(file, "index"), Events: footer.Events{IndexUnusable: func(dir string, err error) {
		said = append(said, fmt.Sprint(dir, ": ", err))
	}}}
	if m, _ := openRecorded(t, store, shards, o); m.NumRows() != 42 {
		t.Errorf("%d rows", m.NumRows())
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], o.IndexDir) {
		t.Errorf("said %q", said)
	}
}

// After an error in one shard the others' footers are kept.
func TestIndexAfterError(t *testing.T) {
	files := manyFiles(t, 9)
	files["0004.parquet"] = []byte("no parquet file at all")
	store, shards := putFiles(t, files)
	o := Options{IndexDir: filepath.Join(t.TempDir(), "index"), Parallel: 1}
	recorder := &recordingStore{Store: store}
	for _, want := range []int{5 + shard.MaxSame, 1 + shard.MaxSame} { // the damaged one is read again
		_, err := Open(context.Background(), recorder, shards, o)
		if err == nil || !strings.HasPrefix(err.Error(), "mem://t/0004.parquet: not a parquet file") {
			t.Errorf("error is %v", err)
		}
		if reads := recorder.take(); len(reads) != want {
			t.Errorf("%d reads, want %d", len(reads), want)
		}
	}
}

// Starts at the same time on an empty index leave one segment each at most, and many segments
// become one.
func TestIndexManySegments(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 5))
	parts := t.TempDir()
	want, _ := openRecorded(t, store, shards, Options{IndexDir: parts})
	names, _ := filepath.Glob(filepath.Join(parts, "*.sfi"))
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 40 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".sfi")), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, reads := openRecorded(t, store, shards, Options{IndexDir: dir})
	if reads != 0 {
		t.Errorf("%d reads", reads)
	}
	sameManifest(t, m, want)
	if n, _ := segmentsOf(t, dir); n > 17 {
		t.Errorf("%d segments are left", n)
	}
}

// What another process wrote meanwhile is not written again.
func TestIndexWrittenMeanwhile(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 5))
	dir := t.TempDir()
	var once sync.Once
	var before []string
	o := Options{IndexDir: dir}
	o.Events.FootersRead = func(int, int) {
		once.Do(func() {
			openRecorded(t, store, shards, Options{IndexDir: dir})
			before, _ = filepath.Glob(filepath.Join(dir, "*.sfi"))
		})
	}
	openRecorded(t, store, shards, o)
	if after, _ := filepath.Glob(filepath.Join(dir, "*.sfi")); len(after) != 1 || !slices.Equal(before, after) {
		t.Errorf("segments are %v, before %v", after, before)
	}
}

// segmentsOf returns the number of segments of an index, and their bytes.
func segmentsOf(t *testing.T, dir string) (n int, bytes int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sfi"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return len(names), bytes
}
