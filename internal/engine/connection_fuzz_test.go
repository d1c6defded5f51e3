package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
)

// A quiet handler has iterations of one empty batch.
type quiet struct{}

func (quiet) join(j wire.Join, c consumer) error {
	if j.Iteration == "" {
		return wire.ValueError("no iteration")
	}
	memory, err := c.ring(ringNeed{slots: 2, bytes: 4096})
	if err != nil {
		return err
	}
	c.joined(wire.Joined{})
	m, err := memory.Begin(context.Background(), 0)
	if err == nil {
		_ = c.(*sender).announce(m.(*slot), &loader.Batch{Rows: 1, Valid: 1})
		m.Free()
	}
	c.end(wire.End{Batches: 1})
	return nil
}

func (quiet) leave(c consumer) { c.end(wire.End{Left: true}) }
func (quiet) setEpoch(e wire.SetEpoch) (wire.Session, error) {
	return wire.Session{NextEpoch: e.Epoch}, nil
}
func (quiet) ask(wire.Ask) (wire.Session, error)              { return wire.Session{}, nil }
func (quiet) choose(wire.Select) (wire.Selected, error)       { return wire.Selected{}, nil }
func (quiet) openMap(wire.Map, consumer) (wire.Mapped, error) { return wire.Mapped{}, nil }
func (quiet) take([]byte) error                               { return nil }
func (quiet) close()                                          {}
func (quiet) waited(wire.Waited)                              {}
func (quiet) divide(wire.Share)                               {}

// Whatever a trainer sends, in whatever order, the engine answers with frames of its own, at most
// one ERROR that ends the connection, and nothing after it.
func FuzzConnection(f *testing.F) {
	message := func(kind wire.FrameKind, v any) []byte {
		b, err := wire.AppendMessage(nil, kind, v)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	hello, open := message(wire.FrameHello, wire.Hello{Version: wire.Version, PID: 1}), message(wire.FrameOpen, opening)
	join := message(wire.FrameJoin, wire.Join{Iteration: "a"})
	released := wire.AppendFrame(nil, wire.FrameRelease, 0)
	f.Add(slices.Concat(hello, open))
	f.Add(slices.Concat(hello, open, join, released, join, message(wire.FrameLeave, struct{}{})))
	f.Add(slices.Concat(hello, open, message(wire.FrameAsk, wire.Ask{Stats: true}), message(wire.FrameEpoch, wire.SetEpoch{Epoch: 4}), message(wire.FrameSelect, wire.Select{})))
	f.Add(slices.Concat(hello, open, released, released))
	f.Add(slices.Concat(hello, open, message(wire.FrameMap, wire.Map{}), wire.AppendFrame(nil, wire.FrameTake, 8), make([]byte, 8)))
	meet := wire.Meet{Name: "a", Values: map[string]string{"key": "value"}, Waits: true}
	f.Add(slices.Concat(hello, message(wire.FrameMeet, meet), open, message(wire.FrameMeet, meet), message(wire.FrameMeet, wire.Meet{Name: "b"})))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	f.Fuzz(func(t *testing.T, frames []byte) {
		c := dial(t, l.Addr().String())
		conn, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		side, err := newSender(conn, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			newConnection(side, wire.Welcome{}, testLimits(), newMeetings(), deskFunc(func(context.Context, wire.Hello, wire.Open, func(wire.Progress)) (handler, wire.Opened, error) {
				return quiet{}, wire.Opened{}, nil
			})).serve(t.Context())
		}()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = c.conn.Write(frames) // the engine may have had enough before all is sent
			_ = c.conn.CloseWrite()
		}()
		checkAnswers(t, c)
		<-sent
		<-served
	})
}

func checkAnswers(t *testing.T, c *testClient) {
	t.Helper()
	for last := false; ; {
		kind, payload, err := c.next()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() || !errors.Is(err, io.EOF) && c.in.Len() > 0 {
				t.Fatalf("the end is %v", err)
			}
			return
		}
		if last || kind < wire.FrameWelcome || kind > wire.FrameMet {
			t.Fatalf("%v, after the last: %t", kind, last)
		}
		var failure wire.Failure
		if kind == wire.FrameError {
			if err := json.Unmarshal(payload, &failure); err != nil {
				t.Fatal(err)
			}
			last = failure.Kind == wire.KindProtocol
		}
	}
}
