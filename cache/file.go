package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/shard"
)

// errStale reports that the shard file no longer belongs to its key: it was removed, cut, or
// written by another program.
var errStale = errors.New("the shard file is not what it was")

// A file is one open file of a shard, or of decoded bytes. It keeps the shared lock while it is
// open, which protects it from eviction.
//
// The header and the table are mapped, shared with all processes, and only touched inside
// shard.Guard: the entries are read and written as atomic words. Everything else is read and
// written with pread and pwrite.
type file struct {
	key
	fileLayout
	f     *os.File
	head  []byte          // header and table, mapped
	table []atomic.Uint64 // of head

	mu       sync.Mutex
	data     []byte             // the whole shard, mapped for leases; nil before the first
	segments map[int64]*segment // by block: fills under way in this process

	// By block of decoded bytes: the entry whose bytes were verified since the file was opened, or
	// 0. It is nil for a shard, which is verified at each read. Decoded bytes are mapped repeatedly
	// without decoding, so sums would be most of their cost.
	verified []atomic.Uint64

	stamped atomic.Int64 // time of the last stamp of this process, in nanoseconds

	writes writes
}

// writes detects writes to a file, except stamps by this process.
type writes struct {
	mu      sync.Mutex
	changed int64 // time of the file's last change at the last look
	number  int64 // time of the last change that counts
}

// written returns another number after each write to the file, also by a program that does not know
// the cache. Writes within a tick of the file system's clock are one. The error is errStale if the
// file was cut.
func (x *file) written() (int64, error) {
	info, err := x.f.Stat()
	if err == nil && info.Size() != x.fileLayout.file() {
		err = errStale
	}
	if err != nil {
		return 0, err
	}
	x.writes.mu.Lock()
	defer x.writes.mu.Unlock()
	if now := changedAt(info); now != x.writes.changed {
		x.writes.changed, x.writes.number = now, now
	}
	return x.writes.number, nil
}

// stampedNow excludes the last write of this process from the count.
func (x *file) stampedNow() {
	info, err := x.f.Stat()
	if err != nil {
		return
	}
	x.writes.mu.Lock()
	defer x.writes.mu.Unlock()
	x.writes.changed = changedAt(info)
}

// openFile opens an existing shard file. Its error is fs.ErrNotExist if the file is missing, and
// errStale if it is not the key's or another user could have written it; either may differ at the
// next try.
func openFile(root *trusted.Dir, k key) (*file, error) {
	flag := os.O_RDWR
	if root.ReadOnly() {
		flag = os.O_RDONLY
	}
	f, err := root.OpenFile(k.name, flag)
	if errors.Is(err, trusted.ErrUntrusted) {
		return nil, errors.Join(errStale, err)
	}
	if err != nil {
		return nil, err
	}
	if err := checkFile(f, k); err != nil {
		f.Close()
		return nil, err
	}
	return newFile(f, k, root.ReadOnly())
}

// newFile takes an open shard file that is locked as shared. A read-only process marks damage in
// its own copy of the table.
func newFile(f *os.File, k key, readOnly bool) (*file, error) {
	x := &file{key: k, fileLayout: fileLayoutOf(k), f: f, segments: map[int64]*segment{}}
	var err error
	if x.head, err = mapHead(f, x.fileLayout.header+x.fileLayout.table, readOnly); err != nil {
		f.Close()
		return nil, fmt.Errorf("mapping %s: %w", f.Name(), err)
	}
	x.table = wordsOf(x.head[x.fileLayout.header:])
	if k.decoded() {
		x.verified = make([]atomic.Uint64, len(x.table))
	}
	return x, nil
}

// wordsOf returns mapped bytes as words. Mappings start at a page and headers are whole pages.
func wordsOf(b []byte) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[0])), len(b)/8)
}

// checkFile takes the shared lock and checks that the file is the key's, whole, and has a name.
func checkFile(f *os.File, k key) error {
	switch err := share(f); {
	case errors.Is(err, errBusy): // it is being removed, or just was
		return errStale
	case err != nil:
		return err
	}
	return checkWhole(f, k)
}

// checkWhole returns errStale if a file is not the key's, was cut or has no name.
func checkWhole(f *os.File, k key) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	l := fileLayoutOf(k)
	if !isLinked(info) || info.Size() != l.file() {
		return errStale
	}
	header := make([]byte, l.header)
	if _, err := f.ReadAt(header, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !sameHeader(header, encodeHeader(k)) {
		return errStale
	}
	return nil
}

func (x *file) close() {
	unmap(x.head)
	if x.data != nil {
		unmap(x.data)
	}
	x.f.Close()
}

// mapData maps the shard's bytes, holes and all, until the file is closed. Touching them can fault;
// see shard.Guard.
func (x *file) mapData() ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.data == nil {
		b, err := mapData(x.f, x.fileLayout.data, x.fileLayout.size)
		if err != nil {
			return nil, err
		}
		x.data = b
	}
	return x.data, nil
}

// entry returns the table's entry for a block. Call it inside shard.Guard, like set and swap.
func (x *file) entry(block int64) entry { return entry(x.table[block].Load()) }

// swap replaces an entry, unless another has replaced it.
func (x *file) swap(block int64, old, new entry) bool {
	return x.table[block].CompareAndSwap(uint64(old), uint64(new))
}

// damage clears an entry whose bytes fail their checksum, and counts the damage. Readers of earlier
// leases learn from the count that their bytes may have been damaged, even if the block has been
// fetched again since. Call it inside shard.Guard.
func (x *file) damage(block int64, e entry) bool {
	if !x.swap(block, e, 0) {
		return false
	}
	x.damages().Add(1)
	return true
}

// damages counts the entries that were emptied, by all processes.
func (x *file) damages() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&x.head[damagesAt])) }

// discard clears the entries of a span's blocks. Leases of them fail at their next Verify.
func (x *file) discard(span shard.Span) error {
	return shard.Guard(func() error {
		for block := span.Off / blockSize; block*blockSize < min(span.End(), x.key.size); block++ {
			if e := x.entry(block); e != 0 {
				x.damage(block, e)
			}
		}
		return nil
	})
}

func (x *file) wasVerified(block int64, e entry) bool {
	return x.verified != nil && x.verified[block].Load() == uint64(e)
}

func (x *file) setVerified(block int64, e entry) {
	if x.verified != nil {
		x.verified[block].Store(uint64(e))
	}
}

// whole fails for a file that was cut, so that it is opened again. The rest of a cut page reads as
// zeros.
func (x *file) whole() error {
	info, err := x.f.Stat()
	if err == nil && info.Size() != x.fileLayout.file() {
		err = errStale
	}
	return err
}

// run returns the bytes of the shard that a block's entry holds.
func (x *file) run(block int64, e entry) shard.Span {
	lo, hi := e.run(blockLen(x.fileLayout.size, block))
	return shard.Span{Off: block*blockSize + int64(lo), N: int64(hi - lo)}
}

// readAt reads bytes of the shard without consulting the table.
func (x *file) readAt(p []byte, off int64) error {
	_, err := x.f.ReadAt(p, x.fileLayout.data+off)
	if errors.Is(err, io.EOF) { // it was cut
		return errStale
	}
	return err
}

// A stamp is the last use of a shard and the time until which it is kept. The sum of the header
// does not cover it.
type stamp struct {
	used, until time.Time
	by          uint64 // the Cache that set it
}

func (s stamp) put(header []byte) {
	words := []int64{s.used.UnixNano(), s.until.UnixNano(), int64(s.by)}
	for i, w := range words {
		copy(header[usedAt+8*i:], leBytes(w))
	}
}

func stampOf(header []byte) stamp {
	return stamp{
		used:  time.Unix(0, leInt(header[usedAt:])),
		until: time.Unix(0, leInt(header[untilAt:])),
		by:    uint64(leInt(header[byAt:])),
	}
}

// touch stamps the file as used now. The time until which it is kept only grows, except when the
// same Cache set it: it may shorten that time when it knows how long its epochs are.
func (x *file) touch(mark stamp, every time.Duration) error {
	now, last := mark.used.UnixNano(), x.stamped.Load()
	if now-last < int64(every) || !x.stamped.CompareAndSwap(last, now) {
		return nil
	}
	if x.decoded() {
		x.written()
		defer x.stampedNow()
	}
	return shard.Guard(func() error {
		words := wordsOf(x.head[:namesAt])
		old := stampOf(bytes.Clone(x.head[:namesAt]))
		words[usedAt/8].Store(uint64(now))
		if old.by == mark.by || mark.until.After(old.until) {
			words[untilAt/8].Store(uint64(mark.until.UnixNano()))
			words[byAt/8].Store(mark.by)
		}
		return nil
	})
}
