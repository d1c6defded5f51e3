package wire

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// pipe returns a real socket's two ends.
func pipe(t *testing.T) (client, server net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// TestSilence: a server that stops sending is left after the timeout, wherever it stops, and though
// the client clears deadlines.
func TestSilence(t *testing.T) {
	b := block{testData(3000), sumCRC32C, 512, 1024}
	sent, ends := b.stream(0, 3000)
	const timeout = 100 * time.Millisecond
	for _, at := range []int{0, 1, ends[0], ends[0] + 3, ends[1] - 1, ends[1]} {
		client, server := pipe(t)
		c, _ := connect(t, Options{Timeout: timeout}, client, nil)
		_ = c.SetDeadline(time.Time{})
		if _, err := server.Write(sent[:at]); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got, err := ask(t, c, 0, 3000)
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took < timeout {
			t.Errorf("silent after %d bytes: %v after %v", at, err, took)
		}
		delivered(t, got, b.data)
	}
	client, _ := pipe(t)
	c, _ := connect(t, Options{Timeout: timeout}, client, nil)
	if _, err := c.Write([]byte("\xde\xad\xbe\xefhello")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("silent in the handshake: %v", err)
	}
}

// TestSteadyServer: a server that sends a little before each timeout goes on for as long as it
// likes.
func TestSteadyServer(t *testing.T) {
	b := block{testData(3000), sumCRC32C, 512, 512}
	sent, ends := b.stream(0, 3000)
	client, server := pipe(t)
	c, _ := connect(t, Options{Timeout: 200 * time.Millisecond}, client, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		from := 0
		for _, e := range ends {
			time.Sleep(60 * time.Millisecond)
			if _, err := server.Write(sent[from:e]); err != nil {
				t.Error(err)
			}
			from = e
		}
	}()
	got, err := ask(t, c, 0, 3000)
	if want, _ := b.handed(0, 3000); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	<-done
}

func TestCancel(t *testing.T) {
	why := errors.New("stopped by the user")
	for _, dialled := range []bool{true, false} {
		client, _ := pipe(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		d := NewDialer(Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if dialled {
				return client, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		done := d.Use(ctx, nil)
		time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
		c, err := d.DialContext(context.Background(), "tcp", "dn:1")
		if err == nil {
			_, err = ask(t, c, 0, 100)
		}
		if !errors.Is(err, why) {
			t.Errorf("dialled %v: %v", dialled, err)
		}
		if done(); d.options.Counters.Open.Load() != 0 {
			t.Error("left open")
		}
	}
}

func TestUse(t *testing.T) {
	f := &fake{}
	d := NewDialer(Options{Dial: func(context.Context, string, string) (net.Conn, error) { return f, nil }})
	if _, err := d.DialContext(t.Context(), "tcp", "dn:1"); !errors.Is(err, ErrNoReader) {
		t.Errorf("before Use: %v", err)
	}
	done := d.Use(t.Context(), nil)
	c, err := d.DialContext(t.Context(), "tcp", "dn:1")
	if err != nil {
		t.Fatal(err)
	}
	done()
	if _, err := c.Read(make([]byte, 1)); f.closed.Load() != 1 || err == nil {
		t.Errorf("done closed it %d times, a read says %v", f.closed.Load(), err)
	}
	if err := c.Close(); err != nil || f.closed.Load() != 1 {
		t.Errorf("closed again: %v, %d times", err, f.closed.Load())
	}
	if _, err := d.DialContext(t.Context(), "tcp", "dn:1"); !errors.Is(err, ErrNoReader) {
		t.Errorf("after done: %v", err)
	}
	refused := errors.New("connection refused")
	d = NewDialer(Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }})
	defer d.Use(t.Context(), nil)()
	if _, err := d.DialContext(t.Context(), "tcp", "dn:1"); !errors.Is(err, refused) || err.Error() != "datanode dn:1: connection refused" {
		t.Errorf("%v", err)
	}
}

func TestCloseWakesRead(t *testing.T) {
	client, _ := pipe(t)
	c, _ := connect(t, Options{}, client, nil)
	time.AfterFunc(50*time.Millisecond, func() { c.Close() })
	if _, err := ask(t, c, 0, 100); err == nil {
		t.Error("no error")
	}
}
