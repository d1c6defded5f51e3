package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
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

// A write that is stuck ends soon after the interrupt; one that can end does.
func TestInterruptibleStops(t *testing.T) {
	r, pipe := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	begin := time.Now()
	if _, err := (interruptible{ctx, pipe}).Write([]byte("line\n")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 10*grace {
		t.Errorf("took %v", took)
	}
	r.Close() // ends the write that was left behind

	var b bytes.Buffer
	if n, err := (interruptible{ctx, &b}).Write([]byte("line\n")); n != 5 || err != nil {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
}

// No write begins after an interrupt, however fast the other end reads.
func TestInterruptibleIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var got bytes.Buffer
	w := interruptible{ctx, &got}
	if _, err := w.Write([]byte("before\n")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Write([]byte("after\n")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got.String() != "before\n" {
		t.Errorf("wrote %q", got.String())
	}
}
