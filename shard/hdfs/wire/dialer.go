package wire

import (
	"cmp"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// Defaults of Options.
const (
	defaultTimeout     = 20 * time.Second
	defaultDialTimeout = 5 * time.Second
)

// Options of a Dialer. The zero value works.
type Options struct {
	Dial        func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a net.Dialer's
	DialTimeout time.Duration                                                     // 0: 5 s
	Timeout     time.Duration                                                     // for one unit, one answer, one write; 0: 20 s
	AllowNull   bool                                                              // accept blocks without checksums
	AllowOpaque bool                                                              // pass encrypted streams through, unverified
	Counters    *Counters                                                         // shared with other Dialers; nil: its own
	Meter       *driver.Meter                                                     // of the requests for blocks; nil: its own
	Peers       *Peers                                                            // shared with other Dialers; nil: no connection is used twice
}

// Counters of connections and what they carried. Each number only grows, except Open.
type Counters struct {
	Reused  atomic.Int64 // connections that took another request
	Packets atomic.Int64 // verified
	Opaque  atomic.Int64 // streams that were encrypted
	Failed  atomic.Int64 // connections that ended with an error; not those whose reader gave up
	Open    atomic.Int64 // connections now
}

// A Dialer makes verifying connections for one client with one reader at a time. An HDFS client
// dials without the reader's context, so the Dialer uses no context: its connections belong to the
// Use that is under way.
type Dialer struct {
	options Options

	mu     sync.Mutex
	ctx    context.Context // of the Use under way, or nil
	wanted func() int64
	conns  map[*conn]struct{}
}

// NewDialer returns an idle Dialer.
func NewDialer(o Options) *Dialer {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Counters == nil {
		o.Counters = new(Counters)
	}
	if o.Meter == nil {
		o.Meter = new(driver.Meter)
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.DialTimeout = cmp.Or(o.DialTimeout, defaultDialTimeout)
	return &Dialer{options: o, conns: make(map[*conn]struct{})}
}

// Use lets the client dial until done is called, which closes what the client left open. When ctx
// ends, all connections end with its cause. Wanted is how many bytes the reader still wants when a
// block is asked for: no more are then requested of the datanode. A nil wanted, and numbers below
// one, leave the request as it is: clients ask to the block's end.
func (d *Dialer) Use(ctx context.Context, wanted func() int64) (done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx, d.wanted = ctx, wanted
	return d.unuse
}

func (d *Dialer) unuse() {
	d.mu.Lock()
	d.ctx, d.wanted = nil, nil
	var left []*conn
	for c := range d.conns {
		left = append(left, c)
	}
	d.mu.Unlock()
	for _, c := range left {
		c.Close()
	}
}

// DialContext connects to a datanode for the reader in use. It ignores its own context, which
// clients leave empty.
func (d *Dialer) DialContext(_ context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	ctx, wanted := d.ctx, d.wanted
	d.mu.Unlock()
	if ctx == nil {
		return nil, &Error{Datanode: addr, Err: ErrNoReader}
	}
	measured := d.options.Meter.Start(ctx, driver.ReadRequest)
	if nc := d.options.Peers.take(addr); nc != nil {
		d.options.Counters.Reused.Add(1)
		return d.adopt(ctx, nc, addr, wanted, measured), nil
	}
	timed, cancel := context.WithTimeout(ctx, d.options.DialTimeout)
	defer cancel()
	nc, err := d.options.Dial(timed, network, addr)
	if err != nil {
		measured.End(err)
		if ctx.Err() != nil {
			err = cause.Of(ctx)
		}
		return nil, &Error{Datanode: addr, Err: err}
	}
	return d.adopt(ctx, nc, addr, wanted, measured), nil
}

func (d *Dialer) adopt(ctx context.Context, nc net.Conn, addr string, wanted func() int64, measured driver.Request) *conn {
	c := &conn{Conn: nc, dialer: d, ctx: ctx, datanode: addr, wanted: wanted, measured: measured}
	d.mu.Lock()
	d.conns[c] = struct{}{}
	d.mu.Unlock()
	d.options.Counters.Open.Add(1)
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	var once sync.Once
	var err error
	c.end = func(keep bool) error {
		once.Do(func() {
			whole := stop() // else the socket is closed already, or about to be
			d.mu.Lock()
			delete(d.conns, c)
			d.mu.Unlock()
			d.options.Counters.Open.Add(-1)
			if keep && whole {
				d.options.Peers.put(addr, nc)
				return
			}
			err = nc.Close()
		})
		return err
	}
	return c
}
