package wire

import (
	"os"

	"golang.org/x/sys/unix"
)

const solLocal = 0 // SOL_LOCAL

func peerOf(fd int) (Peer, error) {
	c, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, os.NewSyscallError("getsockopt", err)
	}
	p := Peer{uid: int(c.Uid)}
	if p.PID, err = unix.GetsockoptInt(fd, solLocal, unix.LOCAL_PEERPID); err != nil {
		return Peer{}, os.NewSyscallError("getsockopt", err)
	}
	return p, nil
}
