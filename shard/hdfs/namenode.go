package hdfs

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardfeed/shardfeed/shard/hdfs/proto"
)

// dialTimeout is how long a server may take to accept a connection.
const dialTimeout = 5 * time.Second

const (
	maxAnswer = 64 << 20  // bytes of an answer that is looked at
	maxLength = 128 << 20 // bytes of any answer, as Hadoop's clients have it
)

// A namenodes is the connection of one client to a namenode, or to several in turn. It reads the
// answers to the client's calls for facts that the client hides: whether a file is still being
// written, the places of its blocks, and why a namenode refused.
//
// The client calls from one goroutine at a time, of which one renews leases each second; use sets
// the borrower's context.
type namenodes struct {
	timeout time.Duration
	life    context.Context // of the client; ends with it

	mu      sync.Mutex
	ctx     context.Context // of the borrower, or nil
	conn    *namenode       // the last
	located *located        // by the last getBlockLocations since use
	fatal   *fatalError     // by which a namenode ended a connection since use
}

// use lends the client to a borrower until done: when ctx ends, so does the connection.
func (n *namenodes) use(ctx context.Context) (done func()) {
	n.mu.Lock()
	n.ctx, n.located, n.fatal = ctx, nil, nil
	n.mu.Unlock()
	stop := context.AfterFunc(ctx, n.close)
	return func() {
		stop()
		n.mu.Lock()
		n.ctx = nil
		n.mu.Unlock()
	}
}

// dial connects to a namenode. The client gives no context.
func (n *namenodes) dial(_ context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	ctx := n.ctx
	n.mu.Unlock()
	if ctx == nil {
		ctx = n.life
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer context.AfterFunc(n.life, cancel)()
	nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &namenode{Conn: nc, all: n, addr: addr}
	n.mu.Lock()
	n.conn = c
	n.mu.Unlock()
	if ctx.Err() != nil { // it ended before there was a connection to close
		c.Close()
	}
	return c, nil
}

// close ends the connection, and what the client waits for.
func (n *namenodes) close() {
	n.mu.Lock()
	c := n.conn
	n.mu.Unlock()
	if c != nil {
		c.Close()
	}
}

// addr is the namenode that was spoken to last, or "".
func (n *namenodes) addr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == nil {
		return ""
	}
	return n.conn.addr
}

// learned returns the facts from answers since use.
func (n *namenodes) learned() (*located, *fatalError) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.located, n.fatal
}

// A namenode is a connection to one. It ends with its first failed read: only a write that fails
// makes the client turn to another namenode.
type namenode struct {
	net.Conn
	all  *namenodes
	addr string

	method string // of the call under way
	answer []byte // as far as it was read
}

func (c *namenode) Write(b []byte) (int, error) {
	c.method, c.answer = calledMethod(b), c.answer[:0]
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.all.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *namenode) Read(b []byte) (int, error) {
	err := c.Conn.SetReadDeadline(time.Now().Add(c.all.timeout))
	n := 0
	if err == nil {
		n, err = c.Conn.Read(b)
	}
	if err != nil {
		c.Close()
		return n, fmt.Errorf("namenode %s: %w", c.addr, err)
	}
	if len(c.answer)+n <= maxAnswer {
		c.answer = append(c.answer, b[:n]...)
		if err := c.look(); err != nil {
			c.Close()
			return 0, err
		}
	}
	return n, nil
}

// look learns from an answer that has arrived whole. What cannot be one must not reach the library,
// which would make room for a length of four letters.
func (c *namenode) look() error {
	if len(c.answer) < 4 {
		return nil
	}
	n := int64(binary.BigEndian.Uint32(c.answer))
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if n > maxLength {
		c.all.fatal = &fatalError{notRPC, fmt.Sprintf("the server at %s is not a namenode: its answer starts with %q", c.addr, c.answer[:4])}
		return c.all.fatal
	}
	if int64(len(c.answer)) < 4+n {
		return nil
	}
	a := parseAnswer(c.answer[4:])
	c.answer = c.answer[:0]
	switch {
	case a.fatal != nil:
		c.all.fatal = a.fatal
	case c.method == "getBlockLocations":
		c.all.located = parseLocated(a.body)
	}
	return nil
}

// calledMethod returns the method that a request calls, or "" for a handshake.
func calledMethod(b []byte) string {
	if len(b) < 4 || int64(len(b)) != 4+int64(binary.BigEndian.Uint32(b)) {
		return ""
	}
	_, n := protowire.ConsumeBytes(b[4:]) // RpcRequestHeaderProto
	if n < 0 {
		return ""
	}
	m, n := protowire.ConsumeBytes(b[4+n:]) // RequestHeaderProto
	if n < 0 {
		return ""
	}
	name, _ := proto.Bytes(m, 1)
	return string(name)
}
