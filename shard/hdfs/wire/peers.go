package wire

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxPeers is how many connections are kept at a time, as Hadoop's own client has it.
	maxPeers = 16
	// peerAge is for how long: a datanode waits four seconds for the next request.
	peerAge = 2 * time.Second
)

// Peers are connections to datanodes whose last answer was read to its end: each takes another
// request, which saves the setup of a connection and the growth of its buffers. They are kept for a
// short time, for all Dialers of a cluster, and never after a handshake or an error. The zero value
// keeps connections, nil does not.
type Peers struct {
	mu     sync.Mutex
	kept   []*peer // the oldest is the first
	closed bool
}

type peer struct {
	conn  net.Conn
	addr  string
	timer *time.Timer // closes it
}

// put keeps a connection, or closes it when it cannot be kept.
func (p *Peers) put(addr string, nc net.Conn) {
	kept := &peer{conn: nc, addr: addr}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = nc.Close() // its last answer is there
		return
	}
	if len(p.kept) == maxPeers {
		p.removeLocked(p.kept[0])
	}
	p.kept = append(p.kept, kept)
	kept.timer = time.AfterFunc(peerAge, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if slices.Contains(p.kept, kept) {
			p.removeLocked(kept)
		}
	})
}

// take returns a connection to addr, the one that was used last, or nil. Connections that the
// datanode has closed meanwhile are left out.
func (p *Peers) take(addr string) net.Conn {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.kept) - 1; i >= 0; i-- {
		kept := p.kept[i]
		if kept.addr != addr {
			continue
		}
		if silent(kept.conn) {
			kept.timer.Stop()
			p.kept = slices.Delete(p.kept, i, i+1)
			return kept.conn
		}
		p.removeLocked(kept)
	}
	return nil
}

func (p *Peers) removeLocked(kept *peer) {
	kept.timer.Stop()
	_ = kept.conn.Close() // its last answer is there
	p.kept = slices.DeleteFunc(p.kept, func(other *peer) bool { return other == kept })
}

// Close closes all connections, later ones included.
func (p *Peers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for len(p.kept) > 0 {
		p.removeLocked(p.kept[0])
	}
}

// silent reports whether a connection is open and nothing has arrived, its end included.
func silent(nc net.Conn) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	var peek error
	err = raw.Control(func(fd uintptr) {
		_, _, peek = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err == nil && (errors.Is(peek, unix.EAGAIN) || errors.Is(peek, unix.EWOULDBLOCK))
}
