package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// datanode answers requests, several to a connection, until a client says nothing more.
type datanode struct {
	addr     string
	block    block
	accepted atomic.Int64
	statuses atomic.Int64 // answers that the client called good
	once     bool         // it closes a connection after one answer
	more     string       // it sends after the last packet
}

func startDatanode(t *testing.T, d *datanode) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			d.accepted.Add(1)
			d.serve(nc)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

func (d *datanode) serve(nc net.Conn) {
	defer nc.Close()
	buf := make([]byte, 1000)
	for {
		n, err := nc.Read(buf)
		if err != nil {
			return
		}
		if string(buf[:n]) == statusOK {
			if d.statuses.Add(1); d.once {
				return
			}
			continue
		}
		b := bytes.TrimPrefix(buf[:n], []byte(statusOK)) // both can arrive at once
		if len(b) < n {
			d.statuses.Add(1)
		}
		_, asked, err := parseRequest(b, nil)
		if err != nil {
			return
		}
		sent, _ := d.block.stream(asked.off, asked.end)
		if _, err := nc.Write(append(sent, d.more...)); err != nil {
			return
		}
	}
}

// readUpTo reads a range as a client does, which leaves the last packet when it has what it asked
// for.
func readUpTo(t *testing.T, d *Dialer, dn *datanode, off, length int64) {
	t.Helper()
	defer d.Use(t.Context(), nil)()
	c, err := d.DialContext(context.Background(), "tcp", dn.addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(readBlock(off, length)); err != nil {
		t.Fatal(err)
	}
	all, _ := dn.block.handed(off, off+length)
	last := dn.block.packetOf(0, 0, nil)
	want := all[:len(all)-len(last)]
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes from %d: %v", length, off, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(got); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read after Close: %v", err)
	}
	if _, err := c.Write(got); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	for _, c := range []struct {
		name     string
		datanode *datanode
		peers    bool
		pause    time.Duration
		accepted int64
		statuses int64
	}{
		{name: "kept", datanode: &datanode{}, peers: true, accepted: 1, statuses: 3},
		{name: "nobody keeps them", datanode: &datanode{}, accepted: 3},
		{name: "the datanode closes them", datanode: &datanode{once: true}, peers: true, pause: 50 * time.Millisecond, accepted: 3, statuses: 3},
		{name: "bytes behind the last packet", datanode: &datanode{more: "x"}, peers: true, accepted: 3},
		{name: "too old", datanode: &datanode{}, peers: true, pause: peerAge + 200*time.Millisecond, accepted: 3, statuses: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dn := c.datanode
			dn.block = block{testData(300_123), sumCRC32C, 512, 64 << 10}
			startDatanode(t, dn)
			o := Options{Counters: new(Counters)}
			if c.peers {
				o.Peers = new(Peers)
				defer o.Peers.Close()
			}
			for i := range 3 { // each by another client
				readUpTo(t, NewDialer(o), dn, int64(i)*1000, 200_000)
				time.Sleep(c.pause)
			}
			if o.Peers != nil {
				o.Peers.Close() // so that the datanode sees all
			}
			for end := time.Now().Add(time.Minute); dn.statuses.Load() != c.statuses && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if dn.accepted.Load() != c.accepted || dn.statuses.Load() != c.statuses || o.Counters.Reused.Load() != 3-c.accepted {
				t.Errorf("%d connections, %d good answers, %d used again", dn.accepted.Load(), dn.statuses.Load(), o.Counters.Reused.Load())
			}
			if o.Counters.Open.Load() != 0 || o.Counters.Failed.Load() != 0 {
				t.Errorf("%d open, %d failed", o.Counters.Open.Load(), o.Counters.Failed.Load())
			}
		})
	}
}

// TestConnectionsThatAreNotKept end in the middle of an answer, after a handshake, or with an
// error.
func TestConnectionsThatAreNotKept(t *testing.T) {
	b := block{testData(100_000), sumCRC32C, 512, 4096}
	sent, ends := b.stream(0, 100_000)
	hurt := bytes.Clone(sent)
	hurt[len(hurt)-100]++
	for _, c := range []struct {
		name      string
		handshake string
		sent      []byte
		read      int
	}{
		{"in the middle", "", sent, 50_000},
		{"an error", "", hurt, len(sent)},
		{"the last packet does not come", "", sent[:ends[len(ends)-2]], 100_000},
		{"after a handshake", "agreed", sent, 100_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, server := pipe(t)
			peers := new(Peers)
			defer peers.Close()
			conn, counters := connect(t, Options{Peers: peers}, client, nil)
			go func() { _, _ = server.Write(append([]byte(c.handshake), c.sent...)) }()
			if c.handshake != "" {
				_, err := conn.Write([]byte("\xde\xad\xbe\xefhello"))
				_, err2 := io.ReadFull(conn, make([]byte, 3))
				_, err3 := conn.Write([]byte("answer"))
				_, err4 := io.ReadFull(conn, make([]byte, 3))
				if err := errors.Join(err, err2, err3, err4); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := conn.Write(readBlock(0, 100_000)); err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadFull(conn, make([]byte, c.read))
			conn.Close()
			if len(peers.kept) != 0 || counters.Open.Load() != 0 {
				t.Errorf("%d kept, %d open", len(peers.kept), counters.Open.Load())
			}
		})
	}
}

// TestPeersAreFew: the oldest goes when there are too many, and all go at the end.
func TestPeersAreFew(t *testing.T) {
	peers := new(Peers)
	var servers []net.Conn
	ended := func(nc net.Conn) bool {
		_ = nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := nc.Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	for range maxPeers + 1 {
		client, server := pipe(t)
		peers.put("dn:1", client)
		servers = append(servers, server)
	}
	if !ended(servers[0]) || ended(servers[1]) || len(peers.kept) != maxPeers {
		t.Errorf("%d are kept", len(peers.kept))
	}
	if peers.take("dn:2") != nil {
		t.Error("a connection to another datanode")
	}
	peers.Close()
	for i, s := range servers {
		if !ended(s) {
			t.Errorf("connection %d is open", i)
		}
	}
	client, server := pipe(t)
	if peers.put("dn:1", client); !ended(server) || peers.take("dn:1") != nil {
		t.Error("a connection was kept after Close")
	}
}
