package engine

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

func TestCheck(t *testing.T) {
	path := serveWares(t, nil, nil)
	first, _ := Check(t.Context(), path)
	for range 3 {
		w, err := Check(t.Context(), path)
		if want := (wire.Welcome{Version: wire.Version, Build: "engine build", PID: os.Getpid(), ID: first.ID, Log: "/log"}); err != nil || w != want {
			t.Errorf("got %+v, error %v", w, err)
		}
	}
}

// answering listens at a socket and answers each connection with these bytes, after it read a
// HELLO.
func answering(t *testing.T, bytes []byte) string {
	t.Helper()
	path := filepath.Join(runtimeDir(t), "a.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			frames := wire.NewReader(c)
			if kind, _, err := frames.Next(); kind != wire.FrameHello {
				t.Errorf("%v, error %v", kind, err)
			}
			_, _ = c.Write(bytes)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return path
}

func frameOf(t *testing.T, kind wire.FrameKind, v any) []byte {
	t.Helper()
	frame, err := wire.AppendMessage(nil, kind, v)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestCheckFails(t *testing.T) {
	dir := runtimeDir(t)
	write(t, dir, map[string]string{"file": "rows"})
	dead := filepath.Join(dir, "dead.sock")
	deadSocket(t, dead)
	for _, c := range []struct{ name, path, says string }{
		{"absent", filepath.Join(dir, "none", "a.sock"), "no engine listens there: there is no such file"},
		{"file", filepath.Join(dir, "file"), "it is not a socket but a file"},
		{"directory", dir, "it is not a socket but a directory"},
		{"dead", dead, "no engine listens there: connection refused, its engine has ended"},
		{"long", dir + strings.Repeat("/x", 100), "longer than the 103 bytes"},
		{"closes", answering(t, nil), "the connection was closed without an answer"},
		{"text", answering(t, []byte("HTTP/1.1 400 Bad Request\r\n")), "what answers there is not an engine: not the protocol"},
		{"cut", answering(t, frameOf(t, wire.FrameWelcome, wire.Welcome{})[:20]), "not the protocol: the connection ends within WELCOME"},
		{"wrong frame", answering(t, frameOf(t, wire.FrameEnd, wire.End{})), "not the protocol: END where WELCOME has to be"},
		{"no JSON", answering(t, append(wire.AppendFrame(nil, wire.FrameWelcome, 2), "[]"...)), "not the protocol: WELCOME: not a JSON object"},
		{"other version", answering(t, frameOf(t, wire.FrameWelcome, wire.Welcome{Version: 7})), "the engine speaks version 7 of the protocol, this program 1"},
		{"refuses", answering(t, frameOf(t, wire.FrameError, wire.Failure{Kind: wire.KindAccess, Text: "serves user 0 alone"})), "the engine refuses: serves user 0 alone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Check(t.Context(), c.path); err == nil || !strings.HasPrefix(err.Error(), c.path+": ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// An engine that does not answer, because it is stopped or swaps, does not hold a probe.
func TestCheckWaitsNotForEver(t *testing.T) {
	path := filepath.Join(runtimeDir(t), "a.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := Check(ctx, path); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	if testing.Short() {
		t.Skip("waits 5 s")
	}
	began := time.Now()
	_, err = Check(t.Context(), path)
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "no answer within 5s") || took > 2*checkTimeout {
		t.Errorf("after %v: %v", took, err)
	}
}

// Checks do not keep an engine that no trainer uses.
func TestCheckIsNoClient(t *testing.T) {
	path := filepath.Join(runtimeDir(t), "a.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	const grace = 500 * time.Millisecond
	s, served := New(Options{Grace: grace}), make(chan error, 1)
	began := time.Now()
	go func() { served <- s.Serve(t.Context(), l) }()
	for deadline := began.Add(20 * grace); ; {
		select {
		case err := <-served:
			if took := time.Since(began); err != nil || took < grace {
				t.Errorf("ended after %v, error %v", took, err)
			}
			return
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("checks keep the engine")
		}
		if _, err := Check(t.Context(), path); err != nil && time.Since(began) < grace {
			t.Error(err)
		}
		time.Sleep(grace / 10)
	}
}

// A silent connection does not count as a client either, but the engine waits for its end.
func TestServeWaitsForSilentConnections(t *testing.T) {
	path := filepath.Join(runtimeDir(t), "a.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s, served := New(Options{Grace: 10 * time.Millisecond}), make(chan error, 1)
	c := dial(t, path)
	go func() { served <- s.Serve(t.Context(), l) }()
	if err := c.send(wire.FrameHello, wire.Hello{Version: wire.Version}); err != nil {
		t.Fatal(err)
	}
	if kind, _, err := c.next(); kind != wire.FrameWelcome {
		t.Fatalf("%v, error %v", kind, err)
	}
	time.Sleep(50 * time.Millisecond)
	select {
	case err := <-served:
		t.Fatalf("ended beside a connection: %v", err)
	default:
	}
	c.close()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the engine does not end after its last connection")
	}
}
