//go:build unix

package footer

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file for reading. Touching it can fault; see shard.Guard.
func mapFile(f *os.File) (b []byte, unmap func(), err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, func() {}, err
	}
	b, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return b, func() { _ = unix.Munmap(b) }, nil
}
