package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

// A cluster is the namenodes that know one tree of files, and the clients that speak to them: at
// most Options.Slots.
type cluster struct {
	store  *Store
	ns     conf.Nameservice
	slots  *driver.Window // a token for each client in use
	meter  *driver.Meter
	life   context.Context
	end    context.CancelFunc
	opaque atomic.Bool // its datanodes encrypt
	known  atomic.Bool // a namenode has answered
	peers  wire.Peers  // connections to datanodes between two reads

	mu     sync.Mutex
	idle   []*idleClient // the last used is the last
	closed bool
	first  int // of the namenodes: the one to try first
	users  sync.WaitGroup
}

// An idleClient waits for the next borrower, or for its end.
type idleClient struct {
	*client
	timer *time.Timer
}

func newCluster(s *Store, ns conf.Nameservice) *cluster {
	life, end := context.WithCancel(context.Background())
	n := s.options.Slots
	c := &cluster{store: s, ns: ns, slots: driver.NewWindow(n, n, n), meter: s.meters.Of("hdfs://" + ns.Name), life: life, end: end}
	c.meter.Follow(c.slots)
	return c
}

// use runs f with a client of its own. A client that f leaves with an error of its connection, or
// whose context ended, is not used again.
func (c *cluster) use(ctx context.Context, f func(context.Context, *client) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if c.slots.Acquire(ctx) != nil {
		return c.ended(ctx)
	}
	defer c.slots.Release()
	if !c.enter() {
		return c.ended(ctx)
	}
	defer c.users.Done()
	cl, err := c.take(ctx)
	if err != nil {
		return c.failed(ctx, nil, err)
	}
	done := cl.namenodes.use(ctx)
	err = cl.namenodes.explain(f(ctx, cl))
	done()
	if err = c.failed(ctx, cl, err); err != nil && (ctx.Err() != nil || namenodeFault(err)) {
		cl.close()
		return err
	}
	c.succeeded(cl)
	c.give(cl)
	return err
}

// enter counts a user of the cluster, whom close waits for.
func (c *cluster) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.users.Add(1)
	return true
}

// ended says why ctx is done: by its owner, or because the store is closed.
func (c *cluster) ended(ctx context.Context) error {
	if c.life.Err() != nil {
		return fmt.Errorf("the store is closed: %w", fs.ErrClosed)
	}
	return cause.Of(ctx)
}

// failed records a failure of the namenode of cl, and returns the error to report.
func (c *cluster) failed(ctx context.Context, cl *client, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return c.ended(ctx)
	}
	if cl != nil && namenodeFault(err) {
		c.demote(cl.namenodes.addr())
	} else if cl == nil && retryable(err) {
		c.demote("")
	}
	return err
}

// order is the namenodes' addresses: first the one that answered last.
func (c *cluster) order() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.ns.RPC[c.first:], c.ns.RPC[:c.first])
}

// demote passes by a namenode that failed, "" for the first, at the next try.
func (c *cluster) demote(addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if addr == "" || addr == c.ns.RPC[c.first] {
		c.first = (c.first + 1) % len(c.ns.RPC)
	}
}

// succeeded puts the namenode that answered before the others.
func (c *cluster) succeeded(cl *client) {
	c.known.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.ns.RPC, cl.namenodes.addr()); i >= 0 && i != c.first {
		c.first = i
		c.meter.Failovers.Add(1)
	}
}

// take returns an idle client, or a new one. The caller holds a slot.
func (c *cluster) take(ctx context.Context) (*client, error) {
	generation, err := c.generation(ctx)
	if err != nil {
		return nil, err
	}
	for {
		c.mu.Lock()
		n := len(c.idle) - 1
		if n < 0 {
			c.mu.Unlock()
			return newClient(ctx, c)
		}
		i := c.idle[n]
		c.idle = c.idle[:n]
		c.mu.Unlock()
		if i.timer.Stop() && !i.stale(generation) {
			return i.client, nil
		}
		i.close() // where its time is over, expire does not find it any more
	}
}

// generation returns the generation of the Kerberos client; new credentials make new clients.
func (c *cluster) generation(ctx context.Context) (uint64, error) {
	setup, err := c.store.setup()
	if err != nil || setup.kerberos == nil {
		return 0, err
	}
	_, generation, err := setup.kerberos.Client(ctx)
	return generation, err
}

// give leaves a client to the next borrower. The library renews leases each second, also of idle
// clients, so that one that stays unused for a while is closed.
func (c *cluster) give(cl *client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := &idleClient{client: cl}
	i.timer = time.AfterFunc(c.store.options.IdleTimeout, func() { c.expire(i) })
	c.idle = append(c.idle, i)
}

func (c *cluster) expire(i *idleClient) {
	if !c.enter() {
		return
	}
	defer c.users.Done()
	c.mu.Lock()
	at := slices.Index(c.idle, i)
	if at >= 0 {
		c.idle = slices.Delete(c.idle, at, at+1)
	}
	c.mu.Unlock()
	if at >= 0 {
		i.close()
	}
}

// close ends what is under way and closes all clients.
func (c *cluster) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.users.Wait()
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, i := range idle {
		i.timer.Stop()
		i.close()
	}
	c.peers.Close()
}
