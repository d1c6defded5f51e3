package wire

import (
	"encoding/binary"
	"hash/crc32"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardfeed/shardfeed/shard/hdfs/proto"
)

// packetPrefix are the two lengths before a packet's header.
const packetPrefix = 4 + 2

// A packetHeader is a PacketHeaderProto.
type packetHeader struct {
	off, seq int64
	last     bool
	data     int // bytes
}

// readPacket reads the next packet and verifies it, and returns the length to pass on:
// the packet without its checksums.
func (c *conn) readPacket() (int, error) {
	b, err := c.need(packetPrefix)
	if err != nil {
		return 0, err
	}
	payload := int64(binary.BigEndian.Uint32(b)) - 4 // the number counts its own four bytes
	head := packetPrefix + int(binary.BigEndian.Uint16(b[4:]))
	if payload < 0 || payload > maxPacket {
		return 0, ErrProtocol
	}
	n := head + int(payload)
	if b, err = c.need(n); err != nil {
		return 0, err
	}
	h, err := parsePacketHeader(b[packetPrefix:head])
	if err != nil {
		return 0, err
	}
	if err := c.checkPacket(h, b[head:]); err != nil {
		return 0, err
	}
	sums := int(payload) - h.data
	copy(b[sums:], b[:head])
	binary.BigEndian.PutUint32(b[sums:], uint32(4+h.data))
	c.win.skip(sums)
	c.next += int64(h.data)
	c.seq++
	c.final = h.last
	c.dialer.options.Counters.Packets.Add(1)
	c.measured.Took(h.data)
	return n - sums, nil
}

func parsePacketHeader(m []byte) (h packetHeader, err error) {
	off, ok1 := proto.Number(m, protowire.Fixed64Type, 1)
	seq, ok2 := proto.Number(m, protowire.Fixed64Type, 2)
	last, ok3 := proto.Number(m, protowire.VarintType, 3)
	data, ok4 := proto.Number(m, protowire.Fixed32Type, 4)
	h = packetHeader{off: int64(off), seq: int64(seq), last: last != 0, data: int(int32(data))}
	if !ok1 || !ok2 || !ok3 || !ok4 || h.data < 0 {
		return packetHeader{}, ErrProtocol
	}
	return h, nil
}

// checkPacket compares a packet with what must come next. The last packet, and only it, is empty.
func (c *conn) checkPacket(h packetHeader, payload []byte) error {
	if h.off != c.next || h.seq != c.seq || h.last != (h.data == 0) || h.data > len(payload) {
		return ErrProtocol
	}
	sums := (h.data + c.sums.chunk - 1) / c.sums.chunk * c.sums.size
	if sums+h.data != len(payload) {
		return ErrProtocol
	}
	if h.last && c.next < c.asked.end {
		return ErrShort
	}
	return c.sums.check(payload[:sums], payload[sums:])
}

// check verifies data against its checksums, of which there is one for each chunk.
func (s checksums) check(sums, data []byte) error {
	if s.table == nil {
		return nil
	}
	for len(data) > 0 {
		n := min(s.chunk, len(data))
		if crc32.Checksum(data[:n], s.table) != binary.BigEndian.Uint32(sums) {
			return ErrChecksum
		}
		sums, data = sums[4:], data[n:]
	}
	return nil
}
