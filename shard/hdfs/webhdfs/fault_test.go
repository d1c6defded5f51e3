package webhdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// gateways put a proxy before each datanode as soon as a store is sent there. Which of a block's
// datanodes a namenode names is its random choice: one that is named for the first time after set
// is hurt like the others.
type gateways struct {
	t      *testing.T
	mu     sync.Mutex
	all    map[string]*servertest.Proxy
	faults servertest.Faults
}

func newGateways(t *testing.T) *gateways {
	return &gateways{t: t, all: make(map[string]*servertest.Proxy)}
}

// host is for Options.DatanodeHost.
func (g *gateways) host(node string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.all[node]
	if p == nil {
		p = servertest.NewProxy(g.t, node)
		p.Set(g.faults)
		g.all[node] = p
	}
	return p.Addr
}

// set ends all connections and hurts those to come.
func (g *gateways) set(f servertest.Faults) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = f
	for _, p := range g.all {
		p.Set(f)
		p.CutAll(true)
	}
}

func (g *gateways) struck() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.all {
		n += p.Struck()
	}
	return n
}

// TestServerBodies hurts the bodies of the datanodes: each read gives the right bytes, and says how
// often it had to go on.
func TestServerBodies(t *testing.T) {
	all := content(4 << 20)
	for _, c := range []struct {
		name   string
		faults servertest.Faults
	}{
		{"cut", servertest.Faults{CutAfter: 300_000, Times: 6}},
		{"reset", servertest.Faults{CutAfter: 300_000, Times: 6, Reset: true}},
		{"reset in the head", servertest.Faults{CutAfter: 20, Times: 3, Reset: true}},
		{"stall", servertest.Faults{StallAfter: 300_000, Times: 2}},
		{"mute at once", servertest.Faults{StallAfter: 1, Times: 2}},
		{"refused", servertest.Faults{Refuse: true, Times: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateways(t)
			f := newFixture(t, Options{DatanodeHost: g.host, ReadTimeout: 500 * time.Millisecond})
			f.Write(t, "a", all)
			o := open(t, f.store, f.Address("a"))
			expect(t, o, all, 0, 10) // unhurt, so that a connection may be left for the next read
			g.set(c.faults)
			before, start := g.struck(), time.Now()
			for range 4 {
				expect(t, o, all, 1000, len(all)-2000)
			}
			if n := g.struck() - before; n == 0 || f.store.Traffic().Retries == 0 {
				t.Errorf("%d faults, %+v", n, f.store.Traffic())
			}
			if took := time.Since(start); took > defaultReadTimeout {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestServerBodiesForGood: bodies that never come whole end with an error, when the time for tries
// is over.
func TestServerBodiesForGood(t *testing.T) {
	g := newGateways(t)
	f := newFixture(t, Options{DatanodeHost: g.host, ReadTimeout: 300 * time.Millisecond, RetryFor: 2 * time.Second})
	f.Write(t, "a", content(100_000))
	o := open(t, f.store, f.Address("a"))
	expect(t, o, content(100_000), 0, 10)
	g.set(servertest.Faults{Mute: true})
	start := time.Now()
	err := o.ReadAt(t.Context(), make([]byte, 1000), 0)
	if !errors.Is(err, shard.ErrTransient) || !strings.Contains(err.Error(), driver.ErrStalled.Error()) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > defaultReadTimeout {
		t.Errorf("it took %v", took)
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if err := o.ReadAt(ctx, make([]byte, 1000), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestServerDatanodeDown: a dead datanode, of which the namenode does not know yet, is gone around.
func TestServerDatanodeDown(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	s := newStore(t, Options{})
	all := content(3 << 20)
	path := c.Dir(t) + "/a"
	c.Put(t, path, all)
	o := open(t, s, "webhdfs://"+c.HTTP[0]+path)
	expect(t, o, all, 0, len(all))
	for _, node := range c.Blocks(t, path)[0].Nodes {
		c.KillDatanode(t, node)
		before := s.Traffic().Failovers
		for reads := 0; reads < 5 || s.Traffic().Failovers == before; reads++ { // the namenode names either at random
			if reads == 60 {
				t.Fatalf("datanode %d was never asked: %+v", node, s.Traffic())
			}
			expect(t, o, all, 0, len(all))
		}
		c.StartDatanode(t, node)
	}
}

// TestServerDatanodeAvoided: a datanode that failed is not asked again for the same bytes, though
// the namenode thinks well of it.
func TestServerDatanodeAvoided(t *testing.T) {
	nobody := servertest.NewProxy(t, "127.0.0.1:1")
	nobody.Down()
	var mu sync.Mutex
	bad := ""
	host := func(node string) string {
		mu.Lock()
		defer mu.Unlock()
		if bad == "" {
			bad = node
		}
		if node == bad {
			return nobody.Addr
		}
		return node
	}
	f := newFixture(t, Options{DatanodeHost: host})
	all := content(2000)
	f.Write(t, "a", all)
	o := open(t, f.store, f.Address("a"))
	for range 25 {
		before := f.store.Traffic().Retries
		expect(t, o, all, 0, len(all))
		if n := f.store.Traffic().Retries - before; n > 1 {
			t.Fatalf("%d requests were made again for one read", n)
		}
	}
	if f.store.Traffic().Failovers == 0 {
		t.Errorf("%+v", f.store.Traffic())
	}
}

// TestServerCorrupt: replicas with flipped bits are gone around by the datanode; when all are bad
// the error comes soon enough.
func TestServerCorrupt(t *testing.T) {
	f := newFixture(t, Options{RetryFor: 2 * time.Second})
	all := content(1 << 20)
	f.Write(t, "a", all)
	b := f.cluster.Blocks(t, f.dir+"/a")[0]
	f.cluster.FlipBlock(t, b.Nodes[0], b.Name, 500_000)
	o := open(t, f.store, f.Address("a"))
	for range 4 {
		expect(t, o, all, 0, len(all))
	}
	f.Write(t, "b", all)
	b = f.cluster.Blocks(t, f.dir+"/b")[0]
	for _, node := range b.Nodes {
		f.cluster.FlipBlock(t, node, b.Name, 500_000)
	}
	o = open(t, f.store, f.Address("b"))
	if err := o.ReadAt(t.Context(), make([]byte, len(all)), 0); err == nil || !strings.Contains(err.Error(), "fsck") {
		t.Errorf("read a corrupt block: %v", err)
	}
}

// TestServerReplaced replaces and moves files while they are read: bytes of one version, or an
// error that tells both.
func TestServerReplaced(t *testing.T) {
	f := newFixture(t, Options{})
	one, two := content(2<<20), bytes.Repeat([]byte{1}, 2<<20)
	for range 5 {
		f.Write(t, "a", one)
		o := open(t, f.store, f.Address("a"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.Write(t, "a", two)
		}()
		for {
			p := make([]byte, len(one))
			err := o.ReadAt(t.Context(), p, 0)
			if err == nil && !bytes.Equal(p, one) {
				t.Error("bytes of another version")
			}
			if err != nil {
				if !errors.Is(err, shard.ErrChanged) || strings.Count(err.Error(), "modified at") != 2 {
					t.Error(err)
				}
				break
			}
		}
		<-done
	}
}

// TestServerByName reads where inodes cannot be read by number.
func TestServerByName(t *testing.T) {
	f := newFixture(t, Options{})
	all := content(100_000)
	f.Write(t, "a", all)
	sh := find(t, f.store, f.Address("a"))
	proxy := servertest.NewHTTPProxy(t, f.cluster.HTTP[0])
	missing := `{"RemoteException":{"exception":"FileNotFoundException","javaClassName":"java.io.FileNotFoundException","message":"no"}}`
	proxy.Use(&servertest.Rule{Match: inodePath, Answer: &servertest.Answer{Status: 404, Body: missing}})
	s := newStore(t, Options{})
	sh.URI = "webhdfs://" + proxy.Addr + f.dir + "/a"
	o, err := s.Open(t.Context(), sh)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, o, all, 1, 99_000)
	expect(t, o, all, 0, 100_000)
	f.Write(t, "a", all)
	if err := o.ReadAt(t.Context(), make([]byte, 10), 0); !errors.Is(err, shard.ErrChanged) {
		t.Errorf("a file that was replaced: %v", err)
	}
}

// TestServerOpenFile: a file that is still being written is refused by name.
func TestServerOpenFile(t *testing.T) {
	f := newFixture(t, Options{})
	path := f.dir + "/a"
	f.cluster.Open(t, path, content(1<<20+5))
	sh := find(t, f.store, f.Address("a"))
	if sh.Size == 0 {
		sh.Size = 1
	}
	o, err := f.store.Open(t.Context(), sh)
	if err != nil {
		t.Fatal(err)
	}
	err = o.ReadAt(t.Context(), make([]byte, 1), 0)
	if !errors.Is(err, ErrUnfinished) || errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "recoverLease") {
		t.Errorf("error %v", err)
	}
	f.cluster.Close(t, path)
	expect(t, open(t, f.store, f.Address("a")), content(1<<20+5), 1<<20, 5)
}

// TestServerErasureCoded reads a file that lies in cells on several datanodes, also with one of
// them down.
func TestServerErasureCoded(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	s := newStore(t, Options{})
	dir := c.Dir(t) + "/ec"
	c.Command(t, "ec "+dir+" XOR-2-1-1024k")
	all := content(5<<20 + 77)
	c.Put(t, dir+"/a", all)
	uri := "webhdfs://" + c.HTTP[0] + dir + "/a"
	o := open(t, s, uri)
	expect(t, o, all, 0, len(all))
	expect(t, o, all, 1<<20-10, 20)
	p, err := s.Place(t.Context(), find(t, s, uri))
	if err != nil || p.Policy != "XOR-2-1-1024k" || p.Replication != 0 || len(p.Blocks) == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	c.KillDatanode(t, 1)
	expect(t, o, all, 0, len(all))
}

// TestServerNamenodeRestart reads on while the namenode goes away and comes back.
func TestServerNamenodeRestart(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	s := newStore(t, Options{})
	all := content(1 << 20)
	path := c.Dir(t) + "/a"
	c.Put(t, path, all)
	o := open(t, s, "webhdfs://"+c.HTTP[0]+path)
	expect(t, o, all, 0, 100)
	c.Command(t, "killnn")
	err := underLoad(t, o, all, func() error {
		for end := time.Now().Add(servertest.ReadyWithin); s.Traffic().Retries == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if _, err := c.Ask("startnn"); err != nil {
			return err
		}
		return o.ReadAt(t.Context(), make([]byte, 1000), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Traffic().Retries == 0 {
		t.Error("nothing was tried again")
	}
}

// TestServerPair reads from two namenodes, one of which stands by, under the name that the
// configuration gives them, while they change roles.
func TestServerPair(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{HA: true})
	s := newStore(t, Options{Setup: configured(t, c)})
	all := content(1 << 20)
	path := c.Dir(t) + "/a"
	c.Put(t, path, all)
	uri := "webhdfs://mini" + path
	o := open(t, s, uri)
	err := underLoad(t, o, all, func() error {
		for range 2 {
			if _, err := c.Ask("failover"); err != nil {
				return err
			}
			if found, err := s.List(t.Context(), uri); err != nil || found[0].Size != int64(len(all)) {
				return fmt.Errorf("%v, %w", found, err)
			}
			if err := o.ReadAt(t.Context(), make([]byte, 1000), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Traffic().Failovers == 0 {
		t.Errorf("%+v", s.Traffic())
	}
}

// underLoad runs f while four readers compare what they read. They have ended when it returns.
func underLoad(t *testing.T, o shard.Object, all []byte, f func() error) error {
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			p := make([]byte, 100_000)
			for ctx.Err() == nil {
				err := o.ReadAt(ctx, p, 1000)
				if ctx.Err() == nil && (err != nil || !bytes.Equal(p, all[1000:101_000])) {
					t.Errorf("wrong bytes, or %v", err)
				}
			}
		})
	}
	defer wg.Wait()
	defer stop()
	return f()
}

// TestServerMuteNamenode: a namenode that takes connections and says nothing is left for the other.
func TestServerMuteNamenode(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	f := newFixture(t, Options{ReadTimeout: 300 * time.Millisecond})
	f.Write(t, "a", content(1000))
	sh := find(t, f.store, f.Address("a"))
	o, err := f.store.OpenAt(t.Context(), []string{"http://" + mute.Addr().String(), "http://" + f.cluster.HTTP[0]}, f.dir+"/a", sh)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	expect(t, o, content(1000), 0, 1000)
	if took := time.Since(start); took > defaultReadTimeout {
		t.Errorf("it took %v", took)
	}
}
