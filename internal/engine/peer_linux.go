package engine

import (
	"os"

	"golang.org/x/sys/unix"
)

func peerOf(fd int) (peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, os.NewSyscallError("getsockopt", err)
	}
	return peer{uid: int(c.Uid), pid: int(c.Pid)}, nil
}
