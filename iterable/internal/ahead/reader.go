package ahead

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/keep"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// mostScheduled is how many loads can wait for the consumer, whatever their bytes.
const mostScheduled = 1024

// ErrClosed ends waits of a consumer that closed.
var ErrClosed = errors.New("the stream is closed")

// A Schedule lists the loads of a stream in the order in which it needs them. One goroutine calls
// it.
type Schedule interface {
	Next() (*Load, bool)
}

// Options select what a Reader reads, and how it makes blocks.
type Options struct {
	Manifest *rowgroup.Reader // whose decoders read the loads of all sources
	Account  *mem.Account
	Schedule Schedule // nil: only LoadNow loads
	Horizon  *Horizon // of epochs
	Sharing  *Sharing // of the streams of a data set
	Seed     uint64   // of the random numbers of samples

	Stacks   *rowgroup.Stacks // nil: blocks have only columns
	InImages bool             // blocks may use images of the tier in place
	Keeper   *keep.Keeper     // nil: what is decoded is not kept

	// Early bounds the bytes that are granted to loads that the consumer has not taken, without one
	// load and the loads that it waits for; 0 leaves the bound to the account.
	Early int64

	Decoders chan struct{}   // has a value for each LoadNow that decodes; nil sets no limit
	Closing  <-chan struct{} // closed when the consumer stops waiting

	// Events; nil functions are not called.
	OverEstimate func(measured, estimated int64)
	Truncated    func(documents, tokens int64)
}

// A Reader fetches and decodes the loads of a schedule ahead of the consumer, as far as the
// account allows. It is the only part of a stream that starts goroutines: one that admits loads in
// the order of the schedule, some that fetch, some that decode. The order in which loads get ready
// is left to chance; the consumer waits for the one that it needs.
//
// A load that the consumer waits for is always admitted: the plan has bounded what is live at that
// moment. It is also the first in line everywhere: loads take memory, then fetchers, in the order
// of the schedule, and so they come to the store, whose requests wait in that order too; the first
// fetched load in the schedule is decoded first.
type Reader struct {
	Options

	loads    chan *Load    // admitted, in the order of the schedule
	received int64         // of loads, by the consumer
	fetch    chan *Load    // to be fetched
	decode   *queue        // fetched
	parking  parking       // fetched, and not decoded before they are needed
	changed  chan struct{} // has a value when admit has to look again
	needed   atomic.Int64  // the number of loads that the consumer waits for; each of them is admitted and granted
	early    atomic.Int64  // bytes granted to loads that the consumer has not taken
	throttle throttle

	evictable evictable

	stop   context.CancelFunc
	owners sync.WaitGroup

	orders sync.Pool // of *[]uint32

	recorder *loads.Recorder // nil without traces

	exceeded excess
	counts   counts
	said     atomic.Bool
}

// New returns a reader that reads nothing ahead until Start.
func New(o Options) *Reader { return &Reader{Options: o} }

// Start runs the goroutines, until ctx ends or Close is called. It records loads by the recorder of
// ctx.
func (r *Reader) Start(ctx context.Context, fetchers, decoders int) {
	r.recorder = loads.RecorderOf(ctx)
	ctx, r.stop = context.WithCancel(ctx)
	r.loads, r.fetch, r.decode = make(chan *Load, mostScheduled), make(chan *Load, mostScheduled), newQueue()
	r.changed, r.parking.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.throttle.setLimits(fetchers, decoders)
	r.Account.Evict(r.evict)
	r.owners.Go(func() { r.admit(ctx) })
	if r.Keeper != nil {
		r.owners.Go(func() { r.Keeper.Run(ctx) })
	}
	var fetching sync.WaitGroup
	for range fetchers {
		fetching.Go(func() {
			for l := range r.fetch {
				r.fetchOne(ctx, l)
			}
		})
	}
	fetched := make(chan struct{})
	r.owners.Go(func() {
		fetching.Wait()
		close(fetched)
	})
	r.owners.Go(func() { r.parking.run(ctx, r, fetched) })
	for range decoders {
		r.owners.Go(func() { r.decodeAll(ctx) })
	}
}

// Close stops the goroutines, waits for them, and frees the loads that Next has not returned. Those
// that it has returned are ready now.
func (r *Reader) Close() {
	r.stop()
	r.owners.Wait()
	for l := range r.loads {
		r.Drop(l)
	}
}

// fail makes a load ready with an error.
func (r *Reader) fail(l *Load, err error) {
	if l.raw != nil {
		l.raw.Release()
		l.raw = nil
	}
	r.leaveOthers(l)
	if l.Err = err; !errors.Is(err, context.Canceled) {
		r.record(l)
	}
	r.throttle.land(l)
	r.discharge(l)
	close(l.ready)
}

// ready hands a load with its blocks to the consumer. extra is bytes besides theirs.
func (r *Reader) ready(l *Load, extra int64) {
	r.adjust(mem.Fetch, &l.charged.Fetch, 0)
	r.throttle.land(l)
	r.adjust(mem.Decode, &l.charged.Decode, l.bytes()+extra)
	r.record(l)
	r.lookAgain()
	r.evictable.ready(l)
}

// record adds a load that is ready, or has failed, to the traces that run.
func (r *Reader) record(l *Load) {
	if !r.recorder.On() {
		return
	}
	if one, ok := l.recorded(); ok {
		r.recorder.Add(one)
	}
}

// LoadNow fetches and decodes a load in the caller's goroutine, and adds to a trail what took the
// time. It is for loads that no schedule lists, which are small.
func (r *Reader) LoadNow(ctx context.Context, l *Load, held *wait.Trail) error {
	began := wait.Now()
	held.Until(began, wait.Collate)
	held.Follow(&l.trail)
	defer func() {
		held.During(&l.trail, began, wait.Now())
		held.Next(wait.Collate)
	}()
	r.Account.Charge(mem.Fetch, l.Estimate.Fetch)
	r.Account.Charge(mem.Decode, l.Estimate.Decode)
	l.charged, l.ready, l.began = l.Estimate, make(chan struct{}), began
	if err := r.fetchLoad(ctx, l); err != nil {
		r.fail(l, err)
		return err
	}
	if r.Decoders != nil {
		l.trail.Next(wait.Decode)
		r.Decoders <- struct{}{} // its holders wait for nothing
		defer func() { <-r.Decoders }()
	}
	d := r.newLayer()
	defer d.close()
	return r.decodeOne(ctx, d, l)
}

// adjust corrects the account from what it counts of a load to n bytes.
func (r *Reader) adjust(p mem.Purpose, counted *int64, n int64) {
	if more := n - *counted; more > 0 {
		r.Account.Charge(p, more)
	} else {
		r.Account.Release(p, -more)
	}
	*counted = n
}
