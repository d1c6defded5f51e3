package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errBusy reports a lock that another process holds.
var errBusy = errors.New("locked by another")

// allocate allocates the first n bytes of a file on the disk, so that writes to a mapping of them
// cannot run out of space.
func allocate(f *os.File, n int64) error {
	return ignoringInterrupts(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, n) })
}

// punchHole frees whole pages of a file, which then read as zeros. Its length stays.
func punchHole(f *os.File, off, n int64) error {
	return ignoringInterrupts(func() error {
		return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
}

// createUnnamed makes a file in a directory that has no name yet and is gone if it never gets one.
// On file systems without such files its error is errors.ErrUnsupported.
func createUnnamed(dir *os.File) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), dir.Name()), nil
}

// nameIt links an unnamed file into a directory, unless the name is taken.
func nameIt(f, dir *os.File, name string) error {
	err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	if errors.Is(err, unix.ENOENT) { // without /proc
		return errors.ErrUnsupported
	}
	if err != nil {
		return &fs.PathError{Op: "link", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return nil
}

// share takes the shared lock of a whole file until it is closed, which keeps other processes from
// removing it.
func share(f *os.File) error { return flock(f, unix.LOCK_SH) }

// own locks a whole file exclusively for this open file.
func own(f *os.File) error { return flock(f, unix.LOCK_EX) }

// disown ends share and own.
func disown(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	err := ignoringInterrupts(func() error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errBusy
	}
	return err
}

// lockRange locks bytes of a file for this open file description, or returns errBusy. It does not
// exclude goroutines that share the description, and the kernel frees it when the description
// closes, however the process ends.
func lockRange(f *os.File, off, n int64) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: off, Len: n}
	err := ignoringInterrupts(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock) })
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errBusy
	}
	return err
}

func unlockRange(f *os.File, off, n int64) error {
	lock := unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart, Start: off, Len: n}
	return ignoringInterrupts(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock) })
}

// lockedElsewhere reports whether another open file description has locked bytes of a file.
func lockedElsewhere(f *os.File, off, n int64) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: off, Len: n}
	err := ignoringInterrupts(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock) })
	return lock.Type != unix.F_UNLCK, err
}

// mapHead maps the first n bytes of a file for reading and writing; if the file is open read-only,
// writes stay in this process. Touching the bytes can fault; see shard.Guard.
func mapHead(f *os.File, n int64, readOnly bool) ([]byte, error) {
	flags := unix.MAP_SHARED
	if readOnly {
		flags = unix.MAP_PRIVATE
	}
	return unix.Mmap(int(f.Fd()), 0, int(n), unix.PROT_READ|unix.PROT_WRITE, flags)
}

// mapData maps bytes of a file for reading; off must be at a page.
func mapData(f *os.File, off, n int64) ([]byte, error) {
	if int64(int(n)) != n {
		return nil, errors.ErrUnsupported
	}
	return unix.Mmap(int(f.Fd()), off, int(n), unix.PROT_READ, unix.MAP_SHARED)
}

// readAhead starts to read the absent pages of a mapping, and reports whether there are any.
func readAhead(b []byte, start, end int64) (absent bool) {
	b = pagesOf(b, start, end)
	if resident(b) {
		return false
	}
	for ahead := b; len(ahead) > 0; ahead = ahead[min(len(ahead), adviceBytes):] {
		_ = unix.Madvise(ahead[:min(len(ahead), adviceBytes)], unix.MADV_WILLNEED)
	}
	return true
}

// bringIn waits for pages of a mapping that are not in memory: a wait for the disk in a system call
// leaves the processor to other goroutines, in a page fault it does not. Pages in memory are better
// left to fault, which maps many at a time.
func bringIn(b []byte, start, end int64) {
	_ = unix.Madvise(pagesOf(b, start, end), unix.MADV_POPULATE_READ) // a failure here faults later, inside shard.Guard
}

// letGo removes pages of a mapping from the process's resident memory, with their neighbours, which
// a fault brings in too. Other users fault them in again.
func letGo(b []byte, start, end int64) {
	_ = unix.Madvise(pagesOf(b, max(0, start-blockSize), min(int64(len(b)), end+blockSize)), unix.MADV_DONTNEED)
}

// letGoUsed is letGo for bytes that were used in order: it drops the pages that end within them.
func letGoUsed(used []byte) {
	if len(used) == 0 {
		return
	}
	first := unsafe.Pointer(unsafe.SliceData(used))
	before := uintptr(first) % uintptr(os.Getpagesize())
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(first, -int(before))), before+uintptr(len(used))), unix.MADV_DONTNEED)
}

// pagesOf returns b[start:end], extended to the start of its first page.
func pagesOf(b []byte, start, end int64) []byte { return b[start-start%int64(os.Getpagesize()) : end] }

// adviceBytes is the most that the kernel reads for one advice; it cuts longer ones silently.
const adviceBytes = 512 << 10

// resident reports whether some pages of a mapping are in memory; only speed depends on it.
func resident(b []byte) bool {
	page := os.Getpagesize()
	last := (len(b) - 1) / page
	probes := 1 + min(last/32, 4)
	for i := range probes + 1 {
		var in byte
		at := &b[last*i/probes*page]
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(at)), 1, uintptr(unsafe.Pointer(&in)))
		if errno != 0 || in&1 == 0 {
			return false
		}
	}
	return true
}

func unmap(b []byte) { _ = unix.Munmap(b) } // fails only for bad arguments, and these are mmap's

// allocated returns the disk space of a file in bytes.
func allocated(info fs.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }

// changedAt returns the time of the last change of a file, which no program can set.
func changedAt(info fs.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Ctim.Nano() }

// isLinked reports whether an open file still has a name.
func isLinked(info fs.FileInfo) bool { return info.Sys().(*syscall.Stat_t).Nlink > 0 }

type diskState struct {
	kind        uint32 // magic number
	unit        int64  // bytes of a block
	total, free int64  // bytes; free is available to the user
}

func diskOf(dir string) (diskState, error) {
	var s unix.Statfs_t
	err := ignoringInterrupts(func() error { return unix.Statfs(dir, &s) })
	if err != nil {
		return diskState{}, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	unit := int64(s.Bsize)
	return diskState{kind: uint32(s.Type), unit: unit, total: int64(s.Blocks) * unit, free: int64(s.Bavail) * unit}, nil
}

func ignoringInterrupts(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// openLimit returns the number of files that the process may have open.
func openLimit() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(l.Cur)
}

// Kinds of errors of the disk.
func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EROFS)
}

func tooManyFiles(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

func notAllowed(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }
