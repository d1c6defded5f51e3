//go:build !linux

package engine

import (
	"net"
	"syscall"
)

type socketLink struct {
	*net.UnixConn
	raw syscall.RawConn
}

// newLink takes over a connection.
func newLink(c *net.UnixConn) (link, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &socketLink{c, raw}, nil
}

func (l *socketLink) send(try func(fd uintptr) bool) error { return l.raw.Write(try) }
