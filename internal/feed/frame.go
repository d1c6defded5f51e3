package feed

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// frameKind is what a frame holds. See the package's page.
type frameKind uint16

const (
	kindHello frameKind = iota + 1
	kindOpen
	kindJoin
	kindRelease
	kindLeave
	kindEpoch
	kindAsk
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
)

var frameNames = map[frameKind]string{
	kindHello: "HELLO", kindOpen: "OPEN", kindJoin: "JOIN", kindRelease: "RELEASE", kindLeave: "LEAVE", kindEpoch: "EPOCH", kindAsk: "ASK",
	kindWelcome: "WELCOME", kindOpened: "OPENED", kindProgress: "PROGRESS", kindJoined: "JOINED", kindRing: "RING", kindBatch: "BATCH",
	kindEnd: "END", kindError: "ERROR", kindSession: "SESSION", kindNote: "NOTE",
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

	releaseSize = 16
	ringSize    = 16
	batchSize   = 32
)

// errProtocol is what a peer says that keeps not to the protocol.
var errProtocol = errors.New("not the protocol")

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
}

// A frameReader reads frames. The payload of one is valid until the next is read.
type frameReader struct {
	from    io.Reader
	header  [frameHeader]byte
	payload []byte
}

// keptPayload is how large a payload buffer is kept for the next frame.
const keptPayload = 64 << 10

// next is io.EOF when the peer has ended between two frames.
func (r *frameReader) next() (frameKind, []byte, error) {
	if _, err := io.ReadFull(r.from, r.header[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = protocolError("the connection ends within a frame")
		}
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(r.header[0:])
	kind := frameKind(binary.LittleEndian.Uint16(r.header[4:]))
	if zero := binary.LittleEndian.Uint16(r.header[6:]); zero != 0 {
		return kind, nil, protocolError("%v: %d stands where 0 has to", kind, zero)
	}
	if size > maxPayload {
		return kind, nil, protocolError("%v: a payload of %d bytes is more than %d", kind, size, maxPayload)
	}
	if err := r.read(int(size)); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = protocolError("the connection ends within %v", kind)
		}
		return kind, nil, err
	}
	return kind, r.payload, nil
}

// read gets n bytes of payload. Memory for many of them is taken as they come, so that a size that is a lie costs none.
func (r *frameReader) read(n int) error {
	if cap(r.payload) > keptPayload {
		r.payload = nil
	}
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

// appendFrame appends a frame's header for a payload of size bytes.
func appendFrame(to []byte, kind frameKind, size int) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(size))
	to = binary.LittleEndian.AppendUint16(to, uint16(kind))
	return binary.LittleEndian.AppendUint16(to, 0)
}

// appendMessage appends a frame of JSON.
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

// A release is the payload of RELEASE.
type release struct {
	generation, slot uint32
	seq              uint64
}

func decodeRelease(payload []byte) (release, error) {
	if len(payload) != releaseSize {
		return release{}, protocolError("RELEASE has %d bytes, not %d", len(payload), releaseSize)
	}
	le := binary.LittleEndian
	return release{generation: le.Uint32(payload), slot: le.Uint32(payload[4:]), seq: le.Uint64(payload[8:])}, nil
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
func appendRing(to []byte, generation uint32, slots int, slotSize int64) []byte {
	to = appendFrame(to, kindRing, ringSize)
	le := binary.LittleEndian
	to = le.AppendUint32(to, generation)
	to = le.AppendUint32(to, uint32(slots))
	return le.AppendUint64(to, uint64(slotSize))
}
