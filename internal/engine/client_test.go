package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// A testClient is a trainer that knows of the engine what the package's page says, and nothing
// else.
type testClient struct {
	conn  *net.UnixConn
	in    bytes.Buffer
	files []int // descriptors that came and that no RING has taken yet
	rings map[uint32]*clientRing
	order []uint32 // generations in the order of their RINGs
	held  map[uint64]*clientBatch
}

// A clientRing is a generation of the engine's ring.
type clientRing struct {
	slots, slotSize, words int
	memory                 []byte
}

// A clientBatch is a batch in its slot.
type clientBatch struct {
	wire.Announcement
	slotBytes []byte
	head      clientHead
	nodes     [][8]int64
}

type clientHead struct {
	Magic, Nodes            uint32
	Seq                     uint64
	Rows, Valid             uint32
	Epoch, Step, Position   int64
	NextEpoch, NextPosition int64
	_                       [0]byte
}

func dial(t testing.TB, path string) *testClient {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	c := &testClient{conn: conn, rings: map[uint32]*clientRing{}, held: map[uint64]*clientBatch{}}
	t.Cleanup(c.close)
	return c
}

// close is the end of the trainer; nothing of it is left.
func (c *testClient) close() {
	_ = c.conn.Close()
	for _, r := range c.rings {
		_ = unix.Munmap(r.memory)
	}
	c.rings = nil
	for _, fd := range c.files {
		_ = unix.Close(fd)
	}
	c.files = nil
}

func (c *testClient) send(kind wire.FrameKind, v any) error {
	frame, err := wire.AppendMessage(nil, kind, v)
	if err != nil {
		return err
	}
	_, err = c.conn.Write(frame)
	return err
}

// release releases a batch, and says so where the engine wants to hear of it.
func (c *testClient) release(b *clientBatch) error {
	if wanted := c.releaseQuietly(b); !wanted {
		return nil
	}
	_, err := c.conn.Write(wire.AppendFrame(nil, wire.FrameRelease, 0))
	return err
}

// releaseQuietly releases a batch, and reports whether the engine wants to hear of it.
func (c *testClient) releaseQuietly(b *clientBatch) (wanted bool) {
	delete(c.held, b.Seq)
	r := c.rings[b.Generation]
	r.word(128 + 8*int(b.Slot)).Store(b.Seq)
	return r.word(0).Load() != 0
}

func (r *clientRing) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&r.memory[r.words+at : r.words+at+8][0]))
}

// releaseAll releases every batch that came.
func (c *testClient) releaseAll(t testing.TB) {
	t.Helper()
	for _, b := range c.held {
		if err := c.release(b); err != nil {
			t.Fatal(err)
		}
	}
}

// fill reads until n bytes are there.
func (c *testClient) fill(n int) error {
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*8))
	for c.in.Len() < n {
		_ = c.conn.SetReadDeadline(time.Now().Add(patience))
		k, o, _, _, err := c.conn.ReadMsgUnix(buf, oob)
		if err == nil && k == 0 {
			err = io.EOF
		}
		if err != nil {
			return err
		}
		c.in.Write(buf[:k])
		messages, err := unix.ParseSocketControlMessage(oob[:o])
		if err != nil {
			return err
		}
		for _, m := range messages {
			fds, err := unix.ParseUnixRights(&m)
			if err != nil {
				return err
			}
			c.files = append(c.files, fds...)
		}
	}
	return nil
}

// next returns the next frame but RINGs, which it maps.
func (c *testClient) next() (wire.FrameKind, []byte, error) {
	for {
		if err := c.fill(wire.FrameHeader); err != nil {
			return 0, nil, err
		}
		head := c.in.Next(wire.FrameHeader)
		kind, size := wire.FrameKind(binary.LittleEndian.Uint16(head[4:])), int(binary.LittleEndian.Uint32(head))
		if err := c.fill(size); err != nil {
			return 0, nil, err
		}
		payload := bytes.Clone(c.in.Next(size))
		if kind != wire.FrameRing {
			return kind, payload, nil
		}
		if err := c.mapRing(payload); err != nil {
			return 0, nil, err
		}
	}
}

func (c *testClient) mapRing(payload []byte) error {
	if len(c.files) == 0 {
		return errors.New("RING without a descriptor")
	}
	fd := c.files[0]
	c.files = c.files[1:]
	defer func() { _ = unix.Close(fd) }()
	number := binary.LittleEndian.Uint32(payload)
	r := &clientRing{
		slots: int(binary.LittleEndian.Uint32(payload[4:])), slotSize: int(binary.LittleEndian.Uint64(payload[8:])),
		words: int(binary.LittleEndian.Uint64(payload[16:])),
	}
	var err error
	if r.memory, err = unix.Mmap(fd, 0, r.words+128+8*r.slots, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	c.rings[number] = r
	c.order = append(c.order, number)
	return nil
}

// ask reads frames until one of the kind, which it decodes; an ERROR is returned as one.
func (c *testClient) ask(kind wire.FrameKind, v any) error {
	for {
		got, payload, err := c.next()
		if err != nil {
			return err
		}
		switch got {
		case kind:
			return json.Unmarshal(payload, v)
		case wire.FrameError:
			f := &wire.Failure{}
			return errors.Join(json.Unmarshal(payload, f), f)
		case wire.FrameProgress, wire.FrameNote:
		default:
			return fmt.Errorf("%v where %v was to come", got, kind)
		}
	}
}

// open says HELLO and OPEN.
func (c *testClient) open(o wire.Open) (opened wire.Opened, err error) {
	if err := c.send(wire.FrameHello, wire.Hello{Version: wire.Version, Build: "test", Job: "test", PID: os.Getpid(), LocalWorldSize: 1}); err != nil {
		return opened, err
	}
	var w wire.Welcome
	if err := c.ask(wire.FrameWelcome, &w); err != nil {
		return opened, err
	}
	if err := c.send(wire.FrameOpen, o); err != nil {
		return opened, err
	}
	return opened, c.ask(wire.FrameOpened, &opened)
}

func (c *testClient) join(j wire.Join) (joined wire.Joined, err error) {
	if err := c.send(wire.FrameJoin, j); err != nil {
		return joined, err
	}
	return joined, c.ask(wire.FrameJoined, &joined)
}

// batch returns the next batch, or nil and the END.
func (c *testClient) batch() (*clientBatch, *wire.End, error) {
	for {
		kind, payload, err := c.next()
		if err != nil {
			return nil, nil, err
		}
		switch kind {
		case wire.FrameBatch:
			b, err := c.parse(payload)
			if err == nil {
				c.held[b.Seq] = b
			}
			return b, nil, err
		case wire.FrameEnd:
			e := &wire.End{}
			return nil, e, json.Unmarshal(payload, e)
		case wire.FrameError:
			f := &wire.Failure{}
			return nil, nil, errors.Join(json.Unmarshal(payload, f), f)
		case wire.FrameProgress, wire.FrameNote:
		default:
			return nil, nil, fmt.Errorf("%v in an iteration", kind)
		}
	}
}

// parse checks a slot against the page.
func (c *testClient) parse(payload []byte) (*clientBatch, error) {
	b := &clientBatch{}
	le := binary.LittleEndian
	b.Generation, b.Slot, b.Seq = le.Uint32(payload), le.Uint32(payload[4:]), le.Uint64(payload[8:])
	b.Offset, b.Used = le.Uint64(payload[16:]), le.Uint64(payload[24:])
	r := c.rings[b.Generation]
	switch {
	case r == nil:
		return nil, fmt.Errorf("BATCH of generation %d, which did not come", b.Generation)
	case int(b.Slot) >= r.slots || int(b.Used) > r.slotSize || b.Offset+headSize > b.Used || b.Offset%256 != 0:
		return nil, fmt.Errorf("BATCH %+v in a ring of %d slots of %d", b.Announcement, r.slots, r.slotSize)
	}
	at := int(b.Slot) * r.slotSize
	b.slotBytes = r.memory[at : at+int(b.Used)]
	if err := binary.Read(bytes.NewReader(b.slotBytes[b.Offset:]), le, &b.head); err != nil {
		return nil, err
	}
	if b.head.Magic != 0x31424653 || b.head.Seq != b.Seq || int(b.Offset)+headSize+int(b.head.Nodes)*64 > int(b.Used) {
		return nil, fmt.Errorf("header %+v", b.head)
	}
	b.nodes = make([][8]int64, b.head.Nodes)
	return b, binary.Read(bytes.NewReader(b.slotBytes[b.Offset+headSize:]), le, b.nodes)
}

// rows are the batch's values as text, column by column, read by the schema that the engine told.
func (b *clientBatch) columns(schema []wire.Node) (columns [][]string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a descriptor points outside of the slot: %v", v)
		}
	}()
	rest := b.nodes
	for _, n := range schema {
		var values []string
		if values, rest, err = b.column(n, rest); err != nil {
			return nil, fmt.Errorf("column %q: %w", n.Name, err)
		}
		if len(values) != int(b.head.Rows) {
			return nil, fmt.Errorf("column %q has %d values, not %d", n.Name, len(values), b.head.Rows)
		}
		columns = append(columns, values)
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%d descriptors are left over", len(rest))
	}
	return columns, nil
}

func (b *clientBatch) bytes(offset, n int64) []byte {
	if n == 0 {
		return nil
	}
	if offset == 0 || offset%256 != 0 || offset+n > int64(b.Offset) {
		panic(fmt.Sprintf("%d bytes at %d", n, offset))
	}
	return b.slotBytes[offset : offset+n]
}

// column is one node and those below it, as text, and the descriptors that follow.
func (b *clientBatch) column(n wire.Node, nodes [][8]int64) (values []string, rest [][8]int64, err error) {
	d, rest := nodes[0], nodes[1:]
	length, nulls := int(d[0]), int(d[1])
	values = make([]string, length)
	ends := b.ends(n, d)
	switch n.Kind {
	case "fixed":
		if d[5] != d[0]*int64(n.Width) {
			return nil, nil, fmt.Errorf("%d bytes of %d values of %d", d[5], length, n.Width)
		}
		data := b.bytes(d[4], d[5])
		for i := range values {
			values[i] = fmt.Sprintf("%x", data[i*n.Width:(i+1)*n.Width])
		}
	case "binary":
		data := b.bytes(d[4], d[5])
		for i := range values {
			values[i] = bytesAsText(data[ends[i]:ends[i+1]])
		}
	case "list", "map":
		var items []string
		if items, rest, err = b.column(n.Children[0], rest); err != nil {
			return nil, nil, err
		}
		if len(items) != ends[length] {
			return nil, nil, fmt.Errorf("%d items, the lists end at %d", len(items), ends[length])
		}
		for i := range values {
			values[i] = fmt.Sprint(items[ends[i]:ends[i+1]])
		}
	case "struct":
		for _, child := range n.Children {
			var members []string
			if members, rest, err = b.column(child, rest); err != nil {
				return nil, nil, err
			}
			for i := range values {
				values[i] += child.Name + ":" + members[i] + ";"
			}
		}
	case "null":
		nulls = 0
		for i := range values {
			values[i] = "null"
		}
	}
	return values, rest, b.hide(values, d[2], nulls)
}

// bytesAsText names long values by their sum.
func bytesAsText(b []byte) string {
	if len(b) > 100 {
		return fmt.Sprint(len(b), " bytes ", crc32.ChecksumIEEE(b))
	}
	return fmt.Sprintf("%q", b)
}

// ends is where the values of a node with offsets, or of a list of a declared size, begin and end.
func (b *clientBatch) ends(n wire.Node, d [8]int64) []int {
	ends := make([]int, d[0]+1)
	if d[6] > 0 {
		for i := range ends {
			ends[i] = i * int(d[6])
		}
		return ends
	}
	if n.Kind == "binary" || n.Kind == "list" || n.Kind == "map" {
		offsets := b.bytes(d[3], 4*(d[0]+1))
		for i := range ends {
			ends[i] = int(int32(binary.LittleEndian.Uint32(offsets[4*i:])))
		}
	}
	return ends
}

// hide sets the values that are null.
func (b *clientBatch) hide(values []string, validity int64, nulls int) error {
	if validity == 0 {
		if nulls != 0 {
			return fmt.Errorf("%d nulls and no validity", nulls)
		}
		return nil
	}
	bits := b.bytes(validity, int64(len(values)+7)/8)
	for i := range values {
		if bits[i/8]>>(i%8)&1 == 0 {
			values[i] = "null"
			nulls--
		}
	}
	if nulls != 0 {
		return fmt.Errorf("the validity differs from the count by %d", nulls)
	}
	return nil
}

// testLimits are those of an engine.
func testLimits() wire.Limits {
	return wire.Limits{Timeout: defaultFrameTimeout, Capacity: semaphore.NewWeighted(maxUnfinished)}
}
