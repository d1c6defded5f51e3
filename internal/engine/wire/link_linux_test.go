package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func linkOf(t *testing.T, c *net.UnixConn) *quietLink {
	t.Helper()
	l, err := NewLink(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.(*quietLink)
}

// What the trainer reads does not wake the engine; what it sends does.
func TestLinkIsQuiet(t *testing.T) {
	here, there := pair(t)
	l := linkOf(t, here)
	outer, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(outer) }()
	all := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff} // as Go's poller
	if err := unix.EpollCtl(outer, unix.EPOLL_CTL_ADD, int(l.readable.Fd()), &all); err != nil {
		t.Fatal(err)
	}
	woken := func() int {
		n, err := unix.EpollWait(outer, make([]unix.EpollEvent, 4), 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	woken()
	if err := l.send(func(fd uintptr) bool { _, err := unix.Write(int(fd), []byte("batch")); return err == nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(there, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if n := woken(); n != 0 {
		t.Errorf("reading wakes the engine")
	}
	if _, err := there.Write([]byte("frame")); err != nil {
		t.Fatal(err)
	}
	if n := woken(); n != 1 {
		t.Errorf("a frame does not wake the engine")
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(l, got); err != nil || string(got) != "frame" {
		t.Errorf("%q, error %v", got, err)
	}
}

// A read ends with the trainer, with the reading side, at its deadline, and when the link closes.
func TestLinkReadEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(l *quietLink, there *net.UnixConn) error
		want error
	}{
		{"the trainer ends", func(_ *quietLink, there *net.UnixConn) error { return there.Close() }, io.EOF},
		{"the reading side ends", func(l *quietLink, _ *net.UnixConn) error { return l.CloseRead() }, io.EOF},
		{"a deadline", func(l *quietLink, _ *net.UnixConn) error { return l.SetReadDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		{"the link closes", func(l *quietLink, _ *net.UnixConn) error { return l.Close() }, net.ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			here, there := pair(t)
			l := linkOf(t, here)
			ended := make(chan error, 1)
			go func() {
				_, err := l.Read(make([]byte, 10))
				ended <- err
			}()
			if err := c.end(l, there); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A send that waits for the trainer ends at its deadline, and when the link closes.
func TestLinkSendEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(l *quietLink) error
		want error
	}{
		{"a deadline", func(l *quietLink) error { return l.SetWriteDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		{"the link closes", func(l *quietLink) error { return l.Close() }, net.ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			here, _ := pair(t)
			l := linkOf(t, here)
			ended := make(chan error, 1)
			go func() { ended <- l.send(func(uintptr) bool { return false }) }()
			if err := c.end(l); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}
