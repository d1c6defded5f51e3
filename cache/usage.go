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

// An amount is the disk space of files.
type amount struct {
	all     int64 // bytes
	decoded int64 // decoded files among them
}

func (a *amount) add(r room) {
	a.all += r.bytes
	if r.decoded {
		a.decoded += r.bytes
	}
}

var errUsageCut = errors.New("its file v1/usage was truncated, or its disk failed: nothing is added before the next start")

var errSlots = errors.New("too many processes use the cache directory")

// usage is the account of a cache directory that all its processes share: bytes on the disk or
// about to be, in total and for decoded files. Each process also notes the bytes it is about to
// write in a slot that it locks; the kernel frees the lock when the process ends, so that notes of
// killed processes are recognized.
//
// Counts are in a shared mapping; each method returns an error instead of faulting if the file was
// cut.
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
			err = u.guard(func() error {
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

// guard runs code that uses the mapping.
func (u *usage) guard(f func() error) error {
	err := shard.Guard(f)
	if errors.Is(err, shard.ErrChanged) {
		return errUsageCut
	}
	return err
}

func (u *usage) close() {
	unmap(u.b)
	u.file.Close() // frees the slot
}

func (u *usage) slotAt(i int) int64        { return slotsAt + 8*int64(i) }
func (u *usage) decodedSlotAt(i int) int64 { return decodedSlotsAt + 8*int64(i) }

func (u *usage) word(at int64) *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&u.b[at])) }

func (u *usage) load(at int64) (n int64, err error) {
	err = u.guard(func() error { n = u.word(at).Load(); return nil })
	return n, err
}

func (u *usage) store(at, n int64) error {
	return u.guard(func() error { u.word(at).Store(n); return nil })
}

// bytes returns the bytes on the disk or about to be.
func (u *usage) bytes() (n int64, err error) { return u.load(totalAt) }

// amount returns bytes and the part for decoded files.
func (u *usage) amount() (a amount, err error) {
	err = u.guard(func() error { a = u.loadAmount(); return nil })
	return a, err
}

func (u *usage) loadAmount() amount {
	return amount{all: u.word(totalAt).Load(), decoded: u.word(decodedAt).Load()}
}

// reserve takes room if the limits allow it. It is committed once it is filled.
func (u *usage) reserve(r room, limit amount) (ok bool, err error) {
	err = u.guard(func() error {
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

// note adds n to the bytes that this process is about to write.
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

// commit ends a reservation whose room is filled, or whose write failed: a part may be on the disk,
// so it stays counted until the next recount, which must never count too little.
func (u *usage) commit(r room) error {
	return u.guard(func() error { u.note(r, -r.bytes); return nil })
}

// removed records that a file was removed and that a scan may find room again. The caller has the
// directory's lock.
func (u *usage) removed(r room) error {
	return u.guard(func() error {
		u.word(totalAt).Add(-r.bytes)
		if r.decoded {
			u.word(decodedAt).Add(-r.bytes)
		}
		u.word(scanAfterAt).Store(0)
		u.word(decodedScanAfterAt).Store(0)
		return nil
	})
}

// recount corrects the account by scanning all files with look, which returns their disk space. It
// first reads what processes are about to write: writes that finish meanwhile may count twice until
// the next scan, but are never missed. Reservations made meanwhile stay. The caller has the
// directory's lock, so that no other process removes files.
func (u *usage) recount(look func() (onDisk amount, err error)) error {
	var before, underWay amount
	err := u.guard(func() (err error) {
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
	return u.guard(func() error {
		u.word(totalAt).Add(onDisk.all + underWay.all - before.all)
		u.word(decodedAt).Add(onDisk.decoded + underWay.decoded - before.decoded)
		return nil
	})
}

// underWay sums the notes of living processes. A process that takes a slot clears it; older
// releases do not clear the note of decoded bytes, so it counts only up to the note of all bytes.
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

// scanAfter returns the time from which a scan for evictable files is worthwhile again. Decoded
// bytes may evict less than shards, so they have a time of their own.
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

// limit returns the limit of the process that opened the directory last.
func (u *usage) limit() (n int64, err error) { return u.load(limitAt) }

func (u *usage) setLimit(n int64) error { return u.store(limitAt, n) }
