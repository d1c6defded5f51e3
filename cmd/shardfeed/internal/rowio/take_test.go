package rowio

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// A countingStore counts the bytes that are read. It lends none.
type countingStore struct {
	*mem.Store
	read atomic.Int64
}

func (s *countingStore) Open(ctx context.Context, at shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, at)
	return &countingObject{o, s}, err
}

type countingObject struct {
	inner shard.Object
	store *countingStore
}

func (o *countingObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.store.read.Add(int64(len(p)))
	return o.inner.ReadAt(ctx, p, off)
}

func (o *countingObject) Close() error { return o.inner.Close() }

type numberedRow struct {
	ID   int64  `parquet:"id"`
	Text string `parquet:"text"`
}

const (
	numberedRows  = 5000
	numberedGroup = 2000 // rows of a row group
)

// numberedShard is a shard of many pages, whose ids are the rows' numbers.
func numberedShard(t *testing.T) (*countingStore, int64) {
	t.Helper()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[numberedRow](&file, parquet.PageBufferSize(4096), parquet.MaxRowsPerRowGroup(numberedGroup))
	for i := range int64(numberedRows) {
		if _, err := w.Write([]numberedRow{{i, fmt.Sprint(i, strings.Repeat("x", int(i%200)))}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store := &countingStore{Store: &mem.Store{}}
	store.Put("t/part.parquet", file.Bytes())
	return store, int64(file.Len())
}

func TestTakeRows(t *testing.T) {
	store, size := numberedShard(t)
	ds, err := iterable.Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://t"}, iterable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ds.Close()
	every := make([]int64, numberedRows)
	for i := range every {
		every[i] = int64(i)
	}
	for _, c := range []struct {
		name string
		rows []int64
		most int64 // bytes to read
	}{
		{"none", nil, 0},
		{"the first", []int64{0}, size / 20},
		{"the last", []int64{numberedRows - 1}, size / 20},
		{"far apart", []int64{7, 1999, 2000, 4321}, size / 5},
		{"side by side", []int64{4321, 4322, 4323}, size / 20},
		{"all", every, 2 * size},
	} {
		t.Run(c.name, func(t *testing.T) {
			store.read.Store(0)
			var got []int64
			err := Take(t.Context(), ds, plainShape(t, ds), c.rows, func(columns []*column.Array, n int) error {
				ids, err := column.Values[int64](columns[0])
				got = append(got, ids...)
				if n != len(ids) || n > MaxGather {
					t.Errorf("%d rows of %d ids", n, len(ids))
				}
				return err
			})
			if err != nil || !slices.Equal(got, c.rows) {
				t.Errorf("got %v, %v", got, err)
			}
			if read := store.read.Load(); read > c.most {
				t.Errorf("%d bytes of %d were read, want at most %d", read, size, c.most)
			}
		})
	}
}

// plainShape is the columns of a data set as they are.
func plainShape(t *testing.T, ds *iterable.Dataset) *loader.Shape {
	t.Helper()
	shape, err := loader.Options{}.Shape(ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return shape
}
