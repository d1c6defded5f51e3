package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/shard"
)

// columnsFile has n columns and a page index.
func columnsFile(t *testing.T, n int) []byte {
	t.Helper()
	group := parquet.Group{}
	for i := range n {
		group[fmt.Sprintf("column_%04d", i)] = parquet.Int(64)
	}
	var b strings.Builder
	w := parquet.NewWriter(&b, parquet.NewSchema("t", group))
	row := make(parquet.Row, n)
	for i := range row {
		row[i] = parquet.Int64Value(int64(i)).Level(0, 0, i)
	}
	if _, err := w.WriteRows([]parquet.Row{row, row}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// Whatever the size of the footers, all but the first take one read, the page index included, and
// not many more bytes than they have.
func TestFootersTakeOneRead(t *testing.T) {
	for name, file := range map[string][]byte{"wide": columnsFile(t, 700), "narrow": pagedFile(t, 9000, 9000)} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{}
			for i := range 40 {
				files[fmt.Sprintf("%03d.parquet", i)] = file
			}
			store, shards := putFiles(t, files)
			recorder := &recordingStore{Store: store, noViews: true}
			// One at a time: among several, the last read may be of a shard that began before any
			// other.
			m, err := Open(t.Context(), recorder, shards, Options{Parallel: 1})
			if err != nil {
				t.Fatal(err)
			}
			if m.PageEdges(39) == nil {
				t.Errorf("%s: no page index", name)
			}
			_ = m.Close()
			reads := recorder.take()
			last := reads[len(reads)-1].N
			f, err := footerOf(t, file)
			if err != nil {
				t.Fatal(err)
			}
			lo, _ := f.IndexSpan()
			needed := int64(len(file)) - lo
			if len(reads) > 40+8 || last > needed*5/4+4096 || last < needed {
				t.Errorf("%d reads, the last of %d bytes where %d are needed of %d", len(reads), last, needed, len(file))
			}
		})
	}
}

// Behind a network the first footer is read with room to spare, so that each takes one read from
// the first on.
func TestFootersTakeOneReadEach(t *testing.T) {
	files := map[string][]byte{}
	for i := range 4 {
		files[fmt.Sprintf("%03d.parquet", i)] = columnsFile(t, 700+i)
	}
	store, shards := putFiles(t, files)
	far := &farStore{Store: store, latency: time.Millisecond}
	m, err := Open(t.Context(), far, shards, Options{MissingIsNull: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if n := far.reads.Load(); n != 4 {
		t.Errorf("%d reads of 4 footers", n)
	}
}

// An error stops the work on the shards behind it at once, however long it would take.
func TestOpenStopsAtAnError(t *testing.T) {
	files := manyFiles(t, 200)
	files["0005.parquet"] = []byte("no parquet file at all")
	store, shards := putFiles(t, files)
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckStore{Store: store, from: shards[6].URI}
		began := time.Now()
		_, err := Open(t.Context(), stuck, shards, Options{Parallel: 32})
		if !errors.Is(err, ErrNotParquet) || !strings.Contains(err.Error(), "0005.parquet") {
			t.Errorf("error is %v", err)
		}
		if took, n := time.Since(began), stuck.opens.Load(); took > 10*time.Second || n > 38 {
			t.Errorf("it took %v and %d shards", took, n)
		}
	})
}

// A stuckStore never answers for the shards from one on, until the context ends.
type stuckStore struct {
	shard.Store
	from  string
	opens atomic.Int64
}

func (s *stuckStore) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	s.opens.Add(1)
	for strings.HasSuffix(x.URI, "0005.parquet") && s.opens.Load() < 20 { // others are stuck before it fails
		time.Sleep(time.Millisecond)
	}
	if x.URI >= s.from {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Minute):
		}
	}
	return s.Store.Open(ctx, x)
}

// The footers of a thousand shards behind a network of 20 ms take as long as the requests in flight
// allow, and one request each.
func TestFootersBehindLatency(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 1000))
	far := &farStore{Store: store, latency: 20 * time.Millisecond}
	dir := t.TempDir()
	for _, warm := range []bool{false, true} {
		t.Run(fmt.Sprintf("warm %t", warm), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				m, err := Open(t.Context(), far, shards, Options{IndexDir: dir})
				if err != nil {
					t.Fatal(err)
				}
				took, reads := time.Since(began), far.reads.Swap(0)
				if want := int64(len(shards)); !warm && reads != want || warm && reads != 0 {
					t.Errorf("%d reads", reads)
				}
				if took > time.Second { // of the bubble's clock: 1000 reads, 64 at a time, are 320 ms
					t.Errorf("it took %v", took)
				}
				_ = m.Close()
			})
		})
	}
}

// A farStore answers each read after a while, and likes many at once.
type farStore struct {
	shard.Store
	shard.Remote
	latency time.Duration

	reads, now, most atomic.Int64
}

type farObject struct {
	shard.Object
	store *farStore
}

func (s *farStore) Parallel(string) int { return 64 }

func (s *farStore) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return farObject{o, s}, err
}

func (o farObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.store.reads.Add(1)
	n := o.store.now.Add(1)
	defer o.store.now.Add(-1)
	for most := o.store.most.Load(); n > most && !o.store.most.CompareAndSwap(most, n); most = o.store.most.Load() {
	}
	time.Sleep(o.store.latency)
	return o.Object.ReadAt(ctx, p, off)
}
