package engine

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
)

// finishTimeout is the time to send the last frames of a connection.
const finishTimeout = time.Second

// A sender is the sending side of a connection: the consumer of an iteration, with its ring.
type sender struct {
	conn wire.Link
	out  *wire.Outbox
	log  *slog.Logger

	rings  sync.Mutex
	memory *ring
	reader int                   // of memory
	older  []lease               // shared rings that it read before, whose slots it may still have
	broken atomic.Pointer[error] // what breach was called with

	mu    sync.Mutex // keeps frames whole and in order
	over  bool       // the last frame was sent
	frame []byte
}

// newSender takes over a connection.
func newSender(c *net.UnixConn, log *slog.Logger) (*sender, error) {
	conn, err := wire.NewLink(c)
	if err != nil {
		return nil, err
	}
	t := &sender{conn: conn, out: wire.NewOutbox(conn), memory: newRing(), log: log}
	t.memory.breach[0] = t.breach
	return t, nil
}

// send sends a message. If it cannot, it ends the connection, and the reader sees that.
func (t *sender) send(kind wire.FrameKind, v any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sendLocked(kind, v, false); err != nil {
		_ = t.conn.CloseRead()
	}
}

func (t *sender) sendLocked(kind wire.FrameKind, v any, spare bool) (err error) {
	if t.over {
		return errGone
	}
	frame, unfit := wire.AppendMessage(t.frame[:0], kind, v)
	if unfit != nil {
		t.log.Error("a message cannot be sent", "error", unfit)
		if frame, err = wire.AppendMessage(frame[:0], wire.FrameError, wire.FailureOf(unfit)); err != nil {
			return err
		}
	}
	if t.frame = frame; cap(frame) > wire.KeptPayload {
		t.frame = nil
	}
	return errors.Join(unfit, t.out.Add(frame, nil, spare))
}

// isGone reports whether an error means that the trainer has ended. A trainer that is killed with
// frames unread resets its connection.
func isGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// refuse sends an error as the last frame, unless the trainer has gone, and ends the connection.
func (t *sender) refuse(err error) {
	t.mu.Lock()
	if !isGone(err) {
		_ = t.sendLocked(wire.FrameError, wire.FailureOf(err), false)
	}
	again := t.over
	t.over = true
	t.mu.Unlock()
	if !again {
		t.out.Finish(finishTimeout)
		_ = t.conn.Close()
	}
}

func (t *sender) progress(p wire.Progress) { t.sendSpare(wire.FrameProgress, p) }

func (t *sender) note(n wire.Note) { t.sendSpare(wire.FrameNote, n) }

func (t *sender) held(h wire.Held) {
	if l := t.lease(); l.awaits(l.reader) {
		t.sendSpare(wire.FrameHeld, h)
	}
}

// sendSpare sends a message that may be dropped when the trainer does not read.
func (t *sender) sendSpare(kind wire.FrameKind, v any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.sendLocked(kind, v, true)
}

// ring returns the allocator of the trainer's shared memory, which replicas read too.
func (t *sender) ring(need ringNeed, also ...consumer) (loader.Allocator, error) {
	r := t.lease().ring
	all := append([]*sender{t}, senders(also)...)
	if len(all) <= len(also) {
		return nil, errors.New("replicas that have no connection; this is a bug")
	}
	if !r.isOf(len(all)) || slices.ContainsFunc(all, func(o *sender) bool { return o.lease().ring != r }) {
		r = share(all)
	}
	if err := r.fit(need); err != nil {
		return nil, err
	}
	return r, nil
}

// joined sends the ring too, so that the trainer maps it while its first batch is made.
func (t *sender) joined(j wire.Joined) {
	t.send(wire.FrameJoined, j)
	if g := t.lease().latest(); g != nil {
		_ = t.sendRing(g.number)
	}
}

// sendRing sends a generation of the ring, unless the trainer has it.
func (t *sender) sendRing(number uint32) error {
	l := t.lease()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return errGone
	}
	g, file, err := l.unsent(number, l.reader)
	if g == nil {
		return err
	}
	return t.putLocked(wire.AppendRing(t.frame[:0], g.number, g.slots(), int64(g.size), int64(g.wordsAt(l.reader))), file)
}

// putLocked sends a frame that was made in the place of the last one.
func (t *sender) putLocked(frame []byte, file *os.File) error {
	t.frame = frame
	if t.over || t.out.Add(frame, file, false) != nil {
		return errGone
	}
	return nil
}

func (t *sender) deliver(b *loader.Batch, also ...consumer) error {
	defer b.Release() // a slot that was announced stays the trainers'
	s, ok := b.Memory().(*slot)
	others := senders(also)
	for _, o := range append([]*sender{t}, others...) {
		if l := o.lease(); ok && s.ring == l.ring {
			s.to |= 1 << l.reader
		} else {
			return errors.New("the batch is not in the trainer's ring; this is a bug")
		}
	}
	return t.announce(s, b, others...)
}

// announce announces a batch to the trainer and to replicas. It fails when all have gone: the
// connection of one that has gone ends the iteration.
func (t *sender) announce(s *slot, b *loader.Batch, also ...*sender) error {
	a, err := s.write(b)
	if err != nil {
		return err
	}
	gone := 0
	for _, o := range append([]*sender{t}, also...) {
		if err := o.tell(a); err != nil {
			if gone++; gone > len(also) || !errors.Is(err, errGone) {
				return err
			}
		}
	}
	return nil
}

func (t *sender) tell(a wire.Announcement) error {
	if err := t.sendRing(a.Generation); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.putLocked(a.Append(t.frame[:0]), nil)
}

func (t *sender) end(e wire.End) { t.send(wire.FrameEnd, e) }

func (t *sender) fail(err error) { t.send(wire.FrameError, wire.FailureOf(err)) }
