package wire

import (
	"fmt"
	"io/fs"
	"net"
	"os"
)

// A Peer is the user and process at the other end of a socket, as the kernel reports them.
type Peer struct{ uid, PID int }

func CheckPeer(c *net.UnixConn) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var p Peer
	var failed error
	if err := raw.Control(func(fd uintptr) { p, failed = peerOf(int(fd)) }); err != nil {
		return Peer{}, err
	}
	if failed != nil {
		return Peer{}, failed
	}
	if own := os.Geteuid(); p.uid != own {
		return p, fmt.Errorf("%w: process %d belongs to user %d, and this engine serves only user %d", fs.ErrPermission, p.PID, p.uid, own)
	}
	return p, nil
}
