package cache

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/shard"
)

// Layout of the file usage; doc.go has the table.
const (
	usageName   = "usage"
	usageBytes  = 8192
	totalAt     = 8
	scanAfterAt = 16
	limitAt     = 24
	slotsAt     = 4096
	slots       = 512 // processes at a time
)

var errSlots = errors.New("too many processes use the cache directory")

// usage is the account of a cache directory that all its processes share: bytes that lie on the
// disk or are about to. Each process also notes what it is about to write in a slot that it locks,
// so that the kernel tells which notes are of processes that were killed.
//
// Counts live in a shared mapping; each method returns an error instead of faulting when the file
// under it was cut.
type usage struct {
	file *os.File
	b    []byte
	slot int
}

// openUsage opens the account of a directory and takes a slot.
func openUsage(root *trusted.Dir) (*usage, error) {
	u, err := mapUsage(root)
	if err != nil {
		return nil, err
	}
	for u.slot = range slots {
		err = lockRange(u.file, u.slotAt(u.slot), 8)
		if err == nil {
			err = shard.Guard(func() error { u.word(u.slotAt(u.slot)).Store(0); return nil })
			break
		}
		if !errors.Is(err, errBusy) {
			break
		}
	}
	if errors.Is(err, errBusy) {
		err = errSlots
	}
	if err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

// mapUsage opens the account without a slot, to read it, or to write it under the directory's lock.
func mapUsage(root *trusted.Dir) (*usage, error) {
	f, err := root.OpenFile(usageName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	u := &usage{file: f, slot: -1}
	if err = allocate(f, usageBytes); err == nil { // it never shrinks a file
		u.b, err = mapHead(f, usageBytes, false)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return u, nil
}

func (u *usage) close() {
	unmap(u.b)
	u.file.Close() // frees the slot
}

func (u *usage) slotAt(i int) int64 { return slotsAt + 8*int64(i) }

func (u *usage) word(at int64) *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&u.b[at])) }

func (u *usage) load(at int64) (n int64, err error) {
	err = shard.Guard(func() error { n = u.word(at).Load(); return nil })
	return n, err
}

func (u *usage) store(at, n int64) error {
	return shard.Guard(func() error { u.word(at).Store(n); return nil })
}

// bytes is what lies on the disk or is about to.
func (u *usage) bytes() (n int64, err error) { return u.load(totalAt) }

// reserve takes n bytes if the limit allows it. They are committed once they are written.
func (u *usage) reserve(n, limit int64) (ok bool, err error) {
	err = shard.Guard(func() error {
		total, slot := u.word(totalAt), u.word(u.slotAt(u.slot))
		slot.Add(n)
		for {
			old := total.Load()
			if old+n > limit {
				slot.Add(-n)
				return nil
			}
			if total.CompareAndSwap(old, old+n) {
				ok = true
				return nil
			}
		}
	})
	return ok, err
}

// commit says that n reserved bytes lie on the disk now, or that writing them failed: a part may
// lie there, so they stay counted until the next recount, which must never find less than there is.
func (u *usage) commit(n int64) error {
	return shard.Guard(func() error { u.word(u.slotAt(u.slot)).Add(-n); return nil })
}

// removed says that n bytes were taken off the disk, and that room may be found again. The caller
// has the directory's lock.
func (u *usage) removed(n int64) error {
	return shard.Guard(func() error {
		u.word(totalAt).Add(-n)
		u.word(scanAfterAt).Store(0)
		return nil
	})
}

// recount puts the account right by a look at all files, which returns the bytes that they have on
// the disk. What processes are about to write is read before: what they finish meanwhile may count
// twice, until the next look, but never not at all. Reservations that are taken meanwhile stay. The
// caller has the directory's lock, so that no files are removed by others.
func (u *usage) recount(look func() (onDisk int64, err error)) error {
	var before, underWay int64
	err := shard.Guard(func() (err error) {
		before = u.word(totalAt).Load()
		underWay, err = u.underWay()
		return err
	})
	if err != nil {
		return err
	}
	onDisk, err := look()
	if err != nil {
		return err
	}
	return shard.Guard(func() error { u.word(totalAt).Add(onDisk + underWay - before); return nil })
}

// underWay sums the notes of living processes. A slot is cleared by who takes it.
func (u *usage) underWay() (n int64, err error) {
	for i := range slots {
		note := u.word(u.slotAt(i)).Load()
		if note == 0 {
			continue
		}
		alive := i == u.slot
		if !alive {
			if alive, err = lockedElsewhere(u.file, u.slotAt(i), 8); err != nil {
				return 0, err
			}
		}
		if alive {
			n += note
		}
	}
	return n, nil
}

// scanAfter is when a look for what may be evicted is worth its time again.
func (u *usage) scanAfter() time.Time {
	n, _ := u.load(scanAfterAt)
	return time.Unix(0, n)
}

func (u *usage) setScanAfter(t time.Time) error { return u.store(scanAfterAt, t.UnixNano()) }

// limit is that of the process that opened the directory last.
func (u *usage) limit() (n int64, err error) { return u.load(limitAt) }

func (u *usage) setLimit(n int64) error { return u.store(limitAt, n) }
