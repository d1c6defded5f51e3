package engine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// shareFile returns a file of n bytes that takes no memory yet.
func shareFile(n int) (*os.File, error) {
	fd, err := unix.MemfdCreate("shardfeed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "shardfeed ring")
	if err := f.Truncate(int64(n)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sealFile makes the size of the file final, so that neither side can make the other's mapping
// fault. Writing is not sealed: some devices refuse to pin memory that is mapped for reading only.
func sealFile(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return os.NewSyscallError("seal", err)
}

// bringIn allocates and maps n bytes of the file from at on in one call. Page faults cost several
// times as much, and without memory they end in a signal instead of an error. Kernels before 5.14
// only allocate.
func bringIn(f *os.File, mapped []byte, at, n int) error {
	for {
		err := unix.Madvise(mapped[at:at+n], unix.MADV_POPULATE_WRITE)
		if errors.Is(err, unix.EINVAL) {
			err = unix.Fallocate(int(f.Fd()), 0, int64(at), int64(n))
		}
		if err != unix.EINTR && err != unix.EAGAIN {
			return os.NewSyscallError("populate", err)
		}
	}
}

// adviseHuge asks for huge pages. Most kernels have no huge pages for shared memory, which only
// costs speed.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
