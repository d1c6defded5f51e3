package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

func newHot(t *testing.T, bytes int64) *footer.Hot {
	t.Helper()
	h := footer.NewHot(bytes)
	t.Cleanup(h.Close)
	return h
}

func TestNoHot(t *testing.T) {
	h := footer.NewHot(0)
	if h != nil {
		t.Error("a Hot of no bytes is one")
	}
	h.Close()
}

// Two data sets of the same shards read each footer once; a shard of another version is another.
func TestHotFooters(t *testing.T) { synctest.Test(t, testHotFooters) }

func testHotFooters(t *testing.T) {
	files := map[string][]byte{}
	for i := range 6 {
		files[fmt.Sprintf("%d.parquet", i)] = pagedFile(t, 10+i)
	}
	store, shards := putFiles(t, files)
	recorder := &recordingStore{Store: store, noViews: true}
	h := newHot(t, 4<<20)
	for pass, want := range []int{6, 0} {
		recorder.take()
		m, err := Open(t.Context(), recorder, shards, Options{Hot: h})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(recorder.take()); n != want {
			t.Errorf("pass %d: %d reads, want %d", pass, n, want)
		}
		if m.NumRows() != 75 {
			t.Errorf("pass %d: %d rows", pass, m.NumRows())
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	}
	store.(*memstore.Store).Put("t/3.parquet", pagedFile(t, 100))
	shards, err := store.List(t.Context(), "mem://t/")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), recorder, shards, Options{Hot: h})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if n := len(recorder.take()); n != 1 || m.NumRows() != 75-13+100 {
		t.Errorf("after a change: %d reads, %d rows", n, m.NumRows())
	}
}

// rowsOf is the rows of a unit in words.
func rowsOf(t *testing.T, m *Reader, u Rows) string {
	t.Helper()
	raw, err := m.Fetch(t.Context(), u)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer raw.Release()
	d := m.NewDecoder()
	defer d.Close()
	b, err := d.whole(raw, Layout{})
	if err != nil {
		t.Error(err)
		return ""
	}
	defer b.Release()
	var all strings.Builder
	for _, v := range block.Columns(b) {
		for i := range b.Rows() {
			all.WriteString(dump(v, v.Skip+i))
		}
	}
	return all.String()
}

// slices are so many units of one row group of 500 rows.
func slicesOf(n int64) (all []Rows) {
	for i := range n {
		all = append(all, Rows{Lo: 500 * i / n, Hi: 500 * (i + 1) / n})
	}
	return all
}

// codedFile is a row group of 500 rows whose column name has a dictionary and many pages.
func codedFile(t *testing.T) []byte {
	type row struct {
		ID   int64  `parquet:"id,plain"`
		Name string `parquet:"name,dict"`
	}
	rows := make([]row, 500)
	for i := range rows {
		rows[i] = row{int64(i), fmt.Sprint("name ", i*i%211)}
	}
	return writeRows(t, [][]row{rows}, parquet.PageBufferSize(64))
}

// The slices of a row group read its dictionaries once, and have the rows that they have without.
func TestHotDictionaries(t *testing.T) { synctest.Test(t, testHotDictionaries) }

func testHotDictionaries(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a.parquet": codedFile(t)})
	recorder := &recordingStore{Store: store, noViews: true}
	var want []string
	var reads, read [2]int64
	var dict int64
	h := newHot(t, 4<<20)
	for pass, hot := range []*footer.Hot{nil, h} {
		m, err := Open(t.Context(), recorder, shards, Options{Hot: hot})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := m.groupRecord(0)
		dict = r.Dict.At(r.Chunk(1, 0))
		recorder.take()
		for i, u := range slicesOf(5) {
			rows := rowsOf(t, m, u)
			if hot == nil {
				want = append(want, rows)
			} else if rows != want[i] {
				t.Errorf("%v has other rows", u)
			} else {
				synctest.Wait()
			}
		}
		for _, s := range recorder.take() {
			reads[pass]++
			read[pass] += s.N
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if dict < 1000 || read[0]-read[1] != 4*dict || reads[0]-reads[1] < 3 {
		t.Errorf("%d reads of %d bytes, with a Hot %d of %d; the dictionary has %d", reads[0], read[0], reads[1], read[1], dict)
	}
}

// Slices that are fetched at the same time share one read of their dictionary, and get it
// themselves when the first fails.
func TestHotDictionariesAtOnce(t *testing.T) {
	file := codedFile(t)
	plain := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
	store, shards := putFiles(t, map[string][]byte{"a.parquet": file})
	for _, fail := range []bool{false, true} {
		for range 20 {
			jitter := &jitterStore{Store: store}
			h := newHot(t, 4<<20)
			m, err := Open(t.Context(), jitter, shards, Options{Hot: h})
			if err != nil {
				t.Fatal(err)
			}
			if fail {
				jitter.failing.Store(3)
			}
			var all sync.WaitGroup
			var failed atomic.Int64
			for _, u := range slicesOf(8) {
				all.Go(func() {
					raw, err := m.Fetch(t.Context(), u)
					if err != nil {
						failed.Add(1)
						if !errors.Is(err, errJitter) {
							t.Error(err)
						}
						return
					}
					raw.Release()
					if got, want := rowsOf(t, m, u), rowsOf(t, plain, u); got != want {
						t.Errorf("%v: other rows", u)
					}
				})
			}
			all.Wait()
			if n := failed.Load(); fail && (n < 1 || n > 3) || !fail && n != 0 {
				t.Errorf("%d fetches failed", n)
			}
			raw := fetch(t, m, slicesOf(8)[0]) // which would wait for a read that never ended
			raw.Release()
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			h.Close()
		}
	}
}

var errJitter = errors.New("jitter")

// A jitterStore takes its time, and can fail some reads.
type jitterStore struct {
	shard.Store
	failing atomic.Int64 // so many reads
}

type jitterObject struct {
	shard.Object
	store *jitterStore
}

func (s *jitterStore) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return jitterObject{o, s}, err
}

func (o jitterObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	time.Sleep(rand.N(300 * time.Microsecond))
	if o.store.failing.Add(-1) >= 0 {
		return errJitter
	}
	return o.Object.ReadAt(ctx, p, off)
}

// Lent bytes are not copied into memory.
func TestHotLeavesViewsAlone(t *testing.T) { synctest.Test(t, testHotLeavesViewsAlone) }

func testHotLeavesViewsAlone(t *testing.T) {
	h := newHot(t, 4<<20)
	m := openBytes(t, Options{Hot: h}, map[string][]byte{"a.parquet": codedFile(t)})
	for _, u := range slicesOf(5) {
		c := fetch(t, m, u).chunks[1]
		synctest.Wait()
		var b []byte
		p := footer.Piece{Span: shard.Span{Off: c.dictOff, N: int64(len(c.dict))}, To: &b, Dict: true}
		dicts := footer.NewDicts(h, footer.NewKey(m.objects.store, m.shards[0]))
		if left := dicts.Take([]footer.Piece{p}); len(left) == 0 || len(c.dict) == 0 {
			t.Errorf("a dictionary of %d bytes is kept", len(c.dict))
		}
		dicts.End(false)
	}
}
