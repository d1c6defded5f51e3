package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// pending is how many chunks of one client may wait for their time; a request is one or two.
const pending = 256

// serveDelayed forwards connections. What a client sends arrives latency later, so each request on a connection that has one under way
// at a time takes that much longer; what the server sends is passed on by the kernel.
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

	waiting := make(chan chunk, pending)
	var both sync.WaitGroup
	both.Go(func() { receive(client, waiting, latency) })
	both.Go(func() { send(server, waiting) })
	_, _ = client.ReadFrom(server) // a side that went away ends both
	_ = client.Close()
	_ = server.Close()
	both.Wait()
}

// receive takes what the client sends, until it ends.
func receive(client net.Conn, waiting chan<- chunk, latency time.Duration) {
	defer close(waiting)
	for {
		b := make([]byte, 16<<10)
		n, err := client.Read(b)
		if n > 0 {
			waiting <- chunk{b[:n], time.Now().Add(latency)}
		}
		if err != nil {
			return
		}
	}
}

// send passes each chunk on when its time has come. It takes all of them, so that receive never waits for ever.
func send(server *net.TCPConn, waiting <-chan chunk) {
	var failed error
	for c := range waiting {
		if failed != nil {
			continue
		}
		time.Sleep(time.Until(c.due))
		_, failed = server.Write(c.b)
	}
	if !errors.Is(failed, net.ErrClosed) {
		_ = server.CloseWrite()
	}
}
