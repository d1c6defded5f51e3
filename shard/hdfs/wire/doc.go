// Package wire verifies reads of HDFS blocks on their way from a datanode.
//
// A [Dialer]'s connections follow the data transfer protocol from below an HDFS client, which they
// serve as any net.Conn does. A client receives whole units of the stream whose every byte was
// checked, or an error and nothing of the unit: it never holds a byte that was not verified, and
// what it asks of another datanode after an error begins where the verified bytes end.
//
// What a client writes on a fresh connection, and what comes back (all numbers big-endian):
//
//	handshake  0xdeadbeef and a message, an answer, a message, an answer        SASL; passed through; only where the cluster has it
//	request    28 in 2 bytes, 81 (READ_BLOCK), length as a varint, OpReadBlockProto
//	response   length as a varint, BlockOpResponseProto: status, checksum type, bytes per checksum, offset of the first chunk
//	packet     4 bytes: 4 + length of checksums + length of data; 2 bytes: length of the header; PacketHeaderProto; checksums; data
//	...        until a packet without data
//	status     2, 8, 6: a ClientReadStatusProto of CHECKSUM_OK, with its length before it; only where the connection is used again
//
// A unit is the response or a packet. The response must begin at the chunk that holds the asked
// offset. Of a packet the offset must be where the last one ended, the sequence number one more
// than the last, the lengths must add up, each chunk's CRC-32 or CRC-32C must be right, and only
// the last packet is empty; it must not come before the asked range was sent. These are the rules
// of Hadoop's own client.
//
// Verified data is passed on as the stream of a block without checksums, so that the client
// does not sum it once more: the response says so, and packets come without theirs.
//
// A first write that is none of these is encrypted: [ErrOpaque]. A response without checksums is
// [ErrNull]. The options of the Dialer can allow both. Each unit, handshake answer and write
// must be done within a time; deadlines that a client sets are ignored. A connection closes itself
// after its first error. One whose client closes it when all that was asked for has come can be
// kept in [Peers] for a moment, for the next request to that datanode. Buffers of 512 KiB are
// pooled, and a packet costs no allocation. The package starts no goroutine.
package wire
