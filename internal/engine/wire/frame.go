package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"
)

// FrameKind is the kind of a frame. Package engine lists them.
type FrameKind uint16

const (
	FrameHello FrameKind = iota + 1
	FrameOpen
	FrameJoin
	FrameRelease
	FrameLeave
	FrameEpoch
	FrameAsk
	FrameTake
	FrameSelect
	FrameMap
	FrameMeet
	FrameWaited
	FrameSurvey
	FrameTrace
	FrameShare
)

const (
	FrameWelcome FrameKind = iota + 65
	FrameOpened
	FrameProgress
	FrameJoined
	FrameRing
	FrameBatch
	FrameEnd
	FrameError
	FrameSession
	FrameNote
	FrameMapped
	FrameSelected
	FrameMet
	FrameSurveyed
	FrameEvents
	FrameHeld
)

var frameNames = map[FrameKind]string{
	FrameHello: "HELLO", FrameOpen: "OPEN", FrameJoin: "JOIN", FrameRelease: "RELEASE", FrameLeave: "LEAVE", FrameEpoch: "EPOCH", FrameAsk: "ASK",
	FrameTake: "TAKE", FrameSelect: "SELECT", FrameMap: "MAP", FrameMeet: "MEET", FrameWaited: "WAITED", FrameSurvey: "SURVEY", FrameTrace: "TRACE", FrameShare: "SHARE",
	FrameWelcome: "WELCOME", FrameOpened: "OPENED", FrameProgress: "PROGRESS", FrameJoined: "JOINED", FrameRing: "RING", FrameBatch: "BATCH",
	FrameEnd: "END", FrameError: "ERROR", FrameSession: "SESSION", FrameNote: "NOTE", FrameMapped: "MAPPED", FrameSelected: "SELECTED",
	FrameMet: "MET", FrameSurveyed: "SURVEYED", FrameEvents: "EVENTS", FrameHeld: "HELD",
}

func (k FrameKind) String() string {
	if name, ok := frameNames[k]; ok {
		return name
	}
	return fmt.Sprintf("frame of kind %d", uint16(k))
}

const (
	FrameHeader = 8
	MaxPayload  = 16 << 20
	MaxHello    = 64 << 10

	ringSize  = 24
	batchSize = 32
)

// ErrProtocol fails a peer that breaks the protocol.
var ErrProtocol = errors.New("not the protocol")

func ProtocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// A Reader reads frames. The payload of one is valid until the next is read. A peer may be
// silent between two frames as long as it likes; once a frame has begun, its header and then its
// payload have to come within the limits' time each.
type Reader struct {
	from    *bufio.Reader
	header  [FrameHeader]byte
	payload []byte
	Most    int     // bytes of a payload
	Limits  *Limits // nil for no limits
	held    int64   // of the limits' capacity
}

// Limits bound what a peer can take with frames that it does not complete.
type Limits struct {
	Timeout  time.Duration
	Deadline func(time.Time) error // sets the connection's deadline
	Capacity *semaphore.Weighted   // bytes of large payloads, over all connections
	Ctx      context.Context       // ends the waiting for capacity
}

// KeptPayload is the size of a buffer that is kept for the next frame, and takes no capacity.
const KeptPayload = 4 << 10

func NewReader(from io.Reader) Reader {
	return Reader{from: bufio.NewReader(from), Most: MaxPayload}
}

// Next reads a frame. Its error is io.EOF when the peer ended between two frames.
func (r *Reader) Next() (FrameKind, []byte, error) {
	r.Handled()
	if _, err := r.from.Peek(1); err != nil {
		return 0, nil, err
	}
	if err := r.fill(r.header[:]); err != nil {
		return 0, nil, r.cut(err, "a frame")
	}
	size := binary.LittleEndian.Uint32(r.header[0:])
	kind := FrameKind(binary.LittleEndian.Uint16(r.header[4:]))
	if zero := binary.LittleEndian.Uint16(r.header[6:]); zero != 0 {
		return kind, nil, ProtocolError("%v: bytes 6 and 7 must be 0, got %d", kind, zero)
	}
	if int64(size) > int64(r.Most) {
		return kind, nil, ProtocolError("%v: a payload of %d bytes is more than %d", kind, size, r.Most)
	}
	if err := r.reserve(int64(size)); err != nil {
		return kind, nil, err
	}
	if err := r.read(int(size)); err != nil {
		return kind, nil, r.cut(err, kind.String())
	}
	return kind, r.payload, nil
}

func (r *Reader) fill(p []byte) error {
	defer r.within(len(p))()
	_, err := io.ReadFull(r.from, p)
	return err
}

// within limits the time for n more bytes until the returned function is called. Bytes that are
// buffered already need no limit.
func (r *Reader) within(n int) (end func()) {
	if r.Limits == nil || r.from.Buffered() >= n {
		return func() {}
	}
	_ = r.Limits.Deadline(time.Now().Add(r.Limits.Timeout))
	return func() { _ = r.Limits.Deadline(time.Time{}) }
}

func (r *Reader) cut(err error, what string) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ProtocolError("the connection ends within %s", what)
	case errors.Is(err, os.ErrDeadlineExceeded) && r.Limits != nil:
		return ProtocolError("%s began, and the rest did not come within %v", what, r.Limits.Timeout)
	}
	return err
}

func (r *Reader) reserve(size int64) error {
	if r.Limits == nil || size <= KeptPayload {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Limits.Ctx, r.Limits.Timeout)
	defer cancel()
	if err := r.Limits.Capacity.Acquire(ctx, size); err != nil {
		if r.Limits.Ctx.Err() != nil {
			return context.Cause(r.Limits.Ctx)
		}
		return TimeoutError("the engine receives too many large requests: no capacity for one of %d bytes within %v; try again", size, r.Limits.Timeout)
	}
	r.held = size
	return nil
}

// Handled frees the memory of the last payload.
func (r *Reader) Handled() {
	if r.held > 0 {
		r.Limits.Capacity.Release(r.held)
		r.held = 0
	}
	if cap(r.payload) > KeptPayload {
		r.payload = nil
	}
}

// read reads n bytes of payload. It allocates memory as they arrive, so a false size takes no
// memory.
func (r *Reader) read(n int) error {
	defer r.within(n)()
	r.payload = r.payload[:0]
	for len(r.payload) < n {
		have := len(r.payload)
		step := min(n-have, max(KeptPayload, have))
		r.payload = append(r.payload, make([]byte, step)...)
		if _, err := io.ReadFull(r.from, r.payload[have:]); err != nil {
			return err
		}
	}
	return nil
}

func AppendFrame(to []byte, kind FrameKind, size int) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(size))
	to = binary.LittleEndian.AppendUint16(to, uint16(kind))
	return binary.LittleEndian.AppendUint16(to, 0)
}

func AppendMessage(to []byte, kind FrameKind, v any) ([]byte, error) {
	payload, err := json.Marshal(v)
	if err != nil {
		return to, err
	}
	if len(payload) > MaxPayload {
		return to, fmt.Errorf("%v takes %d bytes, more than the protocol's %d", kind, len(payload), MaxPayload)
	}
	return append(AppendFrame(to, kind, len(payload)), payload...), nil
}

// Decode reads the one JSON object of a payload. strict refuses members that v does not have.
func Decode(kind FrameKind, payload []byte, strict bool, v any) error {
	if !utf8.Valid(payload) {
		return ProtocolError("%v: not UTF-8", kind)
	}
	if first := bytes.TrimLeft(payload, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return ProtocolError("%v: not a JSON object", kind)
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return ProtocolError("%v: %v", kind, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ProtocolError("%v: more follows after the object", kind)
	}
	return nil
}

// An Announcement is the payload of BATCH.
type Announcement struct {
	Generation, Slot  uint32
	Seq, Offset, Used uint64
}

func (a Announcement) Append(to []byte) []byte {
	to = AppendFrame(to, FrameBatch, batchSize)
	le := binary.LittleEndian
	to = le.AppendUint32(to, a.Generation)
	to = le.AppendUint32(to, a.Slot)
	to = le.AppendUint64(to, a.Seq)
	to = le.AppendUint64(to, a.Offset)
	return le.AppendUint64(to, a.Used)
}

// AppendRing appends the frame of RING, which carries the ring's descriptor.
func AppendRing(to []byte, generation uint32, slots int, slotSize, words int64) []byte {
	to = AppendFrame(to, FrameRing, ringSize)
	le := binary.LittleEndian
	to = le.AppendUint32(to, generation)
	to = le.AppendUint32(to, uint32(slots))
	to = le.AppendUint64(to, uint64(slotSize))
	return le.AppendUint64(to, uint64(words))
}
