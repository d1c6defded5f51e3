//go:build linux || darwin

package local

import (
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapRange maps the pages of a range.
//
// A mapping of its own for each view, rather than one of the whole file, gives pages back exactly: a fault brings in neighbours of its
// page, but never past the mapping's end.
func (o *object) mapRange(off, n int64) ([]byte, func(), error) {
	inPage := off % int64(os.Getpagesize())
	size := int(inPage + n)
	if int64(size) != inPage+n {
		return nil, nil, errors.ErrUnsupported // a 32-bit machine
	}
	mapped, err := o.mmap(off-inPage, size)
	if err != nil {
		return nil, nil, err
	}
	var released atomic.Bool
	release := func() {
		if released.CompareAndSwap(false, true) {
			_ = unix.Munmap(mapped) // fails for arguments alone, and these are mmap's
		}
	}
	if err := populate(mapped); err != nil {
		release()
		if changed := o.check(); changed != nil {
			return nil, nil, changed
		}
		return nil, nil, err
	}
	return mapped[inPage:], release, nil
}

// Forget takes the pages that end within used bytes out of the process's resident memory. The bytes before them were
// used before.
func (o *object) Forget(used []byte) {
	if len(used) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	first := unsafe.Pointer(unsafe.SliceData(used))
	before := uintptr(first) % page // a mapping begins where a page does
	if n := (before + uintptr(len(used))) / page * page; n > 0 {
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(first, -int(before))), n), unix.MADV_DONTNEED) // advice: nothing depends on it
	}
}

// mmap maps pages of the file. If the file system or the process cannot have a mapping, the caller reads instead.
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
