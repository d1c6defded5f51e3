package servertest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// replay is a server of TCP that answers every connection with the same bytes, once a byte has
// come, and then ends it.
func replay(t *testing.T, content []byte) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	t.Cleanup(func() { l.Close(); wait.Wait() })
	wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer c.Close()
				if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
					c.Write(content)
				}
			})
		}
	})
	return l.Addr().String()
}

// ask makes a connection and reads it to its end, for at most a minute.
func ask(t *testing.T, addr string) ([]byte, error) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := c.Write([]byte{1}); err != nil {
		return nil, err
	}
	return io.ReadAll(c)
}

func TestServerProxyFaults(t *testing.T) {
	want := pattern(1 << 20)
	for _, c := range []struct {
		name   string
		faults Faults
		size   int
		reset  bool
		least  time.Duration
		struck int
	}{
		{name: "none", size: 1 << 20},
		{name: "cut", faults: Faults{CutAfter: 100_001}, size: 100_001, struck: 1},
		{name: "reset", faults: Faults{CutAfter: 100_001, Reset: true}, reset: true, struck: 1},
		{name: "cut at the end", faults: Faults{CutAfter: 1 << 20}, size: 1 << 20, struck: 1},
		{name: "latency", faults: Faults{Latency: 150 * time.Millisecond}, size: 1 << 20, least: 150 * time.Millisecond},
		{name: "rate", faults: Faults{Rate: 4 << 20}, size: 1 << 20, least: 240 * time.Millisecond},
		{name: "refuse", faults: Faults{Refuse: true}, reset: true, struck: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewProxy(t, replay(t, want))
			p.Set(c.faults)
			start := time.Now()
			got, err := ask(t, p.Addr)
			took := time.Since(start)
			if c.reset != errors.Is(err, syscall.ECONNRESET) || !c.reset && (err != nil || !bytes.Equal(got, want[:c.size])) {
				t.Errorf("%d bytes, error %v", len(got), err)
			}
			if took < c.least {
				t.Errorf("it took %v", took)
			}
			if p.Struck() != c.struck || p.Connections() != 1 {
				t.Errorf("struck %d of %d connections", p.Struck(), p.Connections())
			}
		})
	}
}

// TestServerProxyTimes: the first two connections since the faults were set are cut, and no other.
func TestServerProxyTimes(t *testing.T) {
	want := pattern(1000)
	p := NewProxy(t, replay(t, want))
	for range 2 {
		if _, err := ask(t, p.Addr); err != nil {
			t.Fatal(err)
		}
	}
	p.Set(Faults{CutAfter: 10, Times: 2})
	for i, size := range []int{10, 10, 1000} {
		if got, err := ask(t, p.Addr); err != nil || len(got) != size {
			t.Errorf("connection %d: %d bytes, error %v", i, len(got), err)
		}
	}
}

// TestServerProxyMute: a connection that has fallen silent goes on where it was when the faults are
// lifted.
func TestServerProxyMute(t *testing.T) {
	want := pattern(1 << 20)
	for _, c := range []struct {
		name   string
		faults Faults
		passed int64
	}{{"from the first byte", Faults{Mute: true}, 0}, {"after some", Faults{StallAfter: 5}, 5}} {
		t.Run(c.name, func(t *testing.T) {
			p := NewProxy(t, replay(t, want))
			p.Set(c.faults)
			done := make(chan []byte)
			go func() {
				got, _ := ask(t, p.Addr)
				done <- got
			}()
			for p.Struck() == 0 {
				time.Sleep(time.Millisecond)
			}
			if p.Passed() != c.passed || p.Open() != 1 {
				t.Errorf("%d bytes of %d connections passed", p.Passed(), p.Open())
			}
			p.Set(Faults{})
			if got := <-done; !bytes.Equal(got, want) || p.Struck() != 1 {
				t.Errorf("%d bytes, %d strikes", len(got), p.Struck())
			}
		})
	}
}

// TestServerProxyDown: connections in use are reset, new ones are refused.
func TestServerProxyDown(t *testing.T) {
	p := NewProxy(t, replay(t, []byte("abc")))
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for p.Open() == 0 {
		time.Sleep(time.Millisecond)
	}
	p.Down()
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an open connection: %v", err)
	}
	if _, err := ask(t, p.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection: %v", err)
	}
}
