//go:build linux || darwin

package local

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/shard"
)

// mapRange maps the pages of n bytes.
//
// A mapping of its own for each lease, rather than one of the whole file, gives pages back exactly:
// a fault brings in neighbours of its page, but never past the mapping's end.
func (l *lease) mapRange(n int64) (err error) {
	inPage := l.off % int64(os.Getpagesize())
	size := int(inPage + n)
	if int64(size) != inPage+n {
		return errors.ErrUnsupported // a 32-bit machine
	}
	if l.mapped, err = l.object.mmap(l.off-inPage, size); err != nil {
		return err
	}
	l.bytes = l.mapped[inPage:]
	if err := populate(l.mapped); err != nil {
		l.Release()
		if changed := l.object.check(); changed != nil {
			return changed
		}
		return err
	}
	return nil
}

func (l *lease) Release() {
	if l.mapped != nil && l.released.CompareAndSwap(false, true) {
		_ = unix.Munmap(l.mapped) // only wrong arguments fail, and these are mmap's
	}
}

// Forget takes the pages of bytes that were used out of the process's resident memory: the pages
// that end within them, since the bytes before were used before.
func (l *lease) Forget(span shard.Span) {
	if span.N == 0 {
		return
	}
	used := l.bytes[span.Off-l.off:][:span.N]
	page := uintptr(os.Getpagesize())
	first := unsafe.Pointer(unsafe.SliceData(used))
	before := uintptr(first) % page // a mapping starts at a page
	if n := (before + uintptr(len(used))) / page * page; n > 0 {
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(first, -int(before))), n), unix.MADV_DONTNEED) // advice: nothing depends on it
	}
}

// mmap maps pages of the file. Where a file system or a process cannot have a mapping, the caller
// reads instead.
func (o *object) mmap(off int64, size int) (mapped []byte, err error) {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var mapErr error
	err = conn.Control(func(fd uintptr) {
		mapped, mapErr = unix.Mmap(int(fd), off, size, unix.PROT_READ, unix.MAP_SHARED)
	})
	switch {
	case err != nil:
		return nil, err
	case errors.Is(mapErr, unix.ENODEV), errors.Is(mapErr, unix.ENOMEM), errors.Is(mapErr, unix.EAGAIN):
		return nil, errors.ErrUnsupported
	case mapErr != nil:
		return nil, mapErr
	}
	return mapped, nil
}
