package engine

import (
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// limitedReader reads frames of an end of a pipe, within limits.
func limitedReader(t *testing.T, capacity int64) (*frameReader, net.Conn) {
	here, there := net.Pipe()
	r := newFrameReader(here)
	r.limits = &frameLimits{
		timeout: time.Minute, deadline: here.SetReadDeadline, capacity: semaphore.NewWeighted(capacity), ctx: t.Context(),
	}
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return &r, there
}

// A frame that has begun has to come whole; between two frames a trainer may be silent for ever.
func TestFrameTime(t *testing.T) {
	whole := append(appendFrame(nil, kindAsk, 2), "{}"...)
	large := append(appendFrame(nil, kindAsk, maxPayload), make([]byte, 1<<20)...)
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
				if _, _, err := r.next(); err != nil {
					t.Fatalf("after an hour of silence: %v", err)
				}
				before := time.Now()
				_, _, err := r.next()
				if !errors.Is(err, errProtocol) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v", err)
				}
				if took := time.Since(before); took != time.Hour+time.Minute {
					t.Errorf("after %v", took)
				}
				r.handled()
				if !r.limits.capacity.TryAcquire(maxUnfinished) {
					t.Error("capacity is still held")
				}
			})
		})
	}
}

// Large payloads wait for each other, and not without end.
func TestFrameCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size := 3 * keptPayload
		frame := append(appendFrame(nil, kindAsk, size), make([]byte, size)...)
		r, peer := limitedReader(t, int64(size))
		go func() {
			for range 2 {
				_, _ = peer.Write(frame)
			}
		}()
		if !r.limits.capacity.TryAcquire(1) {
			t.Fatal("no capacity")
		}
		time.AfterFunc(time.Second, func() { r.limits.capacity.Release(1) })
		if _, payload, err := r.next(); err != nil || len(payload) != size {
			t.Fatalf("%d bytes, error %v", len(payload), err)
		}
		r.handled()
		if !r.limits.capacity.TryAcquire(1) {
			t.Fatal("no capacity")
		}
		if _, _, err := r.next(); kindOf(err) != KindTimeout || !strings.Contains(err.Error(), "too many large requests") {
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
	if _, err := half.conn.Write(append(appendFrame(nil, kindJoin, maxPayload), make([]byte, 100<<10)...)); err != nil {
		t.Fatal(err)
	}
	var failure *Failure
	if err := half.ask(kindJoined, &Joined{}); !errors.As(err, &failure) || failure.Kind != KindProtocol {
		t.Errorf("error %v", err)
	}
	if _, _, err := half.next(); !isGone(err) {
		t.Errorf("the end is %v", err)
	}
	if _, err := idle.join(Join{Iteration: "a"}); err != nil {
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
	var failure *Failure
	if err := refused.ask(kindWelcome, &Welcome{}); !errors.As(err, &failure) || !strings.Contains(failure.Text, "3 connections") {
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

// HELLO is small: memory for more is not taken from a peer that has not said who it is.
func TestHelloIsSmall(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), nil)
	c := dial(t, path)
	if _, err := c.conn.Write(appendFrame(nil, kindHello, maxHello+1)); err != nil {
		t.Fatal(err)
	}
	if err := c.ask(kindWelcome, &Welcome{}); err == nil || !strings.Contains(err.Error(), "more than 65536") {
		t.Errorf("error %v", err)
	}
}
