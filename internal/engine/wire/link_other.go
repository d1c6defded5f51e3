//go:build !linux

package wire

import (
	"net"
	"syscall"
)

type socketLink struct {
	*net.UnixConn
	raw syscall.RawConn
}

// NewLink takes over a connection.
func NewLink(c *net.UnixConn) (Link, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &socketLink{c, raw}, nil
}

func (l *socketLink) send(try func(fd uintptr) bool) error { return l.raw.Write(try) }
