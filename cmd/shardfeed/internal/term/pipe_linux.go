package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeCapacity is how many bytes a pipe holds; 0: the file is not a pipe.
func pipeCapacity(f *os.File) int64 {
	n, err := unix.FcntlInt(f.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return 0
	}
	return int64(n)
}

const pollMillis = 100 // between two looks at the context

// waitWritable waits a while until a pipe takes a chunk, or has no reader, which the write says.
// False: not yet.
func waitWritable(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, pollMillis)
	return n > 0 || err != nil && err != unix.EINTR
}

// unread is how many bytes a pipe holds.
func unread(f *os.File) int64 {
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return int64(n)
}
