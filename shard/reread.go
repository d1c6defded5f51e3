package shard

import (
	"context"
	"hash/crc32"
)

// Limits of reading bytes again that cannot be right: at most MaxRereads times, for a network that
// damages many answers, but only MaxSame times while they stay the same, as in a damaged shard.
const (
	MaxRereads = 12
	MaxSame    = 5
)

// Rereads counts the repeated reads of some bytes. The zero value is ready.
type Rereads struct {
	n       int
	changed bool // the bytes came out in two ways: not the shard is damaged, but what brings it
}

// More reports whether the bytes are worth another read.
func (r *Rereads) More() bool { return r.n < MaxSame || r.changed && r.n < MaxRereads }

// Note counts a read, and whether its bytes differ from the previous ones.
func (r *Rereads) Note(changed bool) {
	r.n++
	r.changed = r.changed || changed
}

// Rereading runs parse, which reads metadata of a shard from the object that it gets. While parse
// fails although its reads succeed, it runs again: the bytes may have been damaged on their way, or
// in a cache.
func Rereading(ctx context.Context, o Object, parse func(o Object) error) error {
	r := &rereader{Object: o}
	err := parse(r)
	for again := (Rereads{}); err != nil && !r.failed && ctx.Err() == nil && again.More(); {
		before := r.sum
		Discard(o, r.spans)
		r.spans, r.sum = nil, 0
		err = parse(r)
		again.Note(r.sum != before)
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
