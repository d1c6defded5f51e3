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
	usageName  = "usage"
	usageBytes = 12288

	totalAt            = 8
	scanAfterAt        = 16
	limitAt            = 24
	decodedAt          = 32
	decodedScanAfterAt = 40

	slotsAt        = 4096
	decodedSlotsAt = 8192
	slots          = 512 // processes at a time
)

// A room is space on the disk.
type room struct {
	bytes   int64
	decoded bool // of a decoded file
}

// An amount is what files take on the disk.
type amount struct {
	all     int64 // bytes
	decoded int64 // those of decoded files among them
}

func (a *amount) add(r room) {
	a.all += r.bytes
	if r.decoded {
		a.decoded += r.bytes
	}
}

var errSlots = errors.New("too many processes use the cache directory")

// usage is the account of a cache directory that all its processes share: bytes that lie on the
// disk or are about to, and those of decoded files among them. Each process also notes what it is
// about to write in a slot that it locks, so that the kernel tells which notes are of processes
// that were killed.
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
			err = shard.Guard(func() error {
				u.word(u.slotAt(u.slot)).Store(0)
				u.word(u.decodedSlotAt(u.slot)).Store(0)
				return nil
			})
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

func (u *usage) slotAt(i int) int64        { return slotsAt + 8*int64(i) }
func (u *usage) decodedSlotAt(i int) int64 { return decodedSlotsAt + 8*int64(i) }

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

// amount is bytes, and those of decoded files among them.
func (u *usage) amount() (a amount, err error) {
	err = shard.Guard(func() error { a = u.loadAmount(); return nil })
	return a, err
}

func (u *usage) loadAmount() amount {
	return amount{all: u.word(totalAt).Load(), decoded: u.word(decodedAt).Load()}
}

// reserve takes room if the limits allow it. It is committed once it is filled.
func (u *usage) reserve(r room, limit amount) (ok bool, err error) {
	err = shard.Guard(func() error {
		u.note(r, r.bytes)
		ok = !r.decoded || addBelow(u.word(decodedAt), r.bytes, limit.decoded)
		if ok && !addBelow(u.word(totalAt), r.bytes, limit.all) {
			ok = false
			if r.decoded {
				u.word(decodedAt).Add(-r.bytes)
			}
		}
		if !ok {
			u.note(r, -r.bytes)
		}
		return nil
	})
	return ok, err
}

// note changes what this process is about to write.
func (u *usage) note(r room, n int64) {
	if r.decoded {
		u.word(u.decodedSlotAt(u.slot)).Add(n)
	}
	u.word(u.slotAt(u.slot)).Add(n)
}

func addBelow(word *atomic.Int64, n, limit int64) bool {
	for {
		old := word.Load()
		if old+n > limit {
			return false
		}
		if word.CompareAndSwap(old, old+n) {
			return true
		}
	}
}

// commit says that reserved room is filled now, or that writing to it failed: a part may lie there,
// so it stays counted until the next recount, which must never find less than there is.
func (u *usage) commit(r room) error {
	return shard.Guard(func() error { u.note(r, -r.bytes); return nil })
}

// removed says that a file was taken off the disk, and that room may be found again. The caller has
// the directory's lock.
func (u *usage) removed(r room) error {
	return shard.Guard(func() error {
		u.word(totalAt).Add(-r.bytes)
		if r.decoded {
			u.word(decodedAt).Add(-r.bytes)
		}
		u.word(scanAfterAt).Store(0)
		u.word(decodedScanAfterAt).Store(0)
		return nil
	})
}

// recount puts the account right by a look at all files, which returns what they have on the disk.
// What processes are about to write is read before: what they finish meanwhile may count twice,
// until the next look, but never not at all. Reservations that are taken meanwhile stay. The caller
// has the directory's lock, so that no files are removed by others.
func (u *usage) recount(look func() (onDisk amount, err error)) error {
	var before, underWay amount
	err := shard.Guard(func() (err error) {
		before = u.loadAmount()
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
	return shard.Guard(func() error {
		u.word(totalAt).Add(onDisk.all + underWay.all - before.all)
		u.word(decodedAt).Add(onDisk.decoded + underWay.decoded - before.decoded)
		return nil
	})
}

// underWay sums the notes of living processes. A slot is cleared by who takes it; older releases
// leave the note of decoded bytes as it is, so it counts only as far as there are bytes at all.
func (u *usage) underWay() (sum amount, err error) {
	for i := range slots {
		note := u.word(u.slotAt(i)).Load()
		if note == 0 {
			continue
		}
		alive := i == u.slot
		if !alive {
			if alive, err = lockedElsewhere(u.file, u.slotAt(i), 8); err != nil {
				return amount{}, err
			}
		}
		if alive {
			sum.all += note
			sum.decoded += min(note, u.word(u.decodedSlotAt(i)).Load())
		}
	}
	return sum, nil
}

// scanAfter is when a look for what may be evicted is worth its time again. Decoded bytes may evict
// less than others, so they have a time of their own.
func (u *usage) scanAfter(decoded bool) time.Time {
	n, _ := u.load(scanAfterWord(decoded))
	return time.Unix(0, n)
}

func (u *usage) setScanAfter(decoded bool, t time.Time) error {
	return u.store(scanAfterWord(decoded), t.UnixNano())
}

func scanAfterWord(decoded bool) int64 {
	if decoded {
		return decodedScanAfterAt
	}
	return scanAfterAt
}

// limit is that of the process that opened the directory last.
func (u *usage) limit() (n int64, err error) { return u.load(limitAt) }

func (u *usage) setLimit(n int64) error { return u.store(limitAt, n) }
