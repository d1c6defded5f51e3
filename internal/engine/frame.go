package engine

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

// frameKind is the kind of a frame. See the package's page.
type frameKind uint16

const (
	kindHello frameKind = iota + 1
	kindOpen
	kindJoin
	kindRelease
	kindLeave
	kindEpoch
	kindAsk
	kindTake
	kindSelect
	kindMap
	kindMeet
)

const (
	kindWelcome frameKind = iota + 65
	kindOpened
	kindProgress
	kindJoined
	kindRing
	kindBatch
	kindEnd
	kindError
	kindSession
	kindNote
	kindMapped
	kindSelected
	kindMet
)

var frameNames = map[frameKind]string{
	kindHello: "HELLO", kindOpen: "OPEN", kindJoin: "JOIN", kindRelease: "RELEASE", kindLeave: "LEAVE", kindEpoch: "EPOCH", kindAsk: "ASK",
	kindTake: "TAKE", kindSelect: "SELECT", kindMap: "MAP", kindMeet: "MEET",
	kindWelcome: "WELCOME", kindOpened: "OPENED", kindProgress: "PROGRESS", kindJoined: "JOINED", kindRing: "RING", kindBatch: "BATCH",
	kindEnd: "END", kindError: "ERROR", kindSession: "SESSION", kindNote: "NOTE", kindMapped: "MAPPED", kindSelected: "SELECTED",
	kindMet: "MET",
}

func (k frameKind) String() string {
	if name, ok := frameNames[k]; ok {
		return name
	}
	return fmt.Sprintf("frame of kind %d", uint16(k))
}

const (
	frameHeader = 8
	maxPayload  = 16 << 20
	maxHello    = 64 << 10

	ringSize  = 24
	batchSize = 32
)

// errProtocol fails a peer that breaks the protocol.
var errProtocol = errors.New("not the protocol")

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
}

// A frameReader reads frames. The payload of one is valid until the next is read. A peer may be
// silent between two frames as long as it likes; once a frame has begun, its header and then its
// payload have to come within the limits' time each.
type frameReader struct {
	from    *bufio.Reader
	header  [frameHeader]byte
	payload []byte
	most    int          // bytes of a payload
	limits  *frameLimits // nil for no limits
	held    int64        // of the limits' capacity
}

// frameLimits bound what a peer can take with frames that it does not complete.
type frameLimits struct {
	timeout  time.Duration
	deadline func(time.Time) error // sets the connection's deadline
	capacity *semaphore.Weighted   // bytes of large payloads, over all connections
	ctx      context.Context       // ends the waiting for capacity
}

// keptPayload is the size of a buffer that is kept for the next frame, and takes no capacity.
const keptPayload = 4 << 10

func newFrameReader(from io.Reader) frameReader {
	return frameReader{from: bufio.NewReader(from), most: maxPayload}
}

// next is io.EOF when the peer has ended between two frames.
func (r *frameReader) next() (frameKind, []byte, error) {
	r.handled()
	if _, err := r.from.Peek(1); err != nil {
		return 0, nil, err
	}
	if err := r.fill(r.header[:]); err != nil {
		return 0, nil, r.cut(err, "a frame")
	}
	size := binary.LittleEndian.Uint32(r.header[0:])
	kind := frameKind(binary.LittleEndian.Uint16(r.header[4:]))
	if zero := binary.LittleEndian.Uint16(r.header[6:]); zero != 0 {
		return kind, nil, protocolError("%v: %d stands where 0 has to", kind, zero)
	}
	if int64(size) > int64(r.most) {
		return kind, nil, protocolError("%v: a payload of %d bytes is more than %d", kind, size, r.most)
	}
	if err := r.reserve(int64(size)); err != nil {
		return kind, nil, err
	}
	if err := r.read(int(size)); err != nil {
		return kind, nil, r.cut(err, kind.String())
	}
	return kind, r.payload, nil
}

func (r *frameReader) fill(p []byte) error {
	defer r.within(len(p))()
	_, err := io.ReadFull(r.from, p)
	return err
}

// within limits the time for n more bytes until the returned function is called. Bytes that are
// buffered already need no limit.
func (r *frameReader) within(n int) (end func()) {
	if r.limits == nil || r.from.Buffered() >= n {
		return func() {}
	}
	_ = r.limits.deadline(time.Now().Add(r.limits.timeout))
	return func() { _ = r.limits.deadline(time.Time{}) }
}

func (r *frameReader) cut(err error, what string) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return protocolError("the connection ends within %s", what)
	case errors.Is(err, os.ErrDeadlineExceeded) && r.limits != nil:
		return protocolError("%s began, and the rest did not come within %v", what, r.limits.timeout)
	}
	return err
}

func (r *frameReader) reserve(size int64) error {
	if r.limits == nil || size <= keptPayload {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.limits.ctx, r.limits.timeout)
	defer cancel()
	if err := r.limits.capacity.Acquire(ctx, size); err != nil {
		if r.limits.ctx.Err() != nil {
			return context.Cause(r.limits.ctx)
		}
		return timeoutError("the engine receives too many large requests: no capacity for one of %d bytes within %v; try again", size, r.limits.timeout)
	}
	r.held = size
	return nil
}

// handled frees the memory of the last payload.
func (r *frameReader) handled() {
	if r.held > 0 {
		r.limits.capacity.Release(r.held)
		r.held = 0
	}
	if cap(r.payload) > keptPayload {
		r.payload = nil
	}
}

// read reads n bytes of payload. It allocates memory as they arrive, so a false size takes no
// memory.
func (r *frameReader) read(n int) error {
	defer r.within(n)()
	r.payload = r.payload[:0]
	for len(r.payload) < n {
		have := len(r.payload)
		step := min(n-have, max(keptPayload, have))
		r.payload = append(r.payload, make([]byte, step)...)
		if _, err := io.ReadFull(r.from, r.payload[have:]); err != nil {
			return err
		}
	}
	return nil
}

func appendFrame(to []byte, kind frameKind, size int) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(size))
	to = binary.LittleEndian.AppendUint16(to, uint16(kind))
	return binary.LittleEndian.AppendUint16(to, 0)
}

func appendMessage(to []byte, kind frameKind, v any) ([]byte, error) {
	payload, err := json.Marshal(v)
	if err != nil {
		return to, err
	}
	if len(payload) > maxPayload {
		return to, fmt.Errorf("%v takes %d bytes, more than the protocol's %d", kind, len(payload), maxPayload)
	}
	return append(appendFrame(to, kind, len(payload)), payload...), nil
}

// decode reads the one JSON object of a payload. strict refuses members that v does not have.
func decode(kind frameKind, payload []byte, strict bool, v any) error {
	if !utf8.Valid(payload) {
		return protocolError("%v: not UTF-8", kind)
	}
	if first := bytes.TrimLeft(payload, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return protocolError("%v: not a JSON object", kind)
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return protocolError("%v: %v", kind, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return protocolError("%v: more follows after the object", kind)
	}
	return nil
}

// An announcement is the payload of BATCH.
type announcement struct {
	generation, slot  uint32
	seq, offset, used uint64
}

func (a announcement) append(to []byte) []byte {
	to = appendFrame(to, kindBatch, batchSize)
	le := binary.LittleEndian
	to = le.AppendUint32(to, a.generation)
	to = le.AppendUint32(to, a.slot)
	to = le.AppendUint64(to, a.seq)
	to = le.AppendUint64(to, a.offset)
	return le.AppendUint64(to, a.used)
}

// appendRing appends the frame of RING, which carries the ring's descriptor.
func appendRing(to []byte, generation uint32, slots int, slotSize, words int64) []byte {
	to = appendFrame(to, kindRing, ringSize)
	le := binary.LittleEndian
	to = le.AppendUint32(to, generation)
	to = le.AppendUint32(to, uint32(slots))
	to = le.AppendUint64(to, uint64(slotSize))
	return le.AppendUint64(to, uint64(words))
}
