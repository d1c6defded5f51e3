package servertest

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Faults are the changes that a [Proxy] makes to a server's bytes. The zero value passes everything
// through. Several may be set at once.
type Faults struct {
	Times      int           // connections since Set to damage; 0: all, including earlier ones. Latency and Rate apply to every one
	Refuse     bool          // a connection is reset as soon as it is made
	Mute       bool          // the server's bytes are held back, until other faults are set
	CutAfter   int64         // bytes after which a connection ends; 0: it does not
	Reset      bool          // a cut is a reset; else it is the end of the stream
	StallAfter int64         // bytes after which a connection falls silent until other faults are set; 0: it does not
	Latency    time.Duration // every byte comes that much later
	Rate       int64         // bytes per second of a connection; 0: as fast as they come
}

// A Proxy passes TCP connections on to a server, and makes faults on the way back. Its methods are
// safe for concurrent use.
type Proxy struct {
	Addr string // host:port, for clients

	target   string
	listener net.Listener
	ctx      chan struct{} // closed with the proxy
	wait     sync.WaitGroup
	struck   atomic.Int64
	accepted atomic.Int64
	passed   atomic.Int64

	mu      sync.Mutex
	setting *setting
	conns   map[*link]struct{}
	closed  bool
}

// A setting is the argument of the last Set.
type setting struct {
	Faults
	first    int64         // the number of the first connection after it
	replaced chan struct{} // closed by the next
}

// applies reports whether the n-th connection is hurt.
func (s *setting) applies(n int64) bool {
	n -= s.first
	return s.Times == 0 || n >= 0 && n < int64(s.Times)
}

// NewProxy starts a proxy before a server, host:port or an http address. It ends with the test, and
// every connection with it.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := StartProxy("127.0.0.1:0", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// StartProxy starts a proxy on an address, for programs that are not tests.
func StartProxy(address, target string) (*Proxy, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		Addr: l.Addr().String(), target: strings.TrimPrefix(target, "http://"),
		ctx: make(chan struct{}), conns: map[*link]struct{}{}, setting: &setting{replaced: make(chan struct{})}, listener: l,
	}
	p.wait.Go(p.accept)
	return p, nil
}

// Endpoint is the proxy's address for clients of HTTP.
func (p *Proxy) Endpoint() string { return "http://" + p.Addr }

// Set replaces the faults.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.setting.replaced)
	p.setting = &setting{Faults: f, first: p.accepted.Load(), replaced: make(chan struct{})}
}

// Struck is how often a fault was made: connections refused, muted, cut or stalled.
func (p *Proxy) Struck() int { return int(p.struck.Load()) }

// Connections is how many connections were made so far.
func (p *Proxy) Connections() int { return int(p.accepted.Load()) }

// Open is how many connections there are now.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Passed is how many of the server's bytes were passed on.
func (p *Proxy) Passed() int64 { return p.passed.Load() }

// CutAll ends every connection there is, by a reset or by the end of the stream.
func (p *Proxy) CutAll(reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.conns {
		p.struck.Add(1)
		l.cut(reset)
	}
}

// Down stops listening, so that connecting is refused by the system, and resets every connection.
func (p *Proxy) Down() {
	p.listener.Close()
	p.CutAll(true)
}

// Close ends the proxy and waits for its connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.ctx)
	}
	p.mu.Unlock()
	p.Down()
	p.wait.Wait()
}

func (p *Proxy) current() *setting {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.setting
}

// accept serves the connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		n := p.accepted.Add(1) - 1
		if s := p.current(); s.Refuse && s.applies(n) {
			p.struck.Add(1)
			reset(client)
			continue
		}
		p.wait.Go(func() { p.serve(client, n) })
	}
}

// serve passes one connection on until both sides have ended.
func (p *Proxy) serve(client net.Conn, n int64) {
	server, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil {
		reset(client)
		return
	}
	l := &link{proxy: p, n: n, client: client, server: server, ended: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		l.cut(true)
		return
	}
	p.conns[l] = struct{}{}
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

// reset closes a connection such that its other end sees a reset.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}
