package shardtest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// A Meter is a Store that counts what it passes on to another.
type Meter struct {
	shard.Remote // the store's
	store        shard.Store

	lists, opens, reads, readBytes, leases atomic.Int64
}

// NewMeter returns a Meter that counts the use of store.
func NewMeter(store shard.Store) *Meter { return &Meter{Remote: shard.RemoteOf(store), store: store} }

// Stats is what a store did so far.
type Stats struct {
	Lists, Opens, Reads, Leases int64
	ReadBytes                   int64 // bytes asked of reads that arrived
}

// Stats returns the counts so far.
func (m *Meter) Stats() Stats {
	return Stats{Lists: m.lists.Load(), Opens: m.opens.Load(), Reads: m.reads.Load(), Leases: m.leases.Load(), ReadBytes: m.readBytes.Load()}
}

// List counts and passes on.
func (m *Meter) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	m.lists.Add(1)
	return m.store.List(ctx, pattern)
}

// Open counts and passes on; the object's reads are counted too.
func (m *Meter) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	m.opens.Add(1)
	o, err := m.store.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &meteredObject{o, m}, nil
}

// Identity passes on.
func (m *Meter) Identity(uri string) string { return shard.Identity(m.store, uri) }

type meteredObject struct {
	shard.Object
	meter *Meter
}

func (o *meteredObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.meter.reads.Add(1)
	err := o.Object.ReadAt(ctx, p, off)
	if err == nil {
		o.meter.readBytes.Add(int64(len(p)))
	}
	return err
}

// ReadRanges counts as one read, however many ranges it has.
func (o *meteredObject) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	o.meter.reads.Add(1)
	err := shard.ReadRanges(ctx, o.Object, ranges)
	for _, r := range ranges {
		if err == nil {
			o.meter.readBytes.Add(int64(len(r.P)))
		}
	}
	return err
}

func (o *meteredObject) Lend(off, n int64) (shard.Lease, error) {
	l, ok, err := shard.Lend(o.Object, off, n)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	o.meter.leases.Add(1)
	return l, err
}
