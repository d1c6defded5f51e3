package hdfs

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// under reads the same file by four readers until work is done, and reports what they read wrongly
// or not at all.
func under(t *testing.T, s shard.Store, uri string, all []byte, work func()) {
	t.Helper()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for g := range 4 {
		readers.Go(func() {
			for n := g; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				off := n * 70_001 % (len(all) - 300_000)
				found, err := s.List(t.Context(), uri)
				if err != nil {
					t.Error(err)
					return
				}
				o, err := s.Open(t.Context(), found[0])
				if err == nil {
					err = errors.Join(expect(t, o, all, off, 300_000), o.Close())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work()
	close(stop)
	readers.Wait()
}

// until waits for what the readers under load bring about.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(servertest.ReadyWithin); !met(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not within %v: %s", servertest.ReadyWithin, what)
			return
		}
	}
}

// untilMore waits until a megabyte more has been read.
func untilMore(t *testing.T, s *Store) {
	t.Helper()
	before := s.Traffic().ReadBytes
	until(t, "bytes are read", func() bool { return s.Traffic().ReadBytes > before+1<<20 })
}

func namenodeRestarted(t *testing.T, c *servertest.Cluster) {
	all := content(1, 4<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	o := serverOptions(c)
	o.RetryFor = servertest.ReadyWithin // a busy machine takes a while to start it, and it starts in safe mode
	s := newStore(t, o)
	under(t, s, c.URI+path, all, func() {
		untilMore(t, s)
		c.Command(t, "killnn")
		until(t, "a call is repeated", func() bool { return s.Traffic().Retries > 0 })
		c.Command(t, "startnn")
		untilMore(t, s)
	})
	if s.Traffic().Retries == 0 {
		t.Error("nobody noticed")
	}
}

func namenodeGone(t *testing.T, c *servertest.Cluster) {
	c.Command(t, "startall")
	path := c.Dir(t) + "/x"
	c.Put(t, path, make([]byte, 10))
	o := quick(c)
	o.RetryFor = 2 * time.Second
	s := newStore(t, o)
	object := openOne(t, s, c.URI+path)
	c.Command(t, "killnn")
	start := time.Now()
	err := object.ReadAt(t.Context(), make([]byte, 10), 0)
	if !errors.Is(err, shard.ErrTransient) || time.Since(start) > 45*time.Second {
		t.Errorf("read: %v after %v", err, time.Since(start))
	}
	t.Log(err)
	if _, err := s.List(t.Context(), c.URI+path); !errors.Is(err, shard.ErrTransient) {
		t.Errorf("list: %v", err)
	}
	facts, err := s.Explain(t.Context(), c.URI+path)
	if err != nil || len(facts) < 5 {
		t.Errorf("explain: %v, %v", facts, err)
	}
	t.Log(facts)
}

// namenodeMute: a namenode that accepts and never answers, for a while.
func namenodeMute(t *testing.T, c *servertest.Cluster) {
	all := content(1, 1<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	o := openOne(t, newStore(t, quick(c)), c.URI+path)
	c.Proxies.RPC[0].Set(servertest.Faults{Mute: true})
	start := time.Now()
	time.AfterFunc(3*time.Second, func() { c.Proxies.RPC[0].Set(servertest.Faults{}) })
	if err := expect(t, o, all, 0, len(all)); err != nil || time.Since(start) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if time.Since(start) < 3*time.Second {
		t.Error("it was not mute")
	}
}

// TestServerHA: the second namenode takes over under load, also when the first falls silent.
func TestServerHA(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{HA: true, Proxied: true})
	all := content(1, 4<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	s := newStore(t, quick(c))
	under(t, s, c.URI+path, all, func() {
		for range 3 {
			untilMore(t, s)
			c.Command(t, "failover")
		}
		untilMore(t, s)
	})
	if n := s.Traffic().Failovers; n == 0 {
		t.Errorf("%d failovers", n)
	}
	active := 0
	if c.Command(t, "active") == "1" {
		active = 1
	}
	c.Proxies.RPC[active].Set(servertest.Faults{Mute: true})
	c.Command(t, "failover")
	start := time.Now()
	if err := expect(t, openOne(t, s, c.URI+path), all, 0, len(all)); err != nil || time.Since(start) > time.Minute {
		t.Errorf("the active one fell silent: %v after %v", err, time.Since(start))
	}
	fresh := newStore(t, quick(c)) // which asks the mute one first, or not
	if err := expect(t, openOne(t, fresh, c.URI+path), all, 0, len(all)); err != nil {
		t.Errorf("a fresh store: %v", err)
	}
}
