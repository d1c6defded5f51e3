package wire

import (
	"fmt"
	"hash/crc32"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardfeed/shardfeed/shard/hdfs/proto"
)

const (
	maxResponse = 1 << 20
	maxPacket   = 16 << 20 // as Hadoop's own clients have it
)

// The checksum types of the protocol.
const (
	sumNull   = 0
	sumCRC32  = 1
	sumCRC32C = 2
)

// checksums describes the checksums of a block's data.
type checksums struct {
	table *crc32.Table // nil: not at all
	size  int          // bytes of a checksum
	chunk int          // bytes that it covers
}

// readResponse reads the answer to the request, and returns the length to pass on: the
// answer of a datanode that has no checksums, so that the client does not check once more.
func (c *conn) readResponse() (int, error) {
	length, prefix := uint64(0), -1
	for n := 1; prefix < 0; n++ { // a varint's length is known only once it is complete
		b, err := c.need(n)
		if err != nil {
			return 0, err
		}
		if length, prefix = protowire.ConsumeVarint(b); n > 5 || length > maxResponse {
			return 0, ErrProtocol
		}
	}
	n := prefix + int(length)
	b, err := c.need(n)
	if err != nil {
		return 0, err
	}
	first, sums, err := parseResponse(b[prefix:], c.asked.off)
	if err != nil {
		return 0, err
	}
	if sums.table == nil && !c.dialer.options.AllowNull {
		return 0, ErrNull
	}
	c.next, c.sums, c.state = first, sums, statePackets
	c.measured.Answered()
	plain := plainResponse(first, sums.chunk) // never longer than b: it has the fields that b must have, each as short as can be
	c.win.skip(n - copy(b[n-len(plain):], plain))
	return len(plain), nil
}

// plainResponse is the delimited BlockOpResponseProto of a block without checksums.
func plainResponse(first int64, chunk int) []byte {
	var sum, info, m []byte
	sum = appendNumber(appendNumber(sum, 1, sumNull), 2, uint64(chunk))
	info = protowire.AppendBytes(protowire.AppendTag(info, 1, protowire.BytesType), sum)
	info = appendNumber(info, 2, uint64(first))
	m = appendNumber(m, 1, 0)
	m = protowire.AppendBytes(protowire.AppendTag(m, 4, protowire.BytesType), info)
	return protowire.AppendBytes(nil, m)
}

func appendNumber(m []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), value)
}

// parseResponse reads a BlockOpResponseProto to a request from byte off on. First is the offset of
// the first packet: clients trust that number blindly, so that a wrong one would shift the data.
func parseResponse(m []byte, off int64) (first int64, sums checksums, err error) {
	status, ok := proto.Number(m, protowire.VarintType, 1)
	if !ok {
		return 0, sums, ErrProtocol
	}
	if status != 0 {
		said, _ := proto.Bytes(m, 5)
		return 0, sums, fmt.Errorf("%w: status %d: %q", ErrRefused, status, said)
	}
	kind, ok1 := proto.Number(m, protowire.VarintType, 4, 1, 1)
	chunk, ok2 := proto.Number(m, protowire.VarintType, 4, 1, 2)
	start, ok3 := proto.Number(m, protowire.VarintType, 4, 2)
	if !ok1 || !ok2 || !ok3 || chunk == 0 || chunk > maxPacket {
		return 0, sums, ErrProtocol
	}
	first, sums.chunk = int64(start), int(chunk)
	if first < 0 || first > off || off-first >= int64(chunk) {
		return 0, sums, ErrProtocol
	}
	switch kind {
	case sumNull:
	case sumCRC32:
		sums.table, sums.size = crc32.IEEETable, 4
	case sumCRC32C:
		sums.table, sums.size = crc32.MakeTable(crc32.Castagnoli), 4
	default:
		return 0, sums, ErrProtocol
	}
	return first, sums, nil
}
