package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardfeed/shardfeed/shard/hdfs/proto"
)

// The data transfer protocol's numbers.
const (
	saslMagic   = 0xdeadbeef
	version     = 28
	opReadBlock = 81
	opHeader    = 3 // bytes: version and op
)

// A request is a range of a block.
type request struct {
	block    uint64
	off, end int64 // within the block
}

// watch learns from a write what is going on, and returns what to send in its place.
//
// It relies on the client writing each message whole. Were it not so, the stream would not be
// recognised, which is ErrOpaque or ErrProtocol: never unverified bytes.
func (c *conn) watch(b []byte) ([]byte, error) {
	switch {
	case c.state > stateRequest:
		return b, nil
	case c.state == stateStart && len(b) >= 4 && binary.BigEndian.Uint32(b) == saslMagic:
		c.state, c.greeted = stateHandshake, true
		return b, nil
	case c.state == stateHandshake:
		c.state = stateRequest
		return b, nil
	case len(b) < opHeader || binary.BigEndian.Uint16(b) != version || b[2] != opReadBlock:
		c.dialer.options.Counters.Opaque.Add(1)
		if !c.dialer.options.AllowOpaque {
			return nil, ErrOpaque
		}
		c.state = stateOpaque
		return b, nil
	}
	out, asked, err := parseRequest(b, c.wanted)
	if err != nil {
		return nil, err
	}
	c.asked, c.state = asked, stateResponse
	return out, nil
}

// parseRequest reads a READ_BLOCK, and shortens it to what is wanted: of a field that comes twice
// the last counts, so that a second length is put behind the first.
func parseRequest(b []byte, wanted func() int64) (out []byte, asked request, err error) {
	m, n := protowire.ConsumeBytes(b[opHeader:])
	off, ok1 := proto.Number(m, protowire.VarintType, 2)
	length, ok2 := proto.Number(m, protowire.VarintType, 3)
	if n != len(b)-opHeader || !ok1 || !ok2 || int64(off) < 0 || int64(length) < 0 || int64(off+length) < int64(off) {
		return nil, request{}, ErrProtocol
	}
	asked.block, _ = proto.Number(m, protowire.VarintType, 1, 1, 1, 2)
	asked.off, asked.end = int64(off), int64(off+length)
	if wanted == nil {
		return b, asked, nil
	}
	if want := wanted(); want > 0 && want < int64(length) {
		asked.end = asked.off + want
		m = protowire.AppendVarint(protowire.AppendTag(m[:len(m):len(m)], 3, protowire.VarintType), uint64(want))
		b = protowire.AppendBytes(b[:opHeader:opHeader], m)
	}
	return b, asked, nil
}
