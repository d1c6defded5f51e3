package engine

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// helloTimeout is the time from accepting a connection to its HELLO.
const helloTimeout = 10 * time.Second

// A handler answers the requests of a trainer that has opened a data set. It is a client.
type handler interface {
	join(Join, consumer) error
	leave(consumer)
	setEpoch(SetEpoch) (Session, error)
	ask(Ask) (Session, error)
	choose(Select) (Selected, error)
	openMap(Map, consumer) (Mapped, error)
	take(payload []byte) error
	close()
}

// An opener returns the handler of the data set that a trainer asks for, and opens it if necessary.
type opener func(ctx context.Context, h Hello, o Open, progress func(Progress)) (handler, Opened, error)

// A connection reads the requests of one trainer. Another goroutine opens the data set, so that a
// trainer that ends meanwhile is noticed.
type connection struct {
	*sender
	welcome Welcome
	open    opener
	frames  frameReader
	limits  frameLimits // from HELLO on

	greeted bool
	hello   Hello
	opening sync.WaitGroup

	meetings *meetings
	meeting  string // that it takes part in; empty: none

	asked   bool                    // OPEN was there
	handler atomic.Pointer[handler] // from OPENED on
}

func newConnection(t *sender, welcome Welcome, limits frameLimits, m *meetings, open opener) *connection {
	limits.deadline = t.conn.SetReadDeadline
	c := &connection{sender: t, welcome: welcome, meetings: m, open: open, frames: newFrameReader(t.conn), limits: limits}
	c.frames.most = maxHello
	return c
}

// serve handles requests until the trainer ends, breaks the protocol, or ctx ends. It returns when
// all resources of the trainer are free.
func (c *connection) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	c.limits.ctx = ctx
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		c.refuse(errEngineEnds)
	})
	err := c.read(ctx)
	if breach := c.broken.Load(); breach != nil {
		err = *breach
	}
	c.frames.handled()
	if stop() {
		c.hangUp(err)
	} else {
		<-told
	}
	cancel()
	if c.meeting != "" {
		c.meetings.leave(c, c.meeting)
	}
	c.opening.Wait()
	c.stopRings()
	if h := c.handler.Load(); h != nil {
		(*h).close()
	}
	if err := c.leaveRings(); err != nil {
		c.log.Error("shared memory", "error", err)
	}
}

func (c *connection) hangUp(err error) {
	if isGone(err) {
		c.log.Debug("a trainer has gone")
	} else {
		c.log.Warn("a connection is closed", "error", err)
	}
	c.refuse(err)
}

// read handles one frame after the other. It returns io.EOF when the trainer has ended.
func (c *connection) read(ctx context.Context) (err error) {
	defer recovered(&c.log, &err)
	_ = c.conn.SetReadDeadline(time.Now().Add(helloTimeout))
	for {
		kind, payload, err := c.frames.next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return newFailure(KindLate, "no HELLO within %v", helloTimeout)
		}
		if err != nil {
			return err
		}
		if err := c.handle(ctx, kind, payload); err != nil {
			return err
		}
	}
}

// handle handles a frame. Its error ends the connection.
func (c *connection) handle(ctx context.Context, kind frameKind, payload []byte) error {
	if kind == kindHello || !c.greeted {
		return c.greet(kind, payload)
	}
	switch kind {
	case kindOpen:
		return c.begin(ctx, payload)
	case kindMeet:
		return c.meet(payload)
	}
	opened := c.handler.Load()
	if opened == nil {
		return protocolError("%v before OPENED", kind)
	}
	h := *opened
	switch kind {
	case kindRelease:
		if len(payload) > 0 {
			return protocolError("RELEASE has %d bytes, not 0", len(payload))
		}
		c.released()
		return nil
	case kindJoin:
		return c.join(h, payload)
	case kindLeave:
		h.leave(c.sender)
		return nil
	case kindEpoch:
		var e SetEpoch
		return answer(c, kind, payload, &e, kindSession, func() (Session, error) { return h.setEpoch(e) })
	case kindAsk:
		var a Ask
		return answer(c, kind, payload, &a, kindSession, func() (Session, error) { return h.ask(a) })
	case kindSelect:
		var s Select
		return answer(c, kind, payload, &s, kindSelected, func() (Selected, error) { return h.choose(s) })
	case kindMap:
		return c.openMap(h, payload)
	case kindTake:
		return h.take(payload)
	}
	return protocolError("a trainer sends no %v", kind)
}

func (c *connection) greet(kind frameKind, payload []byte) error {
	if kind != kindHello || c.greeted {
		return protocolError("%v where HELLO has to be, once", kind)
	}
	var of struct {
		Version int `json:"version"`
	}
	if err := decode(kind, payload, false, &of); err != nil {
		return err
	}
	if of.Version != Version {
		return protocolError("the trainer speaks version %d, this engine %d; install one version of shardfeed for both", of.Version, Version)
	}
	if err := decode(kind, payload, true, &c.hello); err != nil {
		return err
	}
	if err := c.hello.validate(); err != nil {
		return err
	}
	c.greeted = true
	c.log = c.log.With("trainer", c.hello.PID)
	c.log.Debug("a trainer has come", "job", c.hello.Job, "build", c.hello.Build)
	_ = c.conn.SetReadDeadline(time.Time{})
	c.frames.limits, c.frames.most = &c.limits, maxPayload
	c.send(kindWelcome, c.welcome)
	return nil
}

func (c *connection) begin(ctx context.Context, payload []byte) error {
	if c.asked {
		return protocolError("a second OPEN")
	}
	c.asked = true
	var o Open
	if err := decode(kindOpen, payload, true, &o); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	c.opening.Go(func() {
		if err := c.openData(ctx, o); err != nil {
			c.refuse(err)
		}
	})
	return nil
}

func (c *connection) meet(payload []byte) error {
	var m Meet
	if err := decode(kindMeet, payload, true, &m); err != nil {
		return err
	}
	key := jobOf(c.hello.Job) + m.Name
	if m.Name == "" || c.meeting != "" && c.meeting != key {
		return protocolError("MEET of %q where %q has to be", m.Name, strings.TrimPrefix(c.meeting, jobOf(c.hello.Job)))
	}
	c.meeting = key
	if err := c.meetings.meet(c, key, m, func(met Met) { c.send(kindMet, met) }); err != nil {
		c.fail(err)
	}
	return nil
}

func (c *connection) openData(ctx context.Context, o Open) (err error) {
	defer recovered(&c.log, &err)
	h, told, err := c.open(ctx, c.hello, o, c.progress)
	if err != nil {
		return err
	}
	c.handler.Store(&h)
	c.send(kindOpened, told)
	return nil
}

// A refused JOIN is answered by ERROR and the connection stays, unless it broke the protocol.
func (c *connection) join(h handler, payload []byte) error {
	var j Join
	if err := decode(kindJoin, payload, true, &j); err != nil {
		return err
	}
	err := h.join(j, c.sender)
	if err != nil && !errors.Is(err, errProtocol) {
		c.fail(err)
		return nil
	}
	return err
}

// A refused MAP is answered like a refused JOIN.
func (c *connection) openMap(h handler, payload []byte) error {
	var m Map
	if err := decode(kindMap, payload, true, &m); err != nil {
		return err
	}
	r, err := h.openMap(m, c.sender)
	switch {
	case errors.Is(err, errProtocol):
		return err
	case err != nil:
		c.fail(err)
	default:
		c.send(kindMapped, r)
	}
	return nil
}

// answer decodes a request into v, and sends what do makes of it.
func answer[A any](c *connection, kind frameKind, payload []byte, v any, with frameKind, do func() (A, error)) error {
	if err := decode(kind, payload, false, v); err != nil {
		return err
	}
	a, err := do()
	if err != nil {
		c.fail(err)
		return nil
	}
	c.send(with, a)
	return nil
}
