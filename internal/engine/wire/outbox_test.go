package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func outboxOf(t *testing.T, c *net.UnixConn) *Outbox {
	t.Helper()
	l, err := NewLink(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return NewOutbox(l)
}

// A trainer that reads nothing delays no one, and gets all in order when it reads.
func TestOutboxKeeps(t *testing.T) {
	here, there := pair(t)
	o := outboxOf(t, here)
	var want []byte
	frame := make([]byte, 1000)
	for i := range 3000 {
		for k := range frame {
			frame[k] = byte(i + k)
		}
		if err := o.Add(frame, nil, false); err != nil {
			t.Fatal(err)
		}
		want = append(want, frame...)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(there, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("error %v", err)
	}
	o.Finish(patience)
	if err := o.Add(frame, nil, false); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// What can be left out is, and whole frames of it; what cannot is bounded.
func TestOutboxIsBounded(t *testing.T) {
	here, there := pair(t)
	o := outboxOf(t, here)
	frame := make([]byte, 10_000)
	for range 1000 {
		if err := o.Add(frame, nil, true); err != nil {
			t.Fatal(err)
		}
	}
	o.mu.Lock()
	kept := o.bytes
	o.mu.Unlock()
	if kept > spareLimit+len(frame) {
		t.Errorf("%d bytes of chatter are kept", kept)
	}
	var err error
	sent := 0
	for ; err == nil && sent < 2*outboxLimit; sent += MaxPayload / 4 {
		err = o.Add(make([]byte, MaxPayload/4), nil, false)
	}
	if !errors.Is(err, errSlow) {
		t.Errorf("%d bytes are kept, error %v", sent, err)
	}
	_ = there.Close()
	o.Finish(patience)
}

// Descriptors arrive with their frame, whether the socket was full or not.
func TestOutboxDescriptors(t *testing.T) {
	here, there := pair(t)
	o := outboxOf(t, here)
	before := descriptors(t)
	for _, data := range [][]byte{{1}, bytes.Repeat([]byte{2}, 1<<20), {3}} {
		if err := o.Add(data, devNull(t), false); err != nil {
			t.Fatal(err)
		}
	}
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(16))
	var came []byte // the last byte that came with each descriptor
	for total := 0; total < 1<<20+2; {
		n, k, _, _, err := there.ReadMsgUnix(buf, oob)
		if err != nil {
			t.Fatal(err)
		}
		total += n
		messages, err := unix.ParseSocketControlMessage(oob[:k])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			fds, err := unix.ParseUnixRights(&m)
			if err != nil || len(fds) != 1 {
				t.Fatalf("descriptors %v, error %v", fds, err)
			}
			_ = unix.Close(fds[0])
			came = append(came, buf[n-1])
		}
	}
	if !bytes.Equal(came, []byte{1, 2, 3}) {
		t.Errorf("descriptors came with %v", came)
	}
	o.Finish(patience)
	if err := o.Add([]byte{4}, devNull(t), false); err == nil {
		t.Error("sent after the end")
	}
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors are open, %d were", n, before)
	}
}

func devNull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What a trainer has not read when its connection fails is dropped, descriptors too, also while the
// socket is waited for.
func TestOutboxFails(t *testing.T) {
	here, there := pair(t)
	before := descriptors(t)
	o := outboxOf(t, here)
	var err error
	for err == nil {
		err = o.Add(make([]byte, MaxPayload/4), devNull(t), false)
	}
	if !errors.Is(err, errSlow) {
		t.Errorf("error %v", err)
	}
	if _, err := io.CopyN(io.Discard, there, 1<<20); err != nil {
		t.Error(err)
	}
	_ = o.link.Close()
	o.Finish(patience)
	_ = there.Close()
	if n := descriptors(t); n > before-2 {
		t.Errorf("%d descriptors are open, %d were, with two sockets", n, before)
	}
}

// The end of the trainer is an error, and the end of the goroutine that waits for it.
func TestOutboxOfTheDead(t *testing.T) {
	here, there := pair(t)
	o := outboxOf(t, here)
	if err := o.Add(make([]byte, 1<<20), nil, false); err != nil {
		t.Fatal(err)
	}
	_ = there.Close()
	eventually(t, "the error is seen", func() bool { return o.Add([]byte{1}, nil, false) != nil })
	if err := o.Add([]byte{1}, nil, false); !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v", err)
	}
	o.Finish(patience)
}

// The last frames have their time, and no more.
func TestOutboxFinishes(t *testing.T) {
	here, _ := pair(t)
	o := outboxOf(t, here)
	if err := o.Add(make([]byte, 1<<20), nil, false); err != nil {
		t.Fatal(err)
	}
	finished := make(chan struct{})
	go func() {
		o.Finish(50 * time.Millisecond)
		close(finished)
	}()
	select {
	case <-finished:
	case <-time.After(patience):
		t.Fatal("finish waits for a trainer that does not read")
	}
	if err := o.Add([]byte{1}, nil, false); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v, want that the time was over", err)
	}
}
