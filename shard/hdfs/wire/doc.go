// Package wire verifies reads of HDFS blocks on their way from a datanode.
//
// A [Dialer]'s connections follow the data transfer protocol below an HDFS client, which uses them
// like any net.Conn. A client receives whole units of the stream whose every byte was checked, or
// an error and nothing of the unit: it never holds an unverified byte, and after an error its
// request to another datanode starts after the verified bytes.
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
// A unit is the response or a packet. The response must start at the chunk with the requested
// offset. A packet must have the offset where the last one ended, the sequence number after the
// last, lengths that add up, and a correct CRC-32 or CRC-32C for each chunk. Only the last packet
// is empty, and it must not precede the end of the requested range. These are the rules of Hadoop's
// own client.
//
// Verified data is passed on as the stream of a block without checksums, so that the client does
// not compute them again: the response declares none, and packets have none.
//
// Any other first write is encrypted: [ErrOpaque]. A response without checksums is [ErrNull]. The
// options of the Dialer can allow both. Each unit, handshake answer and write must be done within a
// time; deadlines that a client sets are ignored. A connection closes itself after its first error.
// If its client closes it after all requested bytes, it can be kept in [Peers] for a moment, for
// the next request to that datanode. Buffers of 512 KiB are pooled, and a packet costs no
// allocation. The package starts no goroutine.
package wire
