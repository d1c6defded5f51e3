package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestInterruptibleWrites(t *testing.T) {
	var b bytes.Buffer
	w := interruptible{context.Background(), &b}
	if n, err := w.Write([]byte("line\n")); n != 5 || err != nil || b.String() != "line\n" {
		t.Errorf("wrote %d bytes, %v, %q", n, err, b.String())
	}
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer pipe.Close()
	if _, err := (interruptible{context.Background(), pipe}).Write([]byte("line\n")); err == nil {
		t.Error("no error from a pipe that nobody reads")
	}
}

// A write that is stuck ends a grace period after the interrupt; none begins after it.
func TestInterruptibleStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe := io.Pipe()
		defer r.Close() // ends the write that was left behind
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Minute, cancel)
		if _, err := (interruptible{ctx, pipe}).Write([]byte("line\n")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != time.Minute+grace {
			t.Errorf("took %v", took)
		}
		var b bytes.Buffer
		if n, err := (interruptible{ctx, &b}).Write([]byte("line\n")); n != 0 || !errors.Is(err, context.Canceled) || b.Len() > 0 {
			t.Errorf("wrote %d bytes after the interrupt, %v", n, err)
		}
	})
}

// A write that has begun before the interrupt may end.
func TestInterruptibleEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		slow := &slowWriter{begun: cancel}
		if n, err := (interruptible{ctx, slow}).Write([]byte("line\n")); n != 5 || err != nil {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
	})
}

// slowWriter tells that a write has begun and takes a while over it.
type slowWriter struct{ begun func() }

func (s *slowWriter) Write(p []byte) (int, error) {
	s.begun()
	time.Sleep(grace / 2)
	return len(p), nil
}
