package engine

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/shard"
)

// helloTimeout is the time from accepting a connection to its HELLO.
const helloTimeout = 10 * time.Second

// A handler answers the requests of a trainer that has opened a data set. It is a client.
type handler interface {
	join(wire.Join, consumer) error
	leave(consumer)
	setEpoch(wire.SetEpoch) (wire.Session, error)
	ask(wire.Ask) (wire.Session, error)
	waited(wire.Waited)
	divide(wire.Share)
	choose(wire.Select) (wire.Selected, error)
	openMap(wire.Map, consumer) (wire.Mapped, error)
	take(payload []byte) error
	close()
}

// A desk answers the requests that are not about an open data set. It is the engine.
type desk interface {
	// open returns the handler of the data set that a trainer asks for, and opens it if necessary.
	open(ctx context.Context, h wire.Hello, o wire.Open, progress func(wire.Progress)) (handler, wire.Opened, error)
	snapshot() Snapshot
	follow(loads.Rank) *loads.Follower
}

// A connection reads the requests of one trainer. Another goroutine opens the data set, so that a
// trainer that ends meanwhile is noticed.
type connection struct {
	*sender
	welcome wire.Welcome
	desk    desk
	frames  wire.Reader
	limits  wire.Limits // from HELLO on

	greeted bool
	hello   wire.Hello
	opening sync.WaitGroup

	meetings *meetings
	meeting  string // that it takes part in, or ""

	trace *loads.Follower // nil before the first TRACE

	asked   bool                    // OPEN was there
	handler atomic.Pointer[handler] // from OPENED on
}

func newConnection(t *sender, welcome wire.Welcome, limits wire.Limits, m *meetings, d desk) *connection {
	limits.Deadline = t.conn.SetReadDeadline
	c := &connection{sender: t, welcome: welcome, meetings: m, desk: d, frames: wire.NewReader(t.conn), limits: limits}
	c.frames.Most = wire.MaxHello
	return c
}

// serve handles requests until the trainer ends, breaks the protocol, or ctx ends. It returns when
// all resources of the trainer are free.
func (c *connection) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	c.limits.Ctx = ctx
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		c.refuse(wire.ErrEnds)
	})
	err := c.read(ctx)
	if breach := c.broken.Load(); breach != nil {
		err = *breach
	}
	c.frames.Handled()
	if stop() {
		c.hangUp(err)
	} else {
		<-told
	}
	cancel()
	if c.meeting != "" {
		c.meetings.leave(c, c.meeting)
	}
	if c.trace != nil {
		c.trace.Close()
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
	defer wire.Recovered(&c.log, &err)
	_ = c.conn.SetReadDeadline(time.Now().Add(helloTimeout))
	for {
		kind, payload, err := c.frames.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return wire.NewFailure(wire.KindLate, "no HELLO within %v", helloTimeout)
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
func (c *connection) handle(ctx context.Context, kind wire.FrameKind, payload []byte) error {
	if kind == wire.FrameHello || !c.greeted {
		return c.greet(kind, payload)
	}
	switch kind {
	case wire.FrameOpen:
		return c.begin(ctx, payload)
	case wire.FrameMeet:
		return c.meet(payload)
	case wire.FrameSurvey:
		return c.survey(payload)
	case wire.FrameTrace:
		return c.traced(payload)
	}
	if h := c.handler.Load(); h != nil {
		return c.handleOpened(*h, kind, payload)
	}
	return wire.ProtocolError("%v before OPENED", kind)
}

// handleOpened handles a frame about the open data set.
func (c *connection) handleOpened(h handler, kind wire.FrameKind, payload []byte) error {
	switch kind {
	case wire.FrameRelease:
		if len(payload) > 0 {
			return wire.ProtocolError("RELEASE has %d bytes, not 0", len(payload))
		}
		c.released()
		return nil
	case wire.FrameJoin:
		return c.join(h, payload)
	case wire.FrameLeave:
		h.leave(c.sender)
		return nil
	case wire.FrameEpoch:
		var e wire.SetEpoch
		return answer(c, kind, payload, &e, wire.FrameSession, func() (wire.Session, error) { return h.setEpoch(e) })
	case wire.FrameWaited:
		var w wire.Waited
		return heed(kind, payload, &w, func() { h.waited(w) })
	case wire.FrameShare:
		var s wire.Share
		return heed(kind, payload, &s, func() { h.divide(s) })
	case wire.FrameAsk:
		var a wire.Ask
		return answer(c, kind, payload, &a, wire.FrameSession, func() (wire.Session, error) { return h.ask(a) })
	case wire.FrameSelect:
		var s wire.Select
		return answer(c, kind, payload, &s, wire.FrameSelected, func() (wire.Selected, error) { return h.choose(s) })
	case wire.FrameMap:
		return c.openMap(h, payload)
	case wire.FrameTake:
		return h.take(payload)
	}
	return wire.ProtocolError("a trainer sends no %v", kind)
}

// heed decodes a message that has no answer into m, and acts on it.
func heed(kind wire.FrameKind, payload []byte, m interface{ Validate() error }, act func()) error {
	if err := wire.Decode(kind, payload, true, m); err != nil {
		return err
	}
	if err := m.Validate(); err != nil {
		return err
	}
	act()
	return nil
}

func (c *connection) greet(kind wire.FrameKind, payload []byte) error {
	if kind != wire.FrameHello || c.greeted {
		return wire.ProtocolError("%v where HELLO has to be, once", kind)
	}
	var of struct {
		Version int `json:"version"`
	}
	if err := wire.Decode(kind, payload, false, &of); err != nil {
		return err
	}
	if of.Version != wire.Version {
		return wire.ProtocolError("the trainer speaks version %d, this engine %d; install one version of shardfeed for both", of.Version, wire.Version)
	}
	if err := wire.Decode(kind, payload, true, &c.hello); err != nil {
		return err
	}
	if err := c.hello.Validate(); err != nil {
		return err
	}
	c.greeted = true
	c.log = c.log.With("trainer", c.hello.PID)
	c.log.Debug("a trainer has come", "job", c.hello.Job, "build", c.hello.Build)
	_ = c.conn.SetReadDeadline(time.Time{})
	c.frames.Limits, c.frames.Most = &c.limits, wire.MaxPayload
	c.send(wire.FrameWelcome, c.welcome)
	return nil
}

func (c *connection) begin(ctx context.Context, payload []byte) error {
	if c.asked {
		return wire.ProtocolError("a second OPEN")
	}
	c.asked = true
	var o wire.Open
	if err := wire.Decode(wire.FrameOpen, payload, true, &o); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
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
	var m wire.Meet
	if err := wire.Decode(wire.FrameMeet, payload, true, &m); err != nil {
		return err
	}
	key := jobOf(c.hello.Job) + m.Name
	if m.Name == "" || c.meeting != "" && c.meeting != key {
		return wire.ProtocolError("MEET of %q where %q has to be", m.Name, strings.TrimPrefix(c.meeting, jobOf(c.hello.Job)))
	}
	c.meeting = key
	if err := c.meetings.meet(c, key, m, func(met wire.Met) { c.send(wire.FrameMet, met) }); err != nil {
		c.fail(err)
	}
	return nil
}

func (c *connection) survey(payload []byte) error {
	if err := wire.Decode(wire.FrameSurvey, payload, true, &struct{}{}); err != nil {
		return err
	}
	c.send(wire.FrameSurveyed, c.desk.snapshot())
	return nil
}

func (c *connection) traced(payload []byte) error {
	var t wire.Trace
	if err := wire.Decode(wire.FrameTrace, payload, true, &t); err != nil {
		return err
	}
	if err := t.Validate(); err != nil {
		return err
	}
	of := loads.Rank{Dataset: t.Dataset, Rank: t.Rank}
	if c.trace == nil {
		c.trace = c.desk.follow(of)
	} else if c.trace.Rank != of {
		return wire.ProtocolError("TRACE of data set %q, rank %d, after one of another", t.Dataset, t.Rank)
	}
	all, missed := c.trace.Read()
	for i := range all {
		all[i].Shard = shard.Redact(all[i].Shard)
	}
	c.send(wire.FrameEvents, wire.Events{Loads: append([]loads.Load{}, all...), Missed: missed})
	return nil
}

func (c *connection) openData(ctx context.Context, o wire.Open) (err error) {
	defer wire.Recovered(&c.log, &err)
	h, told, err := c.desk.open(ctx, c.hello, o, c.progress)
	if err != nil {
		return err
	}
	c.handler.Store(&h)
	c.send(wire.FrameOpened, told)
	return nil
}

// A refused JOIN is answered by ERROR and the connection stays, unless it broke the protocol.
func (c *connection) join(h handler, payload []byte) error {
	var j wire.Join
	if err := wire.Decode(wire.FrameJoin, payload, true, &j); err != nil {
		return err
	}
	err := h.join(j, c.sender)
	if err != nil && !errors.Is(err, wire.ErrProtocol) {
		c.fail(err)
		return nil
	}
	return err
}

// A refused MAP is answered like a refused JOIN.
func (c *connection) openMap(h handler, payload []byte) error {
	var m wire.Map
	if err := wire.Decode(wire.FrameMap, payload, true, &m); err != nil {
		return err
	}
	r, err := h.openMap(m, c.sender)
	switch {
	case errors.Is(err, wire.ErrProtocol):
		return err
	case err != nil:
		c.fail(err)
	default:
		c.send(wire.FrameMapped, r)
	}
	return nil
}

// answer decodes a request into v, and sends what do makes of it.
func answer[A any](c *connection, kind wire.FrameKind, payload []byte, v any, with wire.FrameKind, do func() (A, error)) error {
	if err := wire.Decode(kind, payload, false, v); err != nil {
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
