package rowgroup

import (
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// A Tier opens what is kept decoded of a shard: a sparse file of size bytes. nil is a shard of which
// nothing is kept.
type Tier func(s shard.Shard, size int64) TierFile

// A TierFile keeps images of decoded columns at places that follow from the shard's footer. It may
// lose bytes at any time, and need not take any. It is safe for concurrent use.
type TierFile interface {
	// Held is how many bytes are held from off on without a hole, up to most. off is a multiple of
	// 64 KiB.
	Held(off, most int64) int64
	// Lend lends n bytes if all of them are held, as [shard.Lender].
	Lend(off, n int64) (shard.Lease, error)
	// ReadAhead waits until the spans are in memory; they are not mapped then.
	ReadAhead(ctx context.Context, spans []shard.Span)
	// MayKeep says whether there may be room for n bytes.
	MayKeep(n int64) bool
	// Keep stores b, where nothing is held yet. b is the caller's again when Keep returns, which may
	// be before it is on disk.
	Keep(ctx context.Context, off int64, b []byte) error
	// Discard drops bytes that are damaged.
	Discard(off, n int64)
}

const (
	tierBlock = 64 << 10 // images begin at multiples of this
	tierOpen  = 8 << 10  // images that a manifest knows at a time
)

// tierShards are the shards whose images a manifest has looked at last.
type tierShards struct {
	open Tier

	mu     sync.Mutex
	shards map[int]*tierShard
	chunks int
}

// A tierShard is where the images of a shard's chunks lie, and what is known of them. Chunks are in
// the order of the record's columns per chunk.
type tierShard struct {
	file   TierFile
	places []int64 // and the end of the last

	mu     sync.Mutex
	images map[int]*image // by chunk: those that are whole
}

func newTierShards(open Tier) *tierShards {
	if open == nil {
		return nil
	}
	return &tierShards{open: open}
}

// tierOf is where the images of shard s lie; nil when nothing of it is kept.
func (m *Manifest) tierOf(s int) *tierShard {
	t := m.tier
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if of, ok := t.shards[s]; ok {
		return of
	}
	of := m.openTier(s)
	if t.shards == nil || t.chunks > tierOpen {
		t.shards, t.chunks = map[int]*tierShard{}, 0
	}
	t.shards[s] = of
	if of != nil {
		t.chunks += len(of.places)
	}
	return of
}

func (m *Manifest) openTier(s int) *tierShard {
	r, err := parseRecord(m.files[s].record)
	if err != nil || m.shards[s].Version == "" {
		return nil
	}
	places := tierPlaces(&r)
	file := m.tier.open(m.shards[s], places[len(places)-1])
	if file == nil {
		return nil
	}
	return &tierShard{file: file, places: places, images: map[int]*image{}}
}

// tierPlaces are where the images of a shard's chunks begin. A chunk has room for two words and two
// times the bytes of each value, which nearly all decoded columns need less than; what nothing is
// written to takes no disk.
func tierPlaces(r *record) []int64 {
	n := r.groups * r.leaves
	places := make([]int64, n+1)
	for k := range n {
		room := 16*max(0, r.values.at(k)) + 2*max(0, r.uncompressed.at(k))
		places[k+1] = places[k] + 2*tierBlock + (room+tierBlock-1)/tierBlock*tierBlock
	}
	return places
}

// find returns the image of a chunk if it is held whole, as the one that sign asks for.
func (t *tierShard) find(chunk int, sign uint64, rows int64) *image {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.images[chunk]; i != nil {
		if i.sign != sign || i.rows != rows {
			return nil
		}
		return i
	}
	i := t.load(chunk)
	if i == nil || i.sign != sign || i.rows != rows {
		return nil
	}
	t.images[chunk] = i
	return i
}

// load reads the header of an image and verifies the whole.
func (t *tierShard) load(chunk int) (found *image) {
	place, end := t.places[chunk], t.places[chunk+1]
	n := t.file.Held(place, tierBlock)
	if n < imageHeader {
		return nil
	}
	lease, err := t.file.Lend(place, n)
	if err != nil {
		return nil
	}
	defer lease.Release()
	var i image
	err = shard.Guard(func() error { return i.parse(lease.Bytes(), end-place-tierBlock) })
	if err != nil {
		t.file.Discard(place, n)
		return nil
	}
	if t.file.Held(place+tierBlock, i.bytes) < i.bytes {
		return nil
	}
	i.place = place + tierBlock
	if !t.verify(&i) {
		t.file.Discard(place, tierBlock+i.bytes)
		return nil
	}
	return &i
}

// forget drops an image whose bytes turned out to be gone or damaged.
func (t *tierShard) forget(chunk int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.images, chunk)
}

// verify compares the sum of an image with that of its header, in pieces whose pages are given back.
func (t *tierShard) verify(i *image) bool {
	lease, err := t.file.Lend(i.place, i.bytes)
	if err != nil {
		return false
	}
	defer lease.Release()
	err = shard.Guard(func() error {
		b, sum := lease.Bytes(), uint32(0)
		for at := int64(0); at < i.bytes; at += forgetBytes {
			n := min(forgetBytes, i.bytes-at)
			sum = imageSum(sum, b[at:at+n])
			lease.Forget(shard.Span{Off: i.place + at, N: n})
		}
		if sum != i.sum {
			return errImage
		}
		return nil
	})
	return err == nil
}
