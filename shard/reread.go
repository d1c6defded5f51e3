package shard

import (
	"context"
	"hash/crc32"
)

// How often bytes that cannot be right are read again: at most MaxRereads times, so that a network
// that damages a tenth of its answers is survived, and only until they come out the same MaxSame
// times, since those of a damaged shard do.
const (
	MaxRereads = 4
	MaxSame    = 3
)

// Rereading runs parse, which reads metadata of a shard from the object that it gets. While parse
// fails although its reads succeed, it runs again: the bytes may have been damaged on their way, or
// in a cache.
func Rereading(ctx context.Context, o Object, parse func(o Object) error) error {
	r := &rereader{Object: o}
	err, same := parse(r), 0
	for n := 0; err != nil && !r.failed && ctx.Err() == nil && n < MaxRereads && same < MaxSame; n++ {
		before := r.sum
		Discard(o, r.spans)
		r.spans, r.sum = nil, 0
		if err = parse(r); r.sum == before {
			same++
		}
	}
	return err
}

// A rereader notes what is read of an object.
type rereader struct {
	Object
	spans  []Span
	sum    uint32
	failed bool // a read, so that the error is not about its bytes
}

func (r *rereader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := r.Object.ReadAt(ctx, p, off); err != nil {
		r.failed = true
		return err
	}
	r.spans = append(r.spans, Span{Off: off, N: int64(len(p))})
	r.sum = crc32.Update(r.sum, crc32.IEEETable, p)
	return nil
}
