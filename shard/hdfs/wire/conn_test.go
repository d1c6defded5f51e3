package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/shard/driver"
)

func blocks() []block {
	data := testData(300_123)
	return []block{
		{data, sumCRC32C, 512, 64 << 10},
		{data, sumCRC32, 512, 4096},
		{data, sumCRC32C, 1536, 15 * 1536},
		{testData(620_000), sumCRC32C, 512, 600 << 10}, // one packet is larger than the pooled buffer
	}
}

func TestStreamIsHandedOn(t *testing.T) {
	for _, b := range append(blocks(), block{testData(2000), sumNull, 512, 1024}) {
		for _, off := range []int64{0, 1, 511, 512, 1000} {
			size := int64(len(b.data))
			sent, _ := b.stream(off, size)
			f := &fake{in: bytes.NewReader(sent)}
			meter := driver.NewMeter("dn")
			c, counters := connect(t, Options{AllowNull: true, Meter: meter}, f, nil)
			got, err := ask(t, c, off, size-off)
			want, _ := b.handed(off, size)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("chunk %d, packet %d, from %d: %d bytes of %d, %v", b.chunk, b.packet, off, len(got), len(want), err)
			}
			if !bytes.Equal(f.out.Bytes(), readBlock(off, size-off)) {
				t.Error("the request changed")
			}
			if end := delivered(t, got, b.data); end != size {
				t.Errorf("ends at %d", end)
			}
			if f.closed.Load() != 1 || counters.Open.Load() != 0 || counters.Failed.Load() != 0 || meter.Traffic().Reads != 1 {
				t.Errorf("after the regular end: closed %d times, %d open, %d failed", f.closed.Load(), counters.Open.Load(), counters.Failed.Load())
			}
			if first := off / int64(b.chunk) * int64(b.chunk); meter.Traffic().ReadBytes != size-first {
				t.Errorf("%d bytes counted of %d", meter.Traffic().ReadBytes, size-first)
			}
		}
	}
}

// TestCuts ends the stream at every position of its first units, and at many later ones, in three
// ways.
func TestCuts(t *testing.T) {
	for _, b := range blocks() {
		b.data = b.data[:min(len(b.data), 5*b.packet+123)]
		sent, ends := b.stream(700, int64(len(b.data)))
		var cuts []int
		for at := range len(sent) {
			if at < ends[0]+80 || at%9973 == 0 || slices.ContainsFunc(ends, func(e int) bool { return at >= e-2 && at <= e+6 || at == e+30 }) {
				cuts = append(cuts, at)
			}
		}
		for _, why := range []error{io.EOF, os.ErrDeadlineExceeded, errors.New("reset")} {
			for _, at := range cuts {
				f := &fake{in: bytes.NewReader(sent[:at]), err: why}
				c, counters := connect(t, Options{}, f, nil)
				got, err := ask(t, c, 700, int64(len(b.data))-700)
				checkCut(t, b, got, err, why, at, ends)
				if f.closed.Load() != 1 || counters.Open.Load() != 0 || counters.Failed.Load() != 1 {
					t.Fatalf("cut at %d: closed %d times, %d failed", at, f.closed.Load(), counters.Failed.Load())
				}
			}
		}
	}
}

// checkCut: whole units before the cut, and an error that says where it was.
func checkCut(t *testing.T, b block, got []byte, err, why error, at int, ends []int) {
	t.Helper()
	whole := 0
	if n := unitsBefore(ends, at); n > 0 {
		_, after := b.handed(700, int64(len(b.data)))
		whole = after[n-1]
	}
	if len(got) != whole {
		t.Fatalf("cut at %d: %d bytes were handed on, not %d", at, len(got), whole)
	}
	if errors.Is(why, io.EOF) {
		why = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) || !errors.Is(err, why) {
		t.Fatalf("cut at %d: %v", at, err)
	}
	end := delivered(t, got, b.data)
	var e *Error
	if !errors.As(err, &e) || e.Datanode != "dn:9866" || e.Block != testBlock || e.Offset != max(end, 700) {
		t.Fatalf("cut at %d, verified to %d: %+v", at, end, e)
	}
}

// TestFlips turns a bit at every byte of the stream. Nothing wrong is handed on; what is handed on
// whole was not hurt where it counts.
func TestFlips(t *testing.T) {
	for _, b := range []block{{testData(1100), sumCRC32C, 512, 1024}, {testData(800), sumCRC32, 300, 600}} {
		size := int64(len(b.data))
		sent, ends := b.stream(400, size)
		want, after := b.handed(400, size)
		caught := 0
		for at := range sent {
			for bit := range 8 {
				hurt := slices.Clone(sent)
				hurt[at] ^= 1 << bit
				c, _ := connect(t, Options{}, &fake{in: bytes.NewReader(hurt)}, nil)
				got, err := ask(t, c, 400, size-400)
				if n := unitsBefore(ends, at); n > 0 && !bytes.HasPrefix(got, want[:after[n-1]]) {
					t.Fatalf("flip at %d: a unit before it changed", at)
				}
				end := delivered(t, got, b.data)
				if err == nil && end != size {
					t.Fatalf("flip at %d, bit %d: the regular end at %d of %d", at, bit, end, size)
				}
				if err != nil {
					caught++
				}
			}
		}
		if caught < len(sent)*8*9/10 {
			t.Errorf("%d of %d flips were caught", caught, len(sent)*8)
		}
		t.Logf("%d of %d flips were caught, the others hurt nothing", caught, len(sent)*8)
	}
}

func TestRejects(t *testing.T) {
	b := block{testData(3000), sumCRC32C, 512, 1024}
	good, _ := b.stream(600, 3000)
	sent := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	head := response(sumCRC32C, 512, 512)
	refused := appendText(appendNumber(nil, 1, 5), 5, "token expired")
	for _, c := range []struct {
		name string
		sent []byte
		want error
	}{
		{"good", good, nil},
		{"starts behind the asked byte", sent(response(sumCRC32C, 512, 1024), b.packetOf(0, 1024, b.data[1024:1536])), ErrProtocol},
		{"starts a chunk too early", sent(response(sumCRC32C, 512, 0), b.packetOf(0, 0, b.data[:1024])), ErrProtocol},
		{"chunks of nothing", response(sumCRC32C, 0, 512), ErrProtocol},
		{"unknown checksums", response(3, 512, 512), ErrProtocol},
		{"no checksums", response(sumNull, 512, 512), ErrNull},
		{"no checksum info", []byte{2, 8, 0}, ErrProtocol},
		{"no status", []byte{0}, ErrProtocol},
		{"response without end", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, ErrProtocol},
		{"huge response", []byte{0xff, 0xff, 0xff, 0x7f}, ErrProtocol},
		{"refusal", append([]byte{byte(len(refused))}, refused...), ErrRefused},
		{"second packet first", sent(head, b.packetOf(1, 512, b.data[512:1024])), ErrProtocol},
		{"packet of another place", sent(head, b.packetOf(0, 1024, b.data[1024:2048])), ErrProtocol},
		{"packet twice", sent(head, b.packetOf(0, 512, b.data[512:1024]), b.packetOf(0, 512, b.data[512:1024])), ErrProtocol},
		{"gap", sent(head, b.packetOf(0, 512, b.data[512:1024]), b.packetOf(1, 1536, b.data[1536:2048])), ErrProtocol},
		{"ends early", sent(head, b.packetOf(0, 512, b.data[512:1024]), b.packetOf(1, 1024, nil)), ErrShort},
		{"huge packet", sent(head, []byte{0x7f, 0, 0, 0, 0, 0}), ErrProtocol},
		{"tiny packet", sent(head, []byte{0, 0, 0, 3, 0, 0}), ErrProtocol},
		{"header of nonsense", sent(head, []byte{0, 0, 0, 4, 0, 2, 0xff, 0xff}), ErrProtocol},
		{"other checksums", sent(head, block{b.data, sumCRC32, 512, 1024}.packetOf(0, 512, b.data[512:1024])), ErrChecksum},
		{"checksums left out", sent(head, block{b.data, sumNull, 512, 1024}.packetOf(0, 512, b.data[512:1024])), ErrProtocol},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, _ := connect(t, Options{}, &fake{in: bytes.NewReader(c.sent)}, nil)
			got, err := ask(t, conn, 600, 2400)
			if !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			delivered(t, got, b.data)
			if _, again := conn.Read(make([]byte, 1)); c.want != nil && !errors.Is(again, c.want) {
				t.Errorf("the next read says %v", again)
			}
		})
	}
	conn, _ := connect(t, Options{}, &fake{in: bytes.NewReader(append([]byte{byte(len(refused))}, refused...))}, nil)
	_, err := ask(t, conn, 600, 2400)
	const want = `datanode dn:9866: block 1073741825 at byte 600: the datanode refused: status 5: "token expired"`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestWanted(t *testing.T) {
	b := block{testData(100_000), sumCRC32C, 512, 64 << 10}
	for _, c := range []struct{ wanted, end int64 }{{1, 701}, {1000, 1700}, {99_299, 99_999}, {99_300, 100_000}, {1 << 40, 100_000}, {0, 100_000}, {-1, 100_000}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			sent, _ := b.stream(700, c.end)
			f := &fake{in: bytes.NewReader(sent)}
			conn, _ := connect(t, Options{}, f, func() int64 { return c.wanted })
			got, err := ask(t, conn, 700, 99_300)
			if want, _ := b.handed(700, c.end); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("wanted %d: %v", c.wanted, err)
			}
			_, asked, err := parseRequest(f.out.Bytes(), nil)
			if err != nil || asked != (request{testBlock, 700, c.end}) {
				t.Errorf("wanted %d: asked for %+v, %v", c.wanted, asked, err)
			}
			if c.wanted <= 0 && !bytes.Equal(f.out.Bytes(), readBlock(700, 99_300)) {
				t.Errorf("wanted %d: the request changed", c.wanted)
			}
		})
	}
	short, _ := b.stream(700, 1000) // what is wanted must be sent
	conn, _ := connect(t, Options{}, &fake{in: bytes.NewReader(short)}, func() int64 { return 1000 })
	if _, err := ask(t, conn, 700, 99_300); !errors.Is(err, ErrShort) {
		t.Errorf("a stream that ends before what is wanted: %v", err)
	}
}

func TestHandshake(t *testing.T) {
	b := block{testData(3000), sumCRC32C, 512, 1024}
	sent, _ := b.stream(0, 3000)
	want, _ := b.handed(0, 3000)
	for _, hurt := range []bool{false, true} {
		stream := append([]byte("challengeagreed"), sent...)
		if hurt {
			stream[len(stream)-100]++
		}
		c, _ := connect(t, Options{}, &fake{in: bytes.NewReader(stream)}, nil)
		for _, step := range []struct{ write, read string }{{"\xde\xad\xbe\xefhello", "challenge"}, {"\x00\x1c\x51 answers may look like anything", "agreed"}} {
			answer := make([]byte, len(step.read))
			if _, err := c.Write([]byte(step.write)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, answer); err != nil || string(answer) != step.read {
				t.Fatalf("%q, %v", answer, err)
			}
		}
		got, err := ask(t, c, 0, 3000)
		if hurt != errors.Is(err, ErrChecksum) || !hurt && !bytes.Equal(got, want) {
			t.Errorf("after the handshake, hurt %v: %d bytes, %v", hurt, len(got), err)
		}
		delivered(t, got, b.data)
	}
}

func TestOpaque(t *testing.T) {
	for _, first := range []string{"\x00\x00\x00\x10encrypted", "\x00", "", "\x00\x1c", "\x00\x1d\x51", "\x00\x1c\x55 another operation"} {
		for _, allow := range []bool{false, true} {
			f := &fake{in: bytes.NewReader([]byte("secret"))}
			c, counters := connect(t, Options{AllowOpaque: allow}, f, nil)
			_, err := c.Write([]byte(first))
			if counters.Opaque.Load() != 1 {
				t.Errorf("%q: not counted", first)
			}
			if !allow {
				if !errors.Is(err, ErrOpaque) || f.out.Len() != 0 || f.closed.Load() != 1 {
					t.Errorf("%q: %v, %d bytes sent", first, err, f.out.Len())
				}
				continue
			}
			got := make([]byte, 6)
			if _, e := io.ReadFull(c, got); err != nil || e != nil || string(got) != "secret" || f.out.String() != first {
				t.Errorf("%q allowed: %q, %v, %v", first, got, err, e)
			}
			if _, err := c.Write([]byte("more")); err != nil {
				t.Error(err)
			}
		}
	}
	for _, bad := range []string{"\x00\x1c\x51", "\x00\x1c\x51\x05abc", "\x00\x1c\x51\x00trailing", "\x00\x1c\x51\x02\x10\x01"} {
		c, _ := connect(t, Options{AllowOpaque: true}, &fake{}, nil)
		if _, err := c.Write([]byte(bad)); !errors.Is(err, ErrProtocol) {
			t.Errorf("request %q: %v", bad, err)
		}
	}
}

// loop is a reader of the same packets for ever, of which only offsets and numbers change.
func loop(b block, packets int) []byte {
	sent := response(b.kind, b.chunk, 0)
	for i := range packets {
		off := int64(i * b.packet)
		sent = append(sent, b.packetOf(int64(i), off, b.data[off:off+int64(b.packet)])...)
	}
	return sent
}

func TestNoAllocationsPerPacket(t *testing.T) {
	b := block{testData(16 << 20), sumCRC32C, 512, 64 << 10}
	sent := loop(b, 256)
	buf := make([]byte, 1<<20)
	f := &fake{in: bytes.NewReader(sent)}
	c, _ := connect(t, Options{}, f, nil)
	if _, err := c.Write(readBlock(0, 16<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, buf); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.Read(buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	c.Close()
}

func BenchmarkConn(b *testing.B) {
	for _, packet := range []int{4 << 10, 64 << 10} {
		b.Run(fmt.Sprint(packet), func(b *testing.B) {
			bl := block{testData(16 << 20), sumCRC32C, 512, packet}
			sent := loop(bl, len(bl.data)/packet)
			handed := len(loop(block{bl.data, sumNull, bl.chunk, packet}, len(bl.data)/packet))
			buf := make([]byte, 1<<20)
			b.SetBytes(int64(len(bl.data)))
			b.ReportAllocs()
			for b.Loop() {
				c, _ := connect(b, Options{}, &fake{in: bytes.NewReader(sent)}, nil)
				if _, err := c.Write(readBlock(0, 16<<20)); err != nil {
					b.Fatal(err)
				}
				for n := 0; n < handed; {
					k, err := c.Read(buf)
					if err != nil {
						b.Fatal(err)
					}
					n += k
				}
				c.Close()
			}
		})
	}
}

// FuzzStream: whatever a datanode sends, what is handed on is whole packets that follow each other
// and whose checksums are right.
func FuzzStream(f *testing.F) {
	b := block{testData(3000), sumCRC32C, 512, 1024}
	sent, _ := b.stream(600, 3000)
	f.Add(sent, int64(600), int64(2400))
	f.Add(response(sumCRC32, 1, 0), int64(0), int64(1))
	f.Fuzz(func(t *testing.T, sent []byte, off, length int64) {
		if off < 0 || length < 0 || off+length < off {
			t.Skip()
		}
		c, _ := connect(t, Options{}, &fake{in: bytes.NewReader(sent)}, nil)
		got, err := ask(t, c, off, length)
		if len(got) == 0 {
			return
		}
		if !bytes.HasPrefix(plain(t, sent, got, off), got) {
			t.Fatal("other bytes than were sent")
		}
		if err == nil && len(got) < 10 {
			t.Fatal("a regular end without a last packet")
		}
	})
}

// plain sums the bytes sent, as far as they were handed on, by a second, simple implementation, and
// returns the bytes that they must be.
func plain(t *testing.T, sent, got []byte, off int64) (want []byte) {
	first, sums, n := int64(0), checksums{}, 0
	for n = 1; n <= len(sent); n++ { // the response is the shortest prefix that parses
		m, k := consume(sent[:n])
		if k == n {
			var err error
			if first, sums, err = parseResponse(m, off); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	want = response(sumNull, sums.chunk, first)
	for rest := sent[n:]; len(want) < len(got); {
		head := packetPrefix + int(rest[4])<<8 + int(rest[5])
		size := head + int(uint32(rest[0])<<24|uint32(rest[1])<<16|uint32(rest[2])<<8|uint32(rest[3])) - 4
		h, err := parsePacketHeader(rest[packetPrefix:head])
		if err != nil || h.off != first {
			t.Fatalf("%+v, %v", h, err)
		}
		data := rest[size-h.data : size]
		if want := (block{kind: kindOf(sums), chunk: sums.chunk}).sums(data); !bytes.Equal(want, rest[head:size-h.data]) {
			t.Fatal("data with other checksums was handed on")
		}
		want = binary.BigEndian.AppendUint32(want, uint32(4+h.data))
		want = slices.Concat(want, rest[4:head], data)
		first += int64(h.data)
		rest = rest[size:]
	}
	return want
}

// TestRandomRequests: whatever range of whatever block is asked for, its bytes arrive.
func TestRandomRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := testData(200_000)
	for range 300 {
		chunk := 1 + r.IntN(3000)
		b := block{data[:1+r.IntN(len(data))], sumCRC32 + r.IntN(2), chunk, chunk * (1 + r.IntN(200))}
		off := r.Int64N(int64(len(b.data)))
		end := off + 1 + r.Int64N(int64(len(b.data))-off)
		sent, _ := b.stream(off, end)
		c, _ := connect(t, Options{}, &fake{in: bytes.NewReader(sent)}, nil)
		got, err := ask(t, c, off, end-off)
		if err != nil || delivered(t, got, b.data) < end {
			t.Fatalf("chunk %d, packet %d, [%d, %d) of %d: %v", chunk, b.packet, off, end, len(b.data), err)
		}
	}
}
