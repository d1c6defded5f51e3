package shardtest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// A Meter is a store that counts what it passes on to another.
type Meter struct {
	store shard.Store

	lists, opens, reads, views, readBytes, viewBytes, failed atomic.Int64
}

// NewMeter returns a Meter that counts the use of store.
func NewMeter(store shard.Store) *Meter { return &Meter{store: store} }

// Stats is what a store did so far.
type Stats struct {
	Lists, Opens, Reads, Views int64
	ReadBytes                  int64 // bytes asked of ReadAt that arrived
	ViewBytes                  int64 // bytes lent
	Errors                     int64 // calls that failed
}

// Stats returns the counts so far.
func (m *Meter) Stats() Stats {
	return Stats{
		Lists: m.lists.Load(), Opens: m.opens.Load(), Reads: m.reads.Load(), Views: m.views.Load(),
		ReadBytes: m.readBytes.Load(), ViewBytes: m.viewBytes.Load(), Errors: m.failed.Load(),
	}
}

// List counts and passes on.
func (m *Meter) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	shards, err := m.store.List(ctx, pattern)
	m.count(&m.lists, err)
	return shards, err
}

// Open counts and passes on; the object's reads are counted too.
func (m *Meter) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	o, err := m.store.Open(ctx, s)
	m.count(&m.opens, err)
	if err != nil {
		return nil, err
	}
	return &meteredObject{Object: o, meter: m}, nil
}

// Identity passes on.
func (m *Meter) Identity(uri string) string { return shard.Identity(m.store, uri) }

// Parallel passes on.
func (m *Meter) Parallel(uri string) int { return shard.Reads(m.store, uri) }

func (m *Meter) count(calls *atomic.Int64, err error) {
	calls.Add(1)
	if err != nil {
		m.failed.Add(1)
	}
}

type meteredObject struct {
	shard.Object
	meter *Meter
}

func (o *meteredObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	err := o.Object.ReadAt(ctx, p, off)
	o.meter.count(&o.meter.reads, err)
	if err == nil {
		o.meter.readBytes.Add(int64(len(p)))
	}
	return err
}

// ReadRanges counts as one read, however many ranges it has.
func (o *meteredObject) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	err := shard.ReadRanges(ctx, o.Object, ranges)
	o.meter.count(&o.meter.reads, err)
	if err == nil {
		for _, r := range ranges {
			o.meter.readBytes.Add(int64(len(r.P)))
		}
	}
	return err
}

func (o *meteredObject) View(off, n int64) ([]byte, func(), error) {
	b, release, ok, err := shard.View(o.Object, off, n)
	if !ok {
		return nil, nil, errors.ErrUnsupported
	}
	o.meter.count(&o.meter.views, err)
	if err == nil {
		o.meter.viewBytes.Add(n)
	}
	return b, release, err
}

func (o *meteredObject) Recheck(lent, used shard.Span) error {
	return shard.Recheck(o.Object, lent, used)
}

func (o *meteredObject) Forget(used []byte) { shard.Forget(o.Object, used) }

func (o *meteredObject) Check() error { return shard.Check(o.Object) }
