package driver

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// A RequestKind distinguishes requests by their answers.
type RequestKind uint8

// The kinds of requests.
const (
	ListRequest RequestKind = iota // names of a directory
	LookRequest                    // a description of one file
	ReadRequest                    // bytes of a file

	requestKinds = iota
)

// A Meter measures the requests to one place; see shard.StoreTraffic. The zero value is ready, and
// a nil Meter measures nothing.
type Meter struct {
	Retries, Hedges, Throttled, Failovers atomic.Int64

	store  string
	window atomic.Pointer[Window]
	bytes  atomic.Int64

	mu       sync.Mutex
	made     [requestKinds]int64 // requests, by kind
	inFlight [requestKinds]int   // now, by kind
	answers  int64
	errors   int64
	changed  time.Time // time of the last change of inFlight, until which times are counted
	seconds  time.Duration
	busy     time.Duration
	first    time.Duration
}

// NewMeter returns the meter of a store that is one place.
func NewMeter(place string) *Meter { return &Meter{store: place} }

// Follow lets the figures show the width of a window.
func (m *Meter) Follow(w *Window) { m.window.Store(w) }

// Start opens a request, which End closes, and informs the probe of ctx.
func (m *Meter) Start(ctx context.Context, k RequestKind) Request {
	r := Request{meter: m, kind: k, ctx: ctx, probe: wait.ProbeOf(ctx)}
	r.probe.Start()
	if m != nil {
		m.mu.Lock()
		r.begun = m.advance()
		m.made[k]++
		m.inFlight[k]++
		m.mu.Unlock()
	}
	return r
}

// advance adds the time since the last change to the figures, and returns the time now.
func (m *Meter) advance() time.Time {
	now := time.Now()
	d := now.Sub(m.changed)
	m.changed = now
	m.seconds += time.Duration(m.allInFlight()) * d
	if m.inFlight[ReadRequest] > 0 {
		m.busy += d
	}
	return now
}

func (m *Meter) allInFlight() (n int) {
	for _, k := range m.inFlight {
		n += k
	}
	return n
}

// Traffic returns the figures so far.
func (m *Meter) Traffic() shard.StoreTraffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	t := shard.StoreTraffic{
		Store: m.store, Answers: m.answers, Errors: m.errors,
		InFlight: m.allInFlight(),
		Seconds:  m.seconds.Seconds(), FirstByteSeconds: m.first.Seconds(), BusySeconds: m.busy.Seconds(),
		Traffic: shard.Traffic{
			Lists: m.made[ListRequest], Looks: m.made[LookRequest], Reads: m.made[ReadRequest], ReadBytes: m.bytes.Load(),
			Retries: m.Retries.Load(), Hedges: m.Hedges.Load(), Throttled: m.Throttled.Load(), Failovers: m.Failovers.Load(),
		},
	}
	if w := m.window.Load(); w != nil {
		t.Window = w.Size()
	}
	return t
}

// ByStore returns the figures of a store that is one place, after its first request.
func (m *Meter) ByStore() []shard.StoreTraffic {
	if m == nil {
		return nil
	}
	if t := m.Traffic(); t.Requests() > 0 {
		return []shard.StoreTraffic{t}
	}
	return nil
}

// A Request is one under way. Its methods are for one goroutine at a time.
type Request struct {
	meter    *Meter
	probe    *wait.Probe
	ctx      context.Context // it ends with, when it is given up
	kind     RequestKind
	begun    time.Time
	answered bool
	ended    bool
}

// Answered reports that the answer to a request for bytes starts.
func (r *Request) Answered() {
	if r.answered || r.meter == nil {
		return
	}
	r.answered = true
	took := time.Since(r.begun)
	r.meter.mu.Lock()
	defer r.meter.mu.Unlock()
	r.meter.answers++
	r.meter.first += took
}

// Took reports that n bytes of an answer arrived.
func (r *Request) Took(n int) {
	if r.meter != nil {
		r.meter.bytes.Add(int64(n))
	}
}

// End ends the request, once, with the error by which it failed.
func (r *Request) End(err error) {
	if r.ended || r.ctx == nil {
		return
	}
	r.ended = true
	r.probe.End()
	if r.meter == nil {
		return
	}
	r.meter.mu.Lock()
	defer r.meter.mu.Unlock()
	r.meter.advance()
	r.meter.inFlight[r.kind]--
	if r.failed(err) {
		r.meter.errors++
	}
}

// failed reports whether an error is one of the server or the way to it. A request that was given
// up has not failed, nor has a look for a name that does not exist.
func (r *Request) failed(err error) bool {
	switch {
	case err == nil, r.ctx.Err() != nil && !Stalled(r.ctx):
		return false
	case r.kind == ReadRequest:
		return true
	}
	return !errors.Is(err, shard.ErrNotExist) && !errors.Is(err, fs.ErrNotExist)
}

// Meters are the meters of a store, by place. The zero value is ready.
type Meters struct {
	mu  sync.Mutex
	all map[string]*Meter
}

// Of returns the meter of a place, as "s3://bucket". After shard.MaxPlaces, all others of a scheme
// share one.
func (m *Meters) Of(place string) *Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, ok := m.all[place]
	if !ok && len(m.all) >= shard.MaxPlaces {
		place = shard.Elsewhere(place)
		one, ok = m.all[place]
	}
	if !ok {
		if m.all == nil {
			m.all = map[string]*Meter{}
		}
		one = NewMeter(place)
		m.all[place] = one
	}
	return one
}

// ByStore returns the figures of all places that were asked for something, sorted by name.
func (m *Meters) ByStore() []shard.StoreTraffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []shard.StoreTraffic{}
	for _, one := range m.all {
		all = append(all, one.ByStore()...)
	}
	slices.SortFunc(all, func(a, b shard.StoreTraffic) int { return strings.Compare(a.Store, b.Store) })
	return all
}

// Traffic is the sum over all places.
func (m *Meters) Traffic() (sum shard.Traffic) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.all {
		sum = sum.Add(one.Traffic().Traffic)
	}
	return sum
}
