package hdfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// quick are options under which faults are noticed soon.
func quick(c *servertest.Cluster) Options {
	o := serverOptions(c)
	o.ReadTimeout = time.Second
	o.RetryFor = 2 * time.Minute
	return o
}

// TestServerFaults makes all faults of single namenodes on one cluster, irreversible ones last.
func TestServerFaults(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{Proxied: true})
	for _, f := range []struct {
		name string
		run  func(*testing.T, *servertest.Cluster)
	}{
		{"Datanodes", datanodeFaults},
		{"Between", cutBetween},
		{"Many", manyFaults},
		{"Cancel", cancelReads},
		{"NamenodeMute", namenodeMute},
		{"NamenodeRestarted", namenodeRestarted},
		{"DatanodeKilled", datanodeKilled},
		{"NamenodeGone", namenodeGone},
	} {
		t.Run(f.name, func(t *testing.T) { f.run(t, c) })
		heal(c)
	}
}

// datanodeFaults hurts connections to datanodes; each read gives the right bytes long before the
// time for retries is over.
func datanodeFaults(t *testing.T, c *servertest.Cluster) {
	all := content(1, 6<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all, "replication=3", "blocksize=4194304")
	for _, f := range []struct {
		name   string
		faults servertest.Faults
	}{
		{"refused", servertest.Faults{Refuse: true}},
		{"mute", servertest.Faults{Mute: true}},
		{"stalled in the response", servertest.Faults{StallAfter: 3}},
		{"stalled in a packet", servertest.Faults{StallAfter: 1<<20 + 12345}},
		{"cut in the response", servertest.Faults{CutAfter: 5}},
		{"cut in a packet", servertest.Faults{CutAfter: 1<<20 + 12345}},
		{"reset in a packet", servertest.Faults{CutAfter: 700_000, Reset: true}},
	} {
		t.Run(f.name, func(t *testing.T) {
			for _, off := range []int{0, 1<<20 + 77} { // the same from an offset within a chunk
				o := openOne(t, newStore(t, quick(c)), c.URI+path) // which has no connections yet
				before := struck(c)
				f.faults.Times = 1 // the first connection to each: which is asked first depends on earlier failures
				for _, p := range c.Proxies.Datanodes {
					p.Set(f.faults)
				}
				start := time.Now()
				if err := expect(t, o, all, off, len(all)-off); err != nil {
					t.Errorf("from %d: %v", off, err)
				}
				if took := time.Since(start); took > time.Minute {
					t.Errorf("from %d: took %v", off, took)
				}
				if struck(c) == before {
					t.Errorf("from %d: no fault was made", off)
				}
			}
		})
	}
}

// cutBetween ends the connections that are kept from one read to the next: no read fails by that.
func cutBetween(t *testing.T, c *servertest.Cluster) {
	all := content(1, 1<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all, "replication=1")
	s := newStore(t, quick(c))
	o := openOne(t, s, c.URI+path)
	for i := range 6 {
		if err := expect(t, o, all, i*1000, 500_000); err != nil {
			t.Fatal(err)
		}
		if i < 3 { // the others are used again
			for _, p := range c.Proxies.Datanodes {
				p.CutAll(i%2 == 0)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	if failed, reused := s.transfer.Failed.Load(), s.transfer.Reused.Load(); failed != 0 || reused != 2 {
		t.Errorf("%d connections failed, %d were used again", failed, reused)
	}
}

// struck is how many connections to datanodes were hurt so far.
func struck(c *servertest.Cluster) (n int) {
	for _, p := range c.Proxies.Datanodes {
		n += p.Struck()
	}
	return n
}

// heal lets all connections pass.
func heal(c *servertest.Cluster) {
	for _, p := range slices.Concat(c.Proxies.Datanodes, c.Proxies.RPC) {
		p.Set(servertest.Faults{})
	}
}

// manyFaults reads at random by many readers, while connections break everywhere.
func manyFaults(t *testing.T, c *servertest.Cluster) {
	all := content(1, 8<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all, "replication=3")
	s := newStore(t, quick(c))
	o := openOne(t, s, c.URI+path)
	stop := make(chan struct{})
	var breaker, readers sync.WaitGroup
	breaker.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				c.Proxies.Datanodes[n%3].CutAll(n%2 == 0)
				if n%50 == 0 { // a call takes part of a second on a busy machine
					c.Proxies.RPC[0].CutAll(true)
				}
			}
		}
	})
	for g := range 8 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for range 25 {
				off := r.IntN(len(all))
				if err := expect(t, o, all, off, 1+r.IntN(len(all)-off)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	breaker.Wait()
	if s.Traffic().Failovers+s.Traffic().Retries == 0 {
		t.Error("nothing broke")
	}
	t.Logf("%+v", s.Traffic())
}

// datanodeKilled stops a datanode in the middle of a read, and all of them.
func datanodeKilled(t *testing.T, c *servertest.Cluster) {
	all := content(1, 4<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all, "blocksize=4194304", "replication=2")
	o := openOne(t, newStore(t, quick(c)), c.URI+path)
	for _, p := range c.Proxies.Datanodes {
		p.Set(servertest.Faults{Rate: 2 << 20})
	}
	victim := c.Blocks(t, path)[0].Nodes[0]
	time.AfterFunc(500*time.Millisecond, func() { _, _ = c.Ask("killdn " + string(rune('0'+victim))) })
	if err := expect(t, o, all, 0, len(all)); err != nil {
		t.Error(err)
	}
	for i, p := range c.Proxies.Datanodes {
		p.Set(servertest.Faults{})
		if i != victim {
			c.KillDatanode(t, i)
		}
	}
	options := quick(c)
	options.RetryFor = 2 * time.Second
	start := time.Now()
	err := expect(t, openOne(t, newStore(t, options), c.URI+path), all, 0, len(all))
	if !errors.Is(err, shard.ErrTransient) || time.Since(start) > 45*time.Second {
		t.Errorf("without a datanode: %v after %v", err, time.Since(start))
	}
}

// cancelReads ends reads that hang.
func cancelReads(t *testing.T, c *servertest.Cluster) {
	all := content(1, 4<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	s := newStore(t, serverOptions(c))
	o := openOne(t, s, c.URI+path)
	for name, proxies := range map[string][]*servertest.Proxy{"datanodes": c.Proxies.Datanodes, "namenode": c.Proxies.RPC} {
		for _, p := range proxies {
			p.Set(servertest.Faults{Mute: true})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		start := time.Now()
		err := o.ReadAt(ctx, make([]byte, len(all)), 0)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > defaultReadTimeout*3/4 {
			t.Errorf("%s mute: %v after %v", name, err, time.Since(start))
		}
		for _, p := range proxies {
			p.Set(servertest.Faults{})
		}
		if err := expect(t, o, all, 0, len(all)); err != nil {
			t.Errorf("after %s were mute: %v", name, err)
		}
	}
	for _, p := range c.Proxies.Datanodes {
		p.Set(servertest.Faults{Mute: true})
	}
	done := make(chan error, 1)
	go func() { done <- o.ReadAt(context.Background(), make([]byte, len(all)), 0) }()
	time.Sleep(100 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("a read went on after Close")
	}
}

// TestServerChanged replaces a file between two reads, and between the look at a name and the look
// at its blocks.
func TestServerChanged(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	path := c.Dir(t) + "/x"
	first, second := content(1, 2<<20), content(2, 2<<20)
	c.Put(t, path, first)
	s := newStore(t, serverOptions(c))
	o := openOne(t, s, c.URI+path)
	if err := expect(t, o, first, 0, 1000); err != nil {
		t.Fatal(err)
	}
	c.Put(t, path, second)
	err := o.ReadAt(t.Context(), make([]byte, 1000), 0)
	if !errors.Is(err, shard.ErrChanged) {
		t.Fatalf("replaced: %v", err)
	}
	t.Log(err)
	for range 10 {
		o := openOne(t, s, c.URI+path)
		now := second
		var wg sync.WaitGroup
		wg.Go(func() {
			first, second = second, first
			c.Put(t, path, second)
		})
		for range 40 {
			if err := expect(t, o, now, 0, 100_000); err != nil && !errors.Is(err, shard.ErrChanged) && !errors.Is(err, shard.ErrNotExist) {
				t.Errorf("while it was replaced: %v", err)
			}
		}
		wg.Wait()
	}
}

// TestServerReplacedBetweenLooks shows what the look after the read is for: the library looks at a
// name, and then at the blocks of whatever file has the name by then.
func TestServerReplacedBetweenLooks(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	path := c.Dir(t) + "/x"
	first, second := content(1, 100_000), content(2, 100_000)
	c.Put(t, path, first)
	s := newStore(t, serverOptions(c))
	o := openOne(t, s, c.URI+path).(*object)
	err := o.at.cluster.use(t.Context(), func(ctx context.Context, cl *client) error {
		defer cl.dialer.Use(ctx, nil)()
		f, err := cl.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := o.verify(f.Stat()); err != nil {
			return err
		}
		c.Put(t, path, second)
		got := make([]byte, len(first))
		if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, second) {
			t.Errorf("the other file's bytes %v, %v", bytes.Equal(got, second), err)
		}
		return o.verifyBlocks(ctx, cl)
	})
	if !errors.Is(err, shard.ErrChanged) {
		t.Errorf("%v", err)
	}
}

// TestServerUnfinished refuses files that somebody writes.
func TestServerUnfinished(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	dir := c.Dir(t)
	s := newStore(t, serverOptions(c))
	all := content(1, 2<<20)
	for _, size := range []int{0, 1000, 1<<20 + 5} {
		path := dir + "/x"
		c.Open(t, path, all[:size])
		sh := one(t, s, c.URI+path)
		o, err := s.Open(t.Context(), sh)
		if err == nil {
			err = o.ReadAt(t.Context(), make([]byte, sh.Size), 0)
			if sh.Size == 0 {
				t.Errorf("%d bytes so far: an empty file was opened", size)
			}
		}
		if !errors.Is(err, ErrUnfinished) {
			t.Errorf("%d bytes so far: %v", size, err)
		}
		c.Close(t, path)
		if err := expect(t, openOne(t, s, c.URI+path), all, 0, size); err != nil {
			t.Errorf("closed: %v", err)
		}
		c.Remove(t, path)
	}
}
