package rowgroup

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
)

// A flippingStore flips a bit of each answer that has a byte of its shard, while it is told to.
type flippingStore struct {
	shard.Store
	at, bit int64
	flips   bool
	once    bool   // flips the first answer alone
	of      string // shard whose answers are flipped; "": all
}

func (s *flippingStore) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, sh)
	if s.of != "" && sh.URI != s.of {
		return o, err
	}
	return &flippingObject{o, s}, err
}

type flippingObject struct {
	shard.Object
	store *flippingStore
}

func (o *flippingObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	err := o.Object.ReadAt(ctx, p, off)
	if at := o.store.at - off; o.store.flips && at >= 0 && at < int64(len(p)) {
		p[at] ^= 1 << o.store.bit
		o.store.flips = !o.store.once
	}
	return err
}

// countRows decodes all rows.
func countRows(t *testing.T, m *Reader) (all int, err error) {
	t.Helper()
	d := m.NewDecoder()
	defer d.Close()
	for _, g := range m.Groups() {
		raw, err := m.Fetch(t.Context(), Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Hi: g.Rows})
		if err != nil {
			return all, err
		}
		err = raw.Refetching(t.Context(), func() error {
			blocks, err := d.Decode(raw, Layout{})
			for _, b := range blocks {
				all += b.Rows()
				b.Release()
			}
			return err
		})
		raw.Release()
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// readAgain reports whether the record of the first shard is not the one that was read first.
func readAgain(t *testing.T, m *Reader) bool {
	t.Helper()
	now, err := m.record(0)
	if err != nil {
		t.Fatal(err)
	}
	first, err := footer.ParseRecord(m.files[0].record)
	if err != nil {
		t.Fatal(err)
	}
	return !reflect.DeepEqual(now, first)
}

// threeGroups is a file of 3 row groups of 50 rows.
func threeGroups(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w := parquetgo.NewGenericWriter[struct{ A, B int64 }](&file, parquetgo.Compression(&parquetgo.Snappy))
	for g := range int64(3) {
		for i := range int64(50) {
			_, err := w.Write([]struct{ A, B int64 }{{g*1000 + i*i, i}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// Bits of each byte of a footer are flipped on their way, at the first read. Where that shows when
// row groups are decoded, the run continues with the right footer, or ends and the next start has
// it. The index does not keep the damaged one.
func TestMendedFooters(t *testing.T) {
	file := threeGroups(t)
	inner, shards := putFiles(t, map[string][]byte{"f.parquet": file})
	size := int64(len(file))
	first := size - parquet.TailBytes - int64(footerSize(file))
	mended, ended := 0, 0
	for at := first; at < size-parquet.TailBytes; at++ {
		for _, bit := range []int64{at % 8, (at + 3) % 8} {
			store := &flippingStore{Store: inner, at: at, bit: bit, flips: true}
			o := Options{IndexDir: filepath.Join(t.TempDir(), "index"), Columns: []string{"A"}}
			m, err := Open(t.Context(), store, shards, o)
			if err != nil {
				continue // it is noticed at once, and nothing is kept
			}
			store.flips = false
			_, err = countRows(t, m)
			noticed := err != nil || readAgain(t, m)
			if err != nil {
				ended++
				if !errors.Is(err, footer.ErrFooterMended) {
					t.Errorf("byte %d, bit %d: %v", at-first, bit, err)
				}
			} else if noticed {
				mended++
			}
			_ = m.Close()
			if !noticed {
				continue
			}
			again, err := Open(t.Context(), store, shards, o)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := countRows(t, again); err != nil || got != 150 || readAgain(t, again) {
				t.Errorf("byte %d, bit %d: the next start reads %d rows, %v", at-first, bit, got, err)
			}
			_ = again.Close()
		}
	}
	t.Logf("%d footers were mended in the run, %d for the next start", mended, ended)
	if mended < 5 {
		t.Error("that is too few")
	}
}

// A footer that is damaged at its first read costs no opening: it is read again, alone and beside
// other shards, and the index has the right one. If it is damaged at each read, the error names the
// shard, and the next start has nothing of it.
func TestMendedOpenings(t *testing.T) {
	file := threeGroups(t)
	size := int64(len(file))
	for _, many := range []bool{false, true} {
		files := map[string][]byte{"f.parquet": file}
		if many {
			files["g.parquet"], files["h.parquet"] = file, file
		}
		inner, shards := putFiles(t, files)
		for at := size - parquet.TailBytes - int64(footerSize(file)); at < size; at++ {
			for _, once := range []bool{true, false} {
				store := &flippingStore{Store: inner, at: at, bit: at % 8, flips: true, once: once, of: shards[0].URI}
				o := Options{IndexDir: filepath.Join(t.TempDir(), "index"), Columns: []string{"A", "B"}}
				m, err := Open(t.Context(), store, shards, o)
				e := (*Error)(nil)
				if once && err != nil || err != nil && (!errors.As(err, &e) || e.URI == "") {
					t.Errorf("byte %d of the end: %v", size-at, err)
				}
				if err == nil {
					_ = m.Close()
				}
				store.flips = false
				if m, err = Open(t.Context(), store, shards, o); err != nil {
					t.Errorf("byte %d of the end, the next start: %v", size-at, err)
					continue
				}
				_ = m.Close()
			}
		}
	}
}
