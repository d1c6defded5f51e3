package engine

import (
	"os"

	"golang.org/x/sys/unix"
)

const solLocal = 0 // SOL_LOCAL

func peerOf(fd int) (peer, error) {
	c, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, os.NewSyscallError("getsockopt", err)
	}
	p := peer{uid: int(c.Uid)}
	if p.pid, err = unix.GetsockoptInt(fd, solLocal, unix.LOCAL_PEERPID); err != nil {
		return peer{}, os.NewSyscallError("getsockopt", err)
	}
	return p, nil
}
