package engine

import (
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// limitedReader reads frames of an end of a pipe, within limits.
func limitedReader(t *testing.T, capacity int64) (*wire.Reader, net.Conn) {
	here, there := net.Pipe()
	r := wire.NewReader(here)
	r.Limits = &wire.Limits{
		Timeout: time.Minute, Deadline: here.SetReadDeadline, Capacity: semaphore.NewWeighted(capacity), Ctx: t.Context(),
	}
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return &r, there
}

// A frame that has begun has to come whole; between two frames a trainer may be silent for ever.
func TestFrameTime(t *testing.T) {
	whole := append(wire.AppendFrame(nil, wire.FrameAsk, 2), "{}"...)
	large := append(wire.AppendFrame(nil, wire.FrameAsk, wire.MaxPayload), make([]byte, 1<<20)...)
	for _, c := range []struct {
		name, says string
		sent       []byte
	}{
		{"a byte of the header", "a frame began", whole[:1]},
		{"the header", "ASK began", whole[:8]},
		{"half of a small payload", "ASK began", whole[:9]},
		{"a part of a large payload", "ASK began", large},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, peer := limitedReader(t, maxUnfinished)
				go func() {
					time.Sleep(time.Hour)
					_, _ = peer.Write(whole)
					time.Sleep(time.Hour)
					_, _ = peer.Write(c.sent)
				}()
				if _, _, err := r.Next(); err != nil {
					t.Fatalf("after an hour of silence: %v", err)
				}
				before := time.Now()
				_, _, err := r.Next()
				if !errors.Is(err, wire.ErrProtocol) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v", err)
				}
				if took := time.Since(before); took != time.Hour+time.Minute {
					t.Errorf("after %v", took)
				}
				r.Handled()
				if !r.Limits.Capacity.TryAcquire(maxUnfinished) {
					t.Error("capacity is still held")
				}
			})
		})
	}
}

// Large payloads wait for each other, and not without end.
func TestFrameCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size := 3 * wire.KeptPayload
		frame := append(wire.AppendFrame(nil, wire.FrameAsk, size), make([]byte, size)...)
		r, peer := limitedReader(t, int64(size))
		go func() {
			for range 2 {
				_, _ = peer.Write(frame)
			}
		}()
		if !r.Limits.Capacity.TryAcquire(1) {
			t.Fatal("no capacity")
		}
		time.AfterFunc(time.Second, func() { r.Limits.Capacity.Release(1) })
		if _, payload, err := r.Next(); err != nil || len(payload) != size {
			t.Fatalf("%d bytes, error %v", len(payload), err)
		}
		r.Handled()
		if !r.Limits.Capacity.TryAcquire(1) {
			t.Fatal("no capacity")
		}
		if _, _, err := r.Next(); wire.KindOf(err) != wire.KindTimeout || !strings.Contains(err.Error(), "too many large requests") {
			t.Errorf("error %v", err)
		}
	})
}

// A frame that does not come whole ends its connection, and no other.
func TestServeHalfFrames(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), func(o *Options, _ *Data) { o.FrameTimeout = 20 * time.Millisecond })
	idle, half := dial(t, path), dial(t, path)
	for _, c := range []*testClient{idle, half} {
		if _, err := c.open(opening); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := half.conn.Write(append(wire.AppendFrame(nil, wire.FrameJoin, wire.MaxPayload), make([]byte, 100<<10)...)); err != nil {
		t.Fatal(err)
	}
	var failure *wire.Failure
	if err := half.ask(wire.FrameJoined, &wire.Joined{}); !errors.As(err, &failure) || failure.Kind != wire.KindProtocol {
		t.Errorf("error %v", err)
	}
	if _, _, err := half.next(); !isGone(err) {
		t.Errorf("the end is %v", err)
	}
	if _, err := idle.join(wire.Join{Iteration: "a"}); err != nil {
		t.Errorf("the other: %v", err)
	}
}

// An engine refuses connections beyond its limit with an error that says so, and takes others when
// some have gone.
func TestServeConnections(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), func(o *Options, _ *Data) { o.MaxConnections = 3 })
	var clients []*testClient
	for range 3 {
		c := dial(t, path)
		if _, err := c.open(opening); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	refused := dial(t, path)
	var failure *wire.Failure
	if err := refused.ask(wire.FrameWelcome, &wire.Welcome{}); !errors.As(err, &failure) || !strings.Contains(failure.Text, "3 connections") {
		t.Errorf("error %v", err)
	}
	clients[0].close()
	for {
		c := dial(t, path)
		_, err := c.open(opening)
		if err == nil {
			break
		}
		if !errors.As(err, &failure) && !isGone(err) {
			t.Fatal(err)
		}
		c.close()
	}
}

// HELLO is small: no more memory is taken for a peer that has not introduced itself.
func TestHelloIsSmall(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), nil)
	c := dial(t, path)
	if _, err := c.conn.Write(wire.AppendFrame(nil, wire.FrameHello, wire.MaxHello+1)); err != nil {
		t.Fatal(err)
	}
	if err := c.ask(wire.FrameWelcome, &wire.Welcome{}); err == nil || !strings.Contains(err.Error(), "more than 65536") {
		t.Errorf("error %v", err)
	}
}
