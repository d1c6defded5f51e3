package iterable

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

type zfar struct {
	shard.Store
	latency time.Duration
	reads   atomic.Int64
}
type zfarObject struct {
	shard.Object
	store *zfar
}

func (s *zfar) Parallel(string) int { return 64 }
func (s *zfar) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return zfarObject{o, s}, err
}

func (o zfarObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.store.reads.Add(1)
	time.Sleep(o.store.latency)
	return o.Object.ReadAt(ctx, p, off)
}

func TestZScale(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		t.Skip()
	}
	one := files(t, [][]int{{100, 100, 100, 100, 100}}, func(int64) int { return 2000 })
	b := content(t, one, "data/part-000.parquet")
	store := &memstore.Store{}
	for i := range n {
		store.Put(fmt.Sprintf("data/part-%06d.parquet", i), b)
	}
	dir := t.TempDir()
	for pass := range 2 {
		far := &zfar{Store: store, latency: 20 * time.Millisecond}
		began := time.Now()
		d, err := Open(t.Context(), shard.Stores{"mem": far}, []string{"mem://data/"}, Options{Shuffle: true, IndexDir: dir, Hot: nil})
		if err != nil {
			t.Fatal(err)
		}
		opened := time.Since(began)
		r0 := far.reads.Load()
		s, err := d.Stream(t.Context(), WorkerInfo{}, StreamOptions{BatchSize: 256})
		if err != nil {
			t.Fatal(err)
		}
		streamed := time.Since(began)
		dr, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("pass %d: open %v (%d reads), stream %v, first %v (%d reads); %v\n", pass, opened, r0, streamed, time.Since(began), far.reads.Load()-r0, s.Stats())
		fmt.Println(s.Account())
		dr.Release()
		s.Close()
		d.Close()
	}
}
