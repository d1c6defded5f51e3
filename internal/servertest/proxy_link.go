package servertest

import (
	"io"
	"net"
	"sync"
	"time"
)

const (
	chunkSize  = 64 << 10
	queueDepth = 64 // chunks on their way: 4 MiB, which is 200 MB/s at 20 ms
)

// chunks holds the buffers of all links.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// A link is one connection of a proxy: three goroutines, one for the way to the server, two for the
// way back, that are apart by the latency.
type link struct {
	proxy          *Proxy
	n              int64 // which connection it is
	client, server net.Conn
	sent           int64     // bytes passed on to the client
	free           time.Time // when the rate lets the next byte pass
	cutOnce        sync.Once
	ended          chan struct{} // closed by cut
}

// A chunk is bytes from the server, and the time to pass them on.
type chunk struct {
	buf  *[chunkSize]byte
	size int
	due  time.Time
}

func (l *link) run() {
	var wait sync.WaitGroup
	wait.Go(func() {
		io.Copy(l.server, l.client)
		closeWrite(l.server)
	})
	queue := make(chan chunk, queueDepth)
	wait.Go(func() { l.receive(queue) })
	l.deliver(queue)
	wait.Wait()
	l.cut(false)
}

func (l *link) receive(queue chan<- chunk) {
	defer close(queue)
	for {
		buf := chunks.Get().(*[chunkSize]byte)
		n, err := l.server.Read(buf[:])
		if n > 0 {
			select {
			case queue <- chunk{buf: buf, size: n, due: time.Now().Add(l.proxy.current().Latency)}:
			case <-l.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliver passes the chunks on. What is left when a fault or the client ends it is dropped.
func (l *link) deliver(queue <-chan chunk) {
	for c := range queue {
		if !l.pause(time.Until(c.due)) || !l.pass(c.buf[:c.size]) {
			l.cut(false)
			return // receive ends because its connection is closed
		}
		chunks.Put(c.buf)
	}
	closeWrite(l.client)
}

// pass sends bytes to the client as the faults have it, and reports whether the connection goes on.
func (l *link) pass(b []byte) bool {
	silent := false // one silence is one strike
	for len(b) > 0 {
		s := l.proxy.current()
		n, fault := l.limit(s, len(b))
		if n > 0 && !l.write(b[:n], s.Rate) {
			return false
		}
		b = b[n:]
		switch fault {
		case cutting:
			l.proxy.struck.Add(1)
			l.cut(s.Reset)
			return false
		case stalling:
			if !silent {
				l.proxy.struck.Add(1)
			}
			silent = true
			if !l.stall(s) {
				return false
			}
		}
	}
	return true
}

type fault int

const (
	none fault = iota
	cutting
	stalling
)

// limit is how many of n bytes may pass before a fault, and the fault that then comes.
func (l *link) limit(s *setting, n int) (int, fault) {
	if !s.applies(l.n) {
		return n, none
	}
	if s.Mute {
		return 0, stalling
	}
	next := none
	if left := s.CutAfter - l.sent; s.CutAfter > 0 && left <= int64(n) {
		n, next = max(0, int(left)), cutting
	}
	if left := s.StallAfter - l.sent; s.StallAfter > 0 && left < int64(n) {
		n, next = max(0, int(left)), stalling
	}
	return n, next
}

func (l *link) stall(s *setting) bool {
	select {
	case <-s.replaced:
		return true
	case <-l.ended:
	case <-l.proxy.ctx:
	}
	return false
}

func (l *link) write(b []byte, rate int64) bool {
	if rate > 0 {
		now := time.Now()
		if l.free.Before(now) {
			l.free = now
		}
		l.free = l.free.Add(time.Duration(len(b)) * time.Second / time.Duration(rate))
		if !l.pause(time.Until(l.free)) {
			return false
		}
	}
	n, err := l.client.Write(b)
	l.sent += int64(n)
	l.proxy.passed.Add(int64(n))
	return err == nil
}

// pause waits, and reports whether the connection goes on.
func (l *link) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
	case <-l.ended:
		return false
	case <-l.proxy.ctx:
		return false
	}
	return true
}

func (l *link) cut(byReset bool) {
	l.cutOnce.Do(func() {
		close(l.ended)
		if byReset {
			reset(l.client)
		} else {
			l.client.Close()
		}
		reset(l.server)
	})
}

func closeWrite(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
}
