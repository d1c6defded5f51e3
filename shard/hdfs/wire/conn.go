package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A state is the next expected message of a connection.
type state int

const (
	stateStart     state = iota // the first write decides
	stateHandshake              // the next write is the second and last message of a SASL handshake
	stateRequest                // the next write asks for a block, in the clear
	stateResponse               // the datanode's answer to it
	statePackets
	stateOpaque // passed through
)

const (
	// lastWait is how long the packet behind the asked data may take: it is sent together with it.
	lastWait = 100 * time.Millisecond
	// statusOK is a ClientReadStatusProto with its length before it: CHECKSUM_OK.
	statusOK = "\x02\x08\x06"
)

// A conn is a connection to a datanode. Its user reads and writes from one goroutine; Close may
// come from any.
type conn struct {
	net.Conn
	dialer   *Dialer
	ctx      context.Context // of the reader that it serves; net.Conn has no place for it
	datanode string
	wanted   func() int64          // see Dialer.Use; may be nil
	end      func(keep bool) error // leaves the socket to the Dialer's Peers, or closes it, once
	greeted  bool                  // by a handshake

	state state
	asked request
	sums  checksums
	next  int64 // offset within the block of the next packet
	seq   int64 // of the next packet

	mu    sync.Mutex // guards what follows against a Close from elsewhere
	err   error      // the first; the connection is closed then
	final bool       // nothing follows the unit in the window
	armed bool       // the deadline of the unit that is being read
	win   window

	measured driver.Request
}

// Write passes on what the client sends, and learns from it what must come back.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.failed(); err != nil {
		return 0, err
	}
	out, err := c.watch(b)
	if err != nil {
		return 0, c.fail(err)
	}
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.dialer.options.Timeout)); err != nil {
		return 0, c.fail(err)
	}
	if _, err := c.Conn.Write(out); err != nil {
		return 0, c.fail(err)
	}
	return len(b), nil
}

// Read gives bytes of a unit that was verified whole, or an error.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if c.state != stateResponse && c.state != statePackets {
		return c.readPlain(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if len(c.win.verified()) == 0 {
		if c.final {
			return 0, c.finish(io.EOF)
		}
		if err := c.readUnit(); err != nil {
			return 0, c.finish(err)
		}
	}
	n := copy(b, c.win.verified())
	c.win.take(n)
	return n, nil
}

func (c *conn) readPlain(b []byte) (int, error) {
	if err := c.failed(); err != nil {
		return 0, err
	}
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.dialer.options.Timeout)); err != nil {
		return 0, c.fail(err)
	}
	n, err := c.Conn.Read(b)
	if n > 0 || err == nil { // what failed fails again at the next read
		return n, nil
	}
	return 0, c.fail(err)
}

// readUnit brings the next unit into the window, verified.
func (c *conn) readUnit() error {
	var n int
	var err error
	c.armed = false
	if c.state == stateResponse {
		n, err = c.readResponse()
	} else {
		n, err = c.readPacket()
	}
	if err == nil {
		c.win.verify(n)
	}
	return err
}

// need returns the first n unverified bytes, reading what is missing and what else has arrived.
func (c *conn) need(n int) ([]byte, error) {
	if !c.armed && c.win.unverified() < n {
		c.armed = true
		if err := c.Conn.SetReadDeadline(time.Now().Add(c.dialer.options.Timeout)); err != nil {
			return nil, err
		}
	}
	return c.win.fill(c.Conn, n)
}

func (c *conn) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the connection after an error outside of Read.
func (c *conn) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.finish(err)
}

// finish ends the connection with its first error, which it returns: the client forgets to close
// connections that failed.
//
// An io.EOF before the stream's regular end becomes io.ErrUnexpectedEOF: clients take the bare one
// for the end of the replica, and would ask the same datanode again for ever.
func (c *conn) finish(err error) error {
	if c.err != nil {
		return c.err
	}
	_ = c.end(false) // the socket is gone either way, and err says why
	c.win.free()
	if c.final && errors.Is(err, io.EOF) {
		c.measured.End(nil)
		c.err = io.EOF
		return c.err
	}
	c.measured.End(err)
	if c.ctx.Err() != nil {
		err = cause.Of(c.ctx)
	} else {
		c.dialer.options.Counters.Failed.Add(1)
		c.dialer.options.Meter.Failovers.Add(1)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.err = &Error{Datanode: c.datanode, Block: c.asked.block, Offset: max(c.next, c.asked.off), Err: err}
	return c.err
}

// Close closes the connection, or leaves it to the next request after a regular end; a Read under
// way ends.
func (c *conn) Close() error {
	keep := false
	if c.mu.TryLock() { // that are not read
		keep = c.regular()
		c.mu.Unlock()
	}
	err := c.end(keep)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.win.free()
	c.measured.End(nil)
	if c.err == nil {
		c.err = net.ErrClosed
	}
	return err
}

// regular reports whether the connection can take another request. It reads the last packet, which
// clients leave when they have all their bytes, and confirms correct checksums to the datanode,
// which waits for that.
func (c *conn) regular() bool {
	if c.dialer.options.Peers == nil || c.greeted || c.err != nil || c.state != statePackets || c.next < c.asked.end {
		return false
	}
	if !c.final {
		c.win.take(len(c.win.verified()))
		c.armed = true
		if err := c.Conn.SetDeadline(time.Now().Add(lastWait)); err != nil {
			return false
		}
		n, err := c.readPacket()
		if err != nil || !c.final {
			return false
		}
		c.win.skip(n)
	}
	if c.win.unverified() > 0 {
		return false
	}
	_, err := c.Conn.Write([]byte(statusOK))
	return err == nil
}

// SetDeadline does nothing, as do its like: a client clears deadlines after the response, which
// must not disarm ours.
func (c *conn) SetDeadline(time.Time) error { return nil }

func (c *conn) SetReadDeadline(time.Time) error { return nil }

func (c *conn) SetWriteDeadline(time.Time) error { return nil }
