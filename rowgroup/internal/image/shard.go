package image

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/shard"
)

// A Tier opens what is kept decoded of a shard: a sparse file of size bytes, one for each form,
// which is a short name of the columns and of how they are read. nil is a shard of which nothing is
// kept.
type Tier func(s shard.Shard, form string, size int64) File

// A File keeps images of row groups at places that follow from the shard's footer. It may lose
// bytes at any time, and need not take any. It is safe for concurrent use.
type File interface {
	// Held is how many bytes are held from off on without a hole, up to most. off is a multiple of
	// 64 KiB.
	Held(off, most int64) int64
	// Lend lends n bytes if all of them are held, as [shard.Lender].
	Lend(off, n int64) (shard.Lease, error)
	// Written returns a number that changes when the file is written to, by whatever program.
	Written() int64
	// Again is another use of a lease of Lend; it fails where Lend would now.
	Again(l shard.Lease) error
	// MayStay reports whether a lease may be held for as long as a block lives.
	MayStay() bool
	// ReadAhead waits until the spans are in memory; they are not mapped then.
	ReadAhead(ctx context.Context, spans []shard.Span)
	// MayKeep reports whether there may be room for n bytes.
	MayKeep(n int64) bool
	// Keep stores b at an offset that holds nothing yet. The caller may reuse b when Keep returns,
	// which may be before it is on disk.
	Keep(ctx context.Context, off int64, b []byte) error
	// Discard drops bytes that are damaged.
	Discard(off, n int64)
}

const (
	// Alignment divides the offsets of images in a file.
	Alignment = 64 << 10

	mostKnown = 8 << 10 // row groups whose images are known at a time, about

	// LeastPlace is the room in a place that the header of any image and the alignment take.
	LeastPlace = 2*Alignment + nodeBytes*maxNodes
)

// Shards are the shards of a tier that were looked at last, with what is known of their images.
type Shards struct {
	open   Tier
	mapped *Mapped

	mu     sync.Mutex
	shards map[int]*Shard
	groups int
}

// A Shard is a shard in a tier: the places of its row groups' images, and the images found whole.
type Shard struct {
	file   File
	of     *Shards
	number int     // of the shard
	places []int64 // of the groups, and the end of the last

	mu     sync.Mutex
	images map[int]*Image // by row group; all are whole
}

// NewShards returns the shards of a tier, or nil if open is nil. mapped may be nil.
func NewShards(open Tier, mapped *Mapped) *Shards {
	if open == nil {
		return nil
	}
	return &Shards{open: open, mapped: cmp.Or(mapped, &Mapped{})}
}

// Of returns the shard with a number, nil if nothing is kept of it. look opens one that is not
// known.
func (t *Shards) Of(number int, look func() *Shard) *Shard {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if of, ok := t.shards[number]; ok {
		return of
	}
	of := look()
	if t.shards == nil || t.groups > mostKnown {
		t.shards, t.groups = map[int]*Shard{}, 0
	}
	t.shards[number] = of
	if of != nil {
		t.groups += len(of.places)
	}
	return of
}

// Open opens the file that keeps a shard in a form, nil if the tier keeps nothing of it. places are
// the offsets of its row groups' images, and the end of the last.
func (t *Shards) Open(s shard.Shard, number int, form string, places []int64) *Shard {
	file := t.open(s, form, places[len(places)-1])
	if file == nil {
		return nil
	}
	return &Shard{file: file, of: t, number: number, places: places, images: map[int]*Image{}}
}

// MayKeep reports whether there may be room for n bytes.
func (t *Shard) MayKeep(n int64) bool { return t.file.MayKeep(n) }

// ReadAhead waits until an image is in memory.
func (t *Shard) ReadAhead(ctx context.Context, i *Image) {
	t.file.ReadAhead(ctx, []shard.Span{{Off: i.place, N: i.Bytes}})
}

// Find returns the image of a row group if it is held whole. It is verified again when the file was
// written to since.
func (t *Shard) Find(group int, rows int64) *Image {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.images[group]; i != nil && i.written == t.file.Written() {
		return i
	}
	delete(t.images, group)
	i := t.load(group, rows)
	if i == nil {
		t.of.mapped.forget(t.key(group))
		return nil
	}
	t.images[group] = i
	return i
}

// load reads the header of an image and verifies the whole.
func (t *Shard) load(group int, rows int64) *Image {
	i := t.Look(group, rows)
	if i != nil && !t.verify(group, i) {
		t.file.Discard(t.places[group], i.head()+i.Bytes)
		return nil
	}
	return i
}

// Look reads the header of an image that is held whole.
func (t *Shard) Look(group int, rows int64) *Image {
	place, end, written := t.places[group], t.places[group+1], t.file.Written()
	n := t.file.Held(place, headerBytes+nodeBytes*maxNodes)
	if n < headerBytes {
		return nil
	}
	lease, err := t.file.Lend(place, n)
	if err != nil {
		return nil
	}
	defer lease.Release()
	var i Image
	err = shard.Guard(func() error { return i.parse(lease.Bytes(), end-place) })
	if err != nil || i.Rows != rows {
		t.file.Discard(place, n)
		return nil
	}
	i.place, i.written = place+i.head(), written
	if t.file.Held(i.place, i.Bytes) < i.Bytes {
		return nil
	}
	return &i
}

// Whole reports whether an image is still the one that was verified. A write to the file, even to
// other images, takes another look at the bytes.
func (t *Shard) Whole(group int, i *Image) bool {
	return i.written == t.file.Written() || t.verify(group, i)
}

// Forget drops an image whose bytes turned out to be gone or damaged.
func (t *Shard) Forget(group int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.images, group)
	t.of.mapped.forget(t.key(group))
}

func (t *Shard) key(group int) groupKey { return groupKey{t.of, t.number, group} }

// Lend borrows the bytes of an image.
func (t *Shard) Lend(group int, i *Image) (*Lease, error) {
	return t.of.mapped.lend(t.key(group), t.file, i)
}

// sumBytes is how much of an image is summed before its pages are given back.
const sumBytes = 1 << 20

// verify compares the sum of an image with the sum in its header, piece by piece, and drops the
// pages of each piece from memory if they cannot stay mapped.
func (t *Shard) verify(group int, i *Image) bool {
	if i.Bytes == 0 {
		return false
	}
	lease, err := t.Lend(group, i)
	if err != nil {
		return false
	}
	defer lease.Release()
	stays := lease.stay()
	err = shard.Guard(func() error {
		b, sum := lease.Bytes(), uint32(0)
		for at := int64(0); at < i.Bytes; at += sumBytes {
			n := min(sumBytes, i.Bytes-at)
			sum = crc.Append(sum, b[at:at+n])
			if !stays {
				lease.Forget(shard.Span{Off: i.place + at, N: n})
			}
		}
		if sum != i.sum {
			return errNotImage
		}
		return nil
	})
	if err != nil {
		t.of.mapped.forget(t.key(group))
	}
	return err == nil
}

// ErrNotKept is a row group that the tier does not take: it does not fit its place or the memory,
// none of its columns are decoded, or this machine does not hold its bytes.
var ErrNotKept = errors.New("the row group is not kept decoded")
