package wire

import (
	"os"

	"golang.org/x/sys/unix"
)

func peerOf(fd int) (Peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, os.NewSyscallError("getsockopt", err)
	}
	return Peer{uid: int(c.Uid), PID: int(c.Pid)}, nil
}
