package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// A link is the network that a proxy simulates.
type link struct {
	latency time.Duration
	rate    int64 // bytes a second; 0 is any number
}

// serveDelayed forwards connections. What a client sends arrives later by the link's latency, so
// each request that fits into one segment, as reads do, takes that much longer. The server's bytes
// arrive at the link's rate, over all connections together; without one the kernel passes them on.
func serveDelayed(ctx context.Context, l net.Listener, target string, k link) error {
	defer closeAfter(ctx, l)()
	var clients sync.WaitGroup
	defer clients.Wait()
	var line *pace
	if k.rate > 0 {
		line = &pace{rate: k.rate}
	}
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		clients.Go(func() { forward(ctx, c.(*net.TCPConn), target, k.latency, line) })
	}
}

// forward serves one client until either side is done.
func forward(ctx context.Context, client *net.TCPConn, target string, latency time.Duration, line *pace) {
	defer client.Close()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	server := c.(*net.TCPConn)
	defer server.Close()
	defer closeAfter(ctx, client)()
	defer closeAfter(ctx, server)()

	var sending sync.WaitGroup
	sending.Go(func() { send(server, client, latency) })
	if line != nil {
		line.copy(client, server)
	} else {
		_, _ = client.ReadFrom(server) // a side that went away ends both
	}
	_ = client.Close()
	_ = server.Close()
	sending.Wait()
}

// send passes on what the client sends, until it ends. There is one request under way on a
// connection, so one goroutine can sleep for it.
func send(server, client *net.TCPConn, latency time.Duration) {
	b := make([]byte, 16<<10)
	for {
		n, err := client.Read(b)
		if n > 0 {
			time.Sleep(latency)
			if _, err := server.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = server.CloseWrite()
			return
		}
	}
}

// A pace lets bytes through at a rate, first come first served.
type pace struct {
	rate int64

	mu   sync.Mutex
	free time.Time // when the line has passed all that it was given
}

// copy passes on bytes until a side goes away.
func (p *pace) copy(to, from *net.TCPConn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		time.Sleep(p.take(n))
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

// take returns how long it is until the line has passed n more bytes.
func (p *pace) take(n int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(int64(n) * int64(time.Second) / p.rate))
	return p.free.Sub(now)
}
