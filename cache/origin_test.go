package cache

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// An origin is a store whose shards' bytes follow from their address, version and place, so that
// any process can tell wrong ones. It counts what is fetched.
type origin struct {
	delay   time.Duration
	hold    chan struct{} // reads wait until it is closed; nil: they don't
	log     *os.File      // a line for each fetch, or nil
	fetched atomic.Int64
	opens   atomic.Int64
}

type originObject struct {
	origin *origin
	shard  shard.Shard
	seed   uint64
}

func originShard(i int, version string, size int64) shard.Shard {
	return shard.Shard{URI: fmt.Sprintf("remote://bucket/part-%d.parquet", i), Size: size, Version: version}
}

func (o *origin) List(context.Context, string) ([]shard.Shard, error) { return nil, nil }

func (o *origin) Open(_ context.Context, s shard.Shard) (shard.Object, error) {
	o.opens.Add(1)
	return &originObject{origin: o, shard: s, seed: seedOf(s)}, nil
}

func (o *originObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.ReadRanges(ctx, []shard.Range{{Off: off, P: p}})
}

func (o *originObject) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	if o.origin.hold != nil {
		<-o.origin.hold
	}
	if o.origin.delay > 0 {
		time.Sleep(o.origin.delay)
	}
	for _, r := range ranges {
		truth(o.seed, r.P, r.Off)
		o.origin.fetched.Add(int64(len(r.P)))
		if o.origin.log != nil {
			fmt.Fprintf(o.origin.log, "%d %d %s\n", r.Off, len(r.P), o.shard.URI)
		}
	}
	return ctx.Err()
}

func (o *originObject) Close() error { return nil }

func seedOf(s shard.Shard) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", s.URI, s.Version)
	return h.Sum64()
}

// truth fills p with the bytes of a shard from off on.
func truth(seed uint64, p []byte, off int64) {
	var word [8]byte
	for len(p) > 0 {
		x := uint64(off/8)*0x9e3779b97f4a7c15 ^ seed
		x ^= x >> 29
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 32
		binary.LittleEndian.PutUint64(word[:], x)
		n := copy(p, word[off%8:])
		p, off = p[n:], off+int64(n)
	}
}
