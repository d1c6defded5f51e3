package wire

import (
	"io"
	"time"
)

// A Link is the engine's end of a trainer's connection.
type Link interface {
	io.Reader
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	CloseRead() error
	Close() error

	// send calls try with the descriptor. While that reports false, it waits until the socket takes
	// something and calls it again.
	send(try func(fd uintptr) bool) error
}
