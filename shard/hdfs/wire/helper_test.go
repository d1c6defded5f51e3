package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

const testBlock = 1073741825

// A block is a replica and how a datanode sends it.
type block struct {
	data   []byte
	kind   int // of checksum
	chunk  int // bytes for one checksum
	packet int // bytes of data for one packet
}

func testData(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

// readBlock is a READ_BLOCK as the client writes it.
func readBlock(off, length int64) []byte {
	var id, base, header, op []byte
	id = appendText(id, 1, "BP-1")
	id = appendNumber(id, 2, testBlock)
	base = protowire.AppendBytes(protowire.AppendTag(base, 1, protowire.BytesType), id)
	header = protowire.AppendBytes(protowire.AppendTag(header, 1, protowire.BytesType), base)
	header = appendText(header, 2, "test")
	op = protowire.AppendBytes(protowire.AppendTag(op, 1, protowire.BytesType), header)
	op = appendNumber(appendNumber(op, 2, uint64(off)), 3, uint64(length))
	return protowire.AppendBytes([]byte{0, version, opReadBlock}, op)
}

func appendText(m []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(m, n, protowire.BytesType), s)
}

// response is a BlockOpResponseProto, with its length before it.
func response(kind, chunk int, first int64) []byte {
	sum := appendNumber(appendNumber(nil, 1, uint64(kind)), 2, uint64(chunk))
	info := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), sum)
	info = appendNumber(info, 2, uint64(first))
	m := appendNumber(nil, 1, 0)
	m = protowire.AppendBytes(protowire.AppendTag(m, 4, protowire.BytesType), info)
	return protowire.AppendBytes(nil, m)
}

func (b block) sums(data []byte) (sums []byte) {
	table := crc32.IEEETable
	switch b.kind {
	case sumNull:
		return nil
	case sumCRC32C:
		table = crc32.MakeTable(crc32.Castagnoli)
	}
	for len(data) > 0 {
		n := min(b.chunk, len(data))
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[:n], table))
		data = data[n:]
	}
	return sums
}

func (b block) packetOf(seq, off int64, data []byte) []byte {
	var h []byte
	h = protowire.AppendFixed64(protowire.AppendTag(h, 1, protowire.Fixed64Type), uint64(off))
	h = protowire.AppendFixed64(protowire.AppendTag(h, 2, protowire.Fixed64Type), uint64(seq))
	last := uint64(0)
	if len(data) == 0 {
		last = 1
	}
	h = appendNumber(h, 3, last)
	h = protowire.AppendFixed32(protowire.AppendTag(h, 4, protowire.Fixed32Type), uint32(len(data)))
	sums := b.sums(data)
	p := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
	p = binary.BigEndian.AppendUint16(p, uint16(len(h)))
	return append(append(append(p, h...), sums...), data...)
}

// stream is all that a datanode sends for a range, and where its units end.
func (b block) stream(off, end int64) (all []byte, ends []int) {
	first := off / int64(b.chunk) * int64(b.chunk)
	all = response(b.kind, b.chunk, first)
	ends = append(ends, len(all))
	last := min((end+int64(b.chunk)-1)/int64(b.chunk)*int64(b.chunk), int64(len(b.data)))
	seq := int64(0)
	for at := first; ; seq++ {
		n := min(int64(b.packet), last-at)
		all = append(all, b.packetOf(seq, at, b.data[at:at+n])...)
		ends = append(ends, len(all))
		if n == 0 {
			return all, ends
		}
		at += n
	}
}

// handed is what a client receives of a stream: that of a block without checksums.
func (b block) handed(off, end int64) (all []byte, ends []int) {
	b.kind = sumNull
	return b.stream(off, end)
}

// unitsBefore is how many units of a stream have ended at a byte.
func unitsBefore(ends []int, at int) (n int) {
	for n < len(ends) && ends[n] <= at {
		n++
	}
	return n
}

// fake is the socket below: what a datanode sends, cut or spoiled, and what it was sent.
type fake struct {
	net.Conn // nil: nothing else is called
	in       io.Reader
	err      error // after the last byte of in; nil: io.EOF
	out      bytes.Buffer
	closed   atomic.Int32
	deadline atomic.Int64
}

func (f *fake) Read(b []byte) (int, error) {
	n, err := f.in.Read(b)
	if n == 0 && err != nil && f.err != nil {
		err = f.err
	}
	return n, err
}
func (f *fake) Write(b []byte) (int, error)      { return f.out.Write(b) }
func (f *fake) Close() error                     { f.closed.Add(1); return nil }
func (f *fake) SetWriteDeadline(time.Time) error { return nil }
func (f *fake) SetReadDeadline(t time.Time) error {
	f.deadline.Store(t.UnixNano())
	return nil
}

// connect returns a connection of a Dialer in use whose socket is f.
func connect(t testing.TB, o Options, f net.Conn, wanted func() int64) (net.Conn, *Counters) {
	t.Helper()
	counters := new(Counters)
	o.Counters = counters
	o.Dial = func(context.Context, string, string) (net.Conn, error) { return f, nil }
	d := NewDialer(o)
	t.Cleanup(d.Use(t.Context(), wanted))
	c, err := d.DialContext(context.Background(), "tcp", "dn:9866")
	if err != nil {
		t.Fatal(err)
	}
	return c, counters
}

// ask sends a READ_BLOCK and reads all that comes, in pieces of random size.
func ask(t testing.TB, c net.Conn, off, length int64) ([]byte, error) {
	t.Helper()
	if n, err := c.Write(readBlock(off, length)); err != nil || n != len(readBlock(off, length)) {
		return nil, errors.Join(err, os.ErrInvalid)
	}
	return drain(c)
}

func drain(c net.Conn) (all []byte, err error) {
	buf := make([]byte, 20_000)
	for {
		n, err := c.Read(buf[:1+rand.IntN(len(buf)-1)])
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// delivered checks that what a client received, after its response, is whole packets of right data,
// and returns how far they go.
func delivered(t testing.TB, got []byte, data []byte) (end int64) {
	t.Helper()
	if len(got) == 0 {
		return 0
	}
	_, n := protowire.ConsumeBytes(got)
	if n < 0 {
		t.Fatal("part of a response was handed on")
	}
	for got = got[n:]; len(got) > 0; {
		if len(got) < packetPrefix {
			t.Fatal("part of a packet was handed on")
		}
		head := packetPrefix + int(binary.BigEndian.Uint16(got[4:]))
		size := head + int(binary.BigEndian.Uint32(got)) - 4
		if size > len(got) {
			t.Fatalf("%d of %d bytes of a packet were handed on", len(got), size)
		}
		h, err := parsePacketHeader(got[packetPrefix:head])
		if err != nil {
			t.Fatal(err)
		}
		if h.off+int64(h.data) > int64(len(data)) || !bytes.Equal(got[size-h.data:size], data[h.off:h.off+int64(h.data)]) {
			t.Fatalf("wrong bytes from byte %d on", h.off)
		}
		end = h.off + int64(h.data)
		got = got[size:]
	}
	return end
}
