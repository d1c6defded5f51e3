package shard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Meter is a Store that counts what it passes on to another.
type Meter struct {
	store Store

	lists, opens, reads, views atomic.Int64
	readBytes, viewBytes       atomic.Int64
	listNs, openNs, readNs     atomic.Int64
	failed                     atomic.Int64
}

var (
	_ Store      = (*Meter)(nil)
	_ Identifier = (*Meter)(nil)
	_ Parallel   = (*Meter)(nil)
)

// NewMeter returns a Meter that counts the use of store.
func NewMeter(store Store) *Meter { return &Meter{store: store} }

// Stats is what a store did so far. Times are summed over concurrent calls, so they can exceed the time that passed.
type Stats struct {
	Lists, Opens, Reads, Views int64
	ReadBytes                  int64 // bytes asked of ReadAt that arrived
	ViewBytes                  int64 // bytes lent
	ListTime, OpenTime         time.Duration
	ReadTime                   time.Duration // of reads and of making views
	Errors                     int64         // calls that failed
}

// Stats returns the counts so far. Each is exact; a call under way may be in some of them and not yet in others.
func (m *Meter) Stats() Stats {
	return Stats{
		Lists:     m.lists.Load(),
		Opens:     m.opens.Load(),
		Reads:     m.reads.Load(),
		Views:     m.views.Load(),
		ReadBytes: m.readBytes.Load(),
		ViewBytes: m.viewBytes.Load(),
		ListTime:  time.Duration(m.listNs.Load()),
		OpenTime:  time.Duration(m.openNs.Load()),
		ReadTime:  time.Duration(m.readNs.Load()),
		Errors:    m.failed.Load(),
	}
}

// Sub returns what happened since an earlier Stats.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		Lists:     s.Lists - earlier.Lists,
		Opens:     s.Opens - earlier.Opens,
		Reads:     s.Reads - earlier.Reads,
		Views:     s.Views - earlier.Views,
		ReadBytes: s.ReadBytes - earlier.ReadBytes,
		ViewBytes: s.ViewBytes - earlier.ViewBytes,
		ListTime:  s.ListTime - earlier.ListTime,
		OpenTime:  s.OpenTime - earlier.OpenTime,
		ReadTime:  s.ReadTime - earlier.ReadTime,
		Errors:    s.Errors - earlier.Errors,
	}
}

// Bytes is what came out of the store, copied or lent.
func (s Stats) Bytes() int64 { return s.ReadBytes + s.ViewBytes }

// String is one line for people.
func (s Stats) String() string {
	return fmt.Sprintf("%d lists in %v, %d opens in %v, %d reads of %d bytes and %d views of %d bytes in %v, %d errors",
		s.Lists, s.ListTime, s.Opens, s.OpenTime, s.Reads, s.ReadBytes, s.Views, s.ViewBytes, s.ReadTime, s.Errors)
}

// List counts and passes on.
func (m *Meter) List(ctx context.Context, pattern string) ([]Shard, error) {
	start := time.Now()
	shards, err := m.store.List(ctx, pattern)
	m.count(&m.lists, &m.listNs, start, err)
	return shards, err
}

// Open counts and passes on; the object's reads are counted too.
func (m *Meter) Open(ctx context.Context, s Shard) (Object, error) {
	start := time.Now()
	o, err := m.store.Open(ctx, s)
	m.count(&m.opens, &m.openNs, start, err)
	if err != nil {
		return nil, err
	}
	return &meteredObject{Object: o, meter: m}, nil
}

// Identity passes on.
func (m *Meter) Identity(uri string) string { return Identity(m.store, uri) }

// Parallel passes on.
func (m *Meter) Parallel(uri string) int { return Reads(m.store, uri) }

// count notes one call that began at start.
func (m *Meter) count(calls, ns *atomic.Int64, start time.Time, err error) {
	calls.Add(1)
	ns.Add(int64(time.Since(start)))
	if err != nil {
		m.failed.Add(1)
	}
}

type meteredObject struct {
	Object
	meter *Meter
}

var (
	_ Viewer      = (*meteredObject)(nil)
	_ Checker     = (*meteredObject)(nil)
	_ RangeReader = (*meteredObject)(nil)
)

func (o *meteredObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	start := time.Now()
	err := o.Object.ReadAt(ctx, p, off)
	o.meter.count(&o.meter.reads, &o.meter.readNs, start, err)
	if err == nil {
		o.meter.readBytes.Add(int64(len(p)))
	}
	return err
}

// ReadRanges counts as one read, however many ranges it has.
func (o *meteredObject) ReadRanges(ctx context.Context, ranges []Range) error {
	start := time.Now()
	err := ReadRanges(ctx, o.Object, ranges)
	o.meter.count(&o.meter.reads, &o.meter.readNs, start, err)
	if err == nil {
		for _, r := range ranges {
			o.meter.readBytes.Add(int64(len(r.P)))
		}
	}
	return err
}

func (o *meteredObject) View(off, n int64) ([]byte, func(), error) {
	start := time.Now()
	b, release, ok, err := View(o.Object, off, n)
	if !ok {
		return nil, nil, errors.ErrUnsupported
	}
	o.meter.count(&o.meter.views, &o.meter.readNs, start, err)
	if err == nil {
		o.meter.viewBytes.Add(n)
	}
	return b, release, err
}

func (o *meteredObject) Recheck(lent, used Span) error { return Recheck(o.Object, lent, used) }

func (o *meteredObject) Forget(used []byte) { Forget(o.Object, used) }

func (o *meteredObject) Check() error { return Check(o.Object) }
