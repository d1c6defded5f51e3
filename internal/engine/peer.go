package engine

import (
	"fmt"
	"io/fs"
	"net"
	"os"
)

// A peer is the user and process at the other end of a socket, as the kernel reports them.
type peer struct{ uid, pid int }

func checkPeer(c *net.UnixConn) (peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var p peer
	var failed error
	if err := raw.Control(func(fd uintptr) { p, failed = peerOf(int(fd)) }); err != nil {
		return peer{}, err
	}
	if failed != nil {
		return peer{}, failed
	}
	if own := os.Geteuid(); p.uid != own {
		return p, fmt.Errorf("%w: process %d belongs to user %d, and this engine serves user %d alone", fs.ErrPermission, p.pid, p.uid, own)
	}
	return p, nil
}
