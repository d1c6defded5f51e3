package s3

import (
	"bytes"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// TestServerMemory: 64 reads in flight take little beyond their callers' buffers, and a read in the
// steady state allocates little.
func TestServerMemory(t *testing.T) {
	const (
		readers   = 64
		size      = 1 << 20 // of a range
		hole      = 500_000 // read over
		perGET    = 100 << 10
		inFlight  = 20 << 20 // of all 64: connections, their buffers, what the SDK holds
		each      = 6
		totalGETs = readers * each
	)
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	content := random(1, 2*size+hole)
	server.Put(t, bucket, "a", content)
	o := optionsOf(server)
	o.HedgeAfter = time.Hour // a busy machine makes no second requests
	store := newStore(t, o)
	found, err := store.List(t.Context(), "s3://"+bucket+"/a")
	if err != nil {
		t.Fatal(err)
	}
	object, err := store.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	buffers := make([]byte, readers*2*size)
	round := func(n int) {
		var wg sync.WaitGroup
		for i := range readers {
			wg.Go(func() {
				first := shard.Range{Off: 0, P: buffers[2*i*size:][:size]}
				second := shard.Range{Off: size + hole, P: buffers[(2*i+1)*size:][:size]}
				for range n {
					if err := shard.ReadRanges(t.Context(), object, []shard.Range{first, second}); err != nil {
						t.Error(err)
					}
				}
				if !bytes.Equal(first.P, content[:size]) || !bytes.Equal(second.P, content[size+hole:]) {
					t.Error("wrong bytes")
				}
			})
		}
		wg.Wait()
	}
	var before, warm, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	round(1)
	runtime.GC()
	runtime.ReadMemStats(&warm)
	round(each)
	runtime.ReadMemStats(&after)
	if held := int64(warm.HeapAlloc) - int64(before.HeapAlloc); held > inFlight {
		t.Errorf("%d bytes are held after 64 reads", held)
	}
	if made := (after.TotalAlloc - warm.TotalAlloc) / totalGETs; made > perGET {
		t.Errorf("a read allocates %d bytes", made)
	} else {
		t.Logf("a read allocates %d bytes; %d are held after the first 64", made, int64(warm.HeapAlloc)-int64(before.HeapAlloc))
	}
	tr := store.Traffic()
	if tr.Reads != readers*(each+1)+tr.Retries || tr.ReadBytes < int64(readers*(each+1)*len(content)) {
		t.Errorf("%+v: two ranges and a short hole are one request", tr)
	}
}

// BenchmarkServerRead reads ranges of 12 MiB, eight in flight: our store, and a bare loop of GETs
// into the same buffers.
func BenchmarkServerRead(b *testing.B) {
	const size, inFlight = 12 << 20, 8
	server := servertest.S3(b)
	bucket := server.Bucket(b)
	server.Put(b, bucket, "a", random(1, size*4))
	store := newStore(b, optionsOf(server))
	found, err := store.List(b.Context(), "s3://"+bucket+"/a")
	if err != nil {
		b.Fatal(err)
	}
	opened, err := store.Open(b.Context(), found[0])
	if err != nil {
		b.Fatal(err)
	}
	ways := []struct {
		name string
		read func(p []byte, off int64) error
	}{
		{"store", func(p []byte, off int64) error { return opened.ReadAt(b.Context(), p, off) }},
		{"bare", func(p []byte, off int64) error { return bare(b, store, opened.(*object), p, off) }},
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			var wg sync.WaitGroup
			tokens := make(chan []byte, inFlight)
			for range inFlight {
				tokens <- make([]byte, size)
			}
			for i := range b.N {
				p := <-tokens
				wg.Go(func() {
					if err := way.read(p, int64(i%4)*size); err != nil {
						b.Error(err)
					}
					tokens <- p
				})
			}
			wg.Wait()
		})
	}
}

// bare is one GET without any of our rules.
func bare(b *testing.B, s *Store, o *object, p []byte, off int64) error {
	c, err := s.get(b.Context(), o.at.bucket)
	if err != nil {
		return err
	}
	out, err := c.api.GetObject(b.Context(), o.input(shard.Span{Off: off, N: int64(len(p))}))
	if err != nil {
		return err
	}
	defer out.Body.Close()
	_, err = io.ReadFull(out.Body, p)
	return err
}

// BenchmarkServerSmall reads 16 KiB at a time, 32 in flight: what a request costs.
func BenchmarkServerSmall(b *testing.B) {
	server := servertest.S3(b)
	bucket := server.Bucket(b)
	server.Put(b, bucket, "a", random(1, 16<<10))
	store := newStore(b, optionsOf(server))
	found, err := store.List(b.Context(), "s3://"+bucket+"/a")
	if err != nil {
		b.Fatal(err)
	}
	o, err := store.Open(b.Context(), found[0])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		p := make([]byte, 16<<10)
		for pb.Next() {
			if err := o.ReadAt(b.Context(), p, 0); err != nil {
				b.Error(err)
			}
		}
	})
}
