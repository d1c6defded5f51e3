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

	"github.com/shardfeed/shardfeed/loader"
)

// A quiet handler has iterations of one empty batch.
type quiet struct{}

func (quiet) join(j Join, c consumer) error {
	if j.Iteration == "" {
		return valueError("no iteration")
	}
	memory, err := c.ring(ringNeed{slots: 2, bytes: 4096})
	if err != nil {
		return err
	}
	c.joined(Joined{})
	m, err := memory.Begin(context.Background(), 0)
	if err == nil {
		_ = c.(*sender).announce(m.(*slot), &loader.Batch{Rows: 1, Valid: 1})
		m.Free()
	}
	c.end(End{Batches: 1})
	return nil
}

func (quiet) leave(c consumer)                      { c.end(End{Left: true}) }
func (quiet) setEpoch(e SetEpoch) (Session, error)  { return Session{NextEpoch: e.Epoch}, nil }
func (quiet) ask(Ask) (Session, error)              { return Session{}, nil }
func (quiet) choose(Select) (Selected, error)       { return Selected{}, nil }
func (quiet) openMap(Map, consumer) (Mapped, error) { return Mapped{}, nil }
func (quiet) take([]byte) error                     { return nil }
func (quiet) close()                                {}

// Whatever a trainer sends, in whatever order, the engine answers with frames of its own, at most
// one ERROR that ends the connection, and nothing after it.
func FuzzConnection(f *testing.F) {
	message := func(kind frameKind, v any) []byte {
		b, err := appendMessage(nil, kind, v)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	hello, open := message(kindHello, Hello{Version: Version, PID: 1}), message(kindOpen, opening)
	join := message(kindJoin, Join{Iteration: "a"})
	released := appendFrame(nil, kindRelease, 0)
	f.Add(slices.Concat(hello, open))
	f.Add(slices.Concat(hello, open, join, released, join, message(kindLeave, struct{}{})))
	f.Add(slices.Concat(hello, open, message(kindAsk, Ask{Stats: true}), message(kindEpoch, SetEpoch{Epoch: 4}), message(kindSelect, Select{})))
	f.Add(slices.Concat(hello, open, released, released))
	f.Add(slices.Concat(hello, open, message(kindMap, Map{}), appendFrame(nil, kindTake, 8), make([]byte, 8)))
	meet := Meet{Name: "a", Values: map[string]string{"key": "value"}, Waits: true}
	f.Add(slices.Concat(hello, message(kindMeet, meet), open, message(kindMeet, meet), message(kindMeet, Meet{Name: "b"})))
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
	f.Fuzz(func(t *testing.T, wire []byte) {
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
			newConnection(side, Welcome{}, testLimits(), newMeetings(), func(context.Context, Hello, Open, func(Progress)) (handler, Opened, error) {
				return quiet{}, Opened{}, nil
			}).serve(t.Context())
		}()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = c.conn.Write(wire) // the engine may have had enough before all is sent
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
		if last || kind < kindWelcome || kind > kindMet {
			t.Fatalf("%v, after the last: %t", kind, last)
		}
		var failure Failure
		if kind == kindError {
			if err := json.Unmarshal(payload, &failure); err != nil {
				t.Fatal(err)
			}
			last = failure.Kind == KindProtocol
		}
	}
}
