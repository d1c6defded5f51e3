package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// serveDelayed forwards connections. What a client sends arrives latency later, so each request
// that fits into one segment, as reads do, takes that much longer; the kernel passes on the
// server's bytes.
func serveDelayed(ctx context.Context, l net.Listener, target string, latency time.Duration) error {
	defer closeAfter(ctx, l)()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		clients.Go(func() { forward(ctx, c.(*net.TCPConn), target, latency) })
	}
}

// forward serves one client until either side is done.
func forward(ctx context.Context, client *net.TCPConn, target string, latency time.Duration) {
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
	_, _ = client.ReadFrom(server) // a side that went away ends both
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
