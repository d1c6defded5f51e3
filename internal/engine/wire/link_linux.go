package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A quietLink is woken by the trainer's frames and its end, and by nothing else. Go's poller would
// also be woken each time that the trainer reads a batch, since the socket takes more then: once
// for each replica and batch, at the cost of a thread that wakes for nothing.
type quietLink struct {
	sock     *os.File // blocking, so that it is not in Go's poller
	fd       syscall.RawConn
	readable *os.File // an epoll descriptor for the socket's reading side; it is in Go's poller
	waiting  syscall.RawConn
	deadline atomic.Int64 // of sends, Unix time in ns, or 0
}

const sendLook = 100 // ms between two looks at the deadline of a send that waits

// NewLink takes over a connection.
func NewLink(c *net.UnixConn) (Link, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, failed := -1, error(nil)
	if err := raw.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("dup", failed)
	}
	l := &quietLink{}
	if l.readable, err = pollReading(fd); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	_ = c.Close()
	_ = unix.SetNonblock(fd, false) // of the connection too, so it is closed before
	l.sock = os.NewFile(uintptr(fd), "trainer")
	l.fd, err = l.sock.SyscallConn()
	if err == nil {
		l.waiting, err = l.readable.SyscallConn()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// pollReading returns an epoll descriptor that is ready when the socket can be read or has ended.
func pollReading(fd int) (*os.File, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP})
	if err == nil {
		err = unix.SetNonblock(ep, true)
	}
	if err != nil {
		_ = unix.Close(ep)
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	f := os.NewFile(uintptr(ep), "trainer's frames")
	if err := f.SetReadDeadline(time.Time{}); err != nil { // it is not in Go's poller
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (l *quietLink) Read(p []byte) (n int, err error) {
	failed := l.waiting.Read(func(uintptr) bool {
		n, err = l.receive(p)
		return err != unix.EAGAIN
	})
	if failed != nil {
		return 0, closed(failed)
	}
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// receive reads what is there. Without anything its error is EAGAIN.
func (l *quietLink) receive(p []byte) (n int, err error) {
	failed := l.fd.Control(func(fd uintptr) {
		for {
			if n, _, err = unix.Recvfrom(int(fd), p, unix.MSG_DONTWAIT); err != unix.EINTR {
				return
			}
		}
	})
	if err != nil {
		n = 0
		if err != unix.EAGAIN {
			err = os.NewSyscallError("recv", err)
		}
	}
	if failed != nil {
		return 0, closed(failed)
	}
	return n, err
}

func (l *quietLink) send(try func(fd uintptr) bool) error {
	for {
		done := false
		if err := l.fd.Control(func(fd uintptr) { done = try(fd) }); err != nil {
			return closed(err)
		}
		if done {
			return nil
		}
		if err := l.waitForSpace(); err != nil {
			return err
		}
	}
}

// waitForSpace waits until the socket takes something. It keeps a thread, for a trainer that leaves
// more unread than the socket holds.
func (l *quietLink) waitForSpace() error {
	for {
		if d := l.deadline.Load(); d != 0 && time.Now().UnixNano() >= d {
			return os.ErrDeadlineExceeded
		}
		n := 0
		err := l.fd.Control(func(fd uintptr) {
			n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, sendLook)
		})
		if err != nil {
			return closed(err)
		}
		if n > 0 {
			return nil
		}
	}
}

func (l *quietLink) SetReadDeadline(t time.Time) error { return closed(l.readable.SetReadDeadline(t)) }

func (l *quietLink) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		l.deadline.Store(0)
	} else {
		l.deadline.Store(t.UnixNano())
	}
	return nil
}

func (l *quietLink) CloseRead() error {
	var err error
	failed := l.fd.Control(func(fd uintptr) { err = os.NewSyscallError("shutdown", unix.Shutdown(int(fd), unix.SHUT_RD)) })
	return errors.Join(closed(failed), err)
}

func (l *quietLink) Close() error { return errors.Join(l.readable.Close(), l.sock.Close()) }

// closed is net.ErrClosed for the error of a descriptor that was closed, for which os has no name.
func closed(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed
}
