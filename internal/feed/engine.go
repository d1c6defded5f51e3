package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// Options of a Server. Open has to be set.
type Options struct {
	// Open opens a data set. It is called once for all connections that ask for the same; progress may be called by any goroutine.
	Open func(ctx context.Context, r Request, progress func(Progress)) (*Data, error)

	Logger   *slog.Logger  // nil: no log
	Budget   *mem.Budget   // what all streams of the engine share, and the rings where they outgrow what was foretold; nil: no limit
	Grace    time.Duration // after the last connection has gone; 0 is 10 s, below 0 the engine stays
	Patience time.Duration // for the torch workers of an iteration that has begun; 0 is 60 s

	MaxConnections int           // at a time; 0 is 4,096
	FrameTime      time.Duration // from the first byte of a request to its last; 0 is 30 s

	// Phrase says to a trainer what the engine says in the words of the command; nil changes nothing.
	Phrase func(text string) string

	Build string // of the engine, for WELCOME
	Log   string // the log file, for WELCOME
}

const (
	defaultGrace    = 10 * time.Second
	defaultPatience = 60 * time.Second

	defaultConnections = 4096
	defaultFrameTime   = 30 * time.Second
	maxUnfinished      = 4 * maxPayload // bytes of large requests that are received at a time
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = RedactLog(o.Logger)
	if o.Budget == nil {
		o.Budget = mem.NewBudget(0)
	}
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	o.MaxConnections = cmp.Or(o.MaxConnections, defaultConnections)
	o.FrameTime = cmp.Or(o.FrameTime, defaultFrameTime)
	return o
}

// A Request is what is to be opened.
type Request struct {
	Spec           Spec
	LocalWorldSize int // ranks that share this machine's memory; at least 1

	// Note tells all trainers that read the data set something that came up after it was opened.
	Note func(text string) `json:"-"`
}

// Data is an open data set.
type Data struct {
	Dataset *iterable.Dataset

	// Loader is how its batches are made: all but rank, world size, epoch, state and allocator.
	Loader loader.Options

	Slots     int      // of a ring; 0 is as many as the loader keeps in flight, and 4
	Versioned bool     // the shards' versions are the same on every machine that sees the same shards
	Warnings  []string // about the data, for the user
	Files     []string // about the files that the addresses name, for the user

	// Stats are the figures of a session by bench's keys; nil has none.
	Stats func(Figures) any

	// EpochTook hears how long it was from the beginning of a whole epoch to that of the next iteration; nil: nobody does.
	EpochTook func(time.Duration)

	Close func(ctx context.Context) error // what Dataset was opened from, after Dataset was closed
}

// Figures are what a session did so far, all its iterations together.
type Figures struct {
	Took          time.Duration // in iterations
	FirstBatch    time.Duration // from the first JOIN on
	Batches, Rows int64         // handed out; rows that count
	Bytes         int64         // of the batches
	Reserved      int64         // of all streams of the engine, now
	Loaders       []loader.Stats
}

// A consumer is where the batches of an iteration go: a connection. One goroutine at a time calls it, joined first, then deliver, and at
// last once either end or fail, after which it may join again. progress and note come at any time. No call blocks for longer than it takes
// to see that the trainer is gone.
type consumer interface {
	// ring returns the allocator of the consumer's shared memory; the one that it has serves if it has as many slots that are as large.
	ring(ringNeed) (loader.Allocator, error)

	progress(Progress)
	note(Note)
	joined(Joined)

	// deliver announces a batch that lies in memory of the consumer's allocator. The batch is the consumer's to release from now on, also
	// when it fails.
	deliver(*loader.Batch) error

	end(End)
	fail(error)
}

// A ringNeed is how a ring is to be.
type ringNeed struct {
	slots int
	bytes int64 // of a slot, header included; foretold, so that batches may need more

	// reserve admits so many bytes more, of slots that have to be larger, or refuses with the numbers. free gives them back.
	reserve func(bytes int64) (free func(), err error)
}

// errEngineEnds is why an iteration ends with its engine.
var errEngineEnds = errors.New("the engine ends")

// An engine has the data sets that connections share, and the sessions that read them.
type engine struct {
	Options
	ctx    context.Context // of everything that the engine opened
	cancel context.CancelCauseFunc
	agreed agreements

	mu      sync.Mutex
	opened  map[string]*opened // by what was asked for
	running map[*run]bool
	owned   sync.WaitGroup // goroutines of open data sets and of runs
}

func newEngine(o Options) *engine {
	e := &engine{Options: o.withDefaults(), opened: map[string]*opened{}, running: map[*run]bool{}}
	e.agreed.mu = &e.mu
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	return e
}

// close ends all iterations, and waits until everything is closed. The connections have closed their clients before.
func (e *engine) close() {
	e.cancel(errEngineEnds)
	e.owned.Wait()
}

// open makes a connection the client of the data set that it asks for, which is opened where nobody did yet. It waits until that is done.
func (e *engine) open(ctx context.Context, h Hello, o Open, progress func(Progress)) (*client, Opened, error) {
	if len(o.Spec.Addresses) == 0 {
		return nil, Opened{}, valueError("no address of a data set")
	}
	request := Request{Spec: o.Spec, LocalWorldSize: max(1, h.LocalWorldSize)}
	key, err := json.Marshal(struct {
		Request
		Opening string
	}{request, o.Opening})
	if err != nil {
		return nil, Opened{}, err
	}
	d, err := e.enter(string(key), request)
	if err != nil {
		return nil, Opened{}, err
	}
	if err := d.wait(ctx, progress); err != nil {
		d.leave()
		return nil, Opened{}, e.phrased(err)
	}
	e.agreed.sit(h.Job)
	return &client{engine: e, hello: h, group: d.group(o.Dataset)}, d.told, nil
}

// phrased is an error in the words of the trainer.
func (e *engine) phrased(err error) error {
	if e.Phrase == nil {
		return err
	}
	f := failureOf(err)
	f.Text, f.Hint = e.Phrase(f.Text), e.Phrase(f.Hint)
	return &f
}

// enter finds an open data set or begins to open it. The caller leaves it.
func (e *engine) enter(key string, r Request) (*opened, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return nil, context.Cause(e.ctx)
	}
	d := e.opened[key]
	if d == nil {
		d = newOpened(e, key, r)
		e.opened[key] = d
		e.owned.Go(d.own)
	}
	d.users++
	return d, nil
}

// runs are all runs of the engine that have not ended.
func (e *engine) runs() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.running))
}

// start makes a run's goroutine.
func (e *engine) start(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running[r] = true
	e.owned.Go(func() {
		r.do()
		e.mu.Lock()
		delete(e.running, r)
		e.mu.Unlock()
		close(r.done)
	})
}

// settle waits for the runs of a session that are ending, so that its next run finds their memory and slots free. One that is itself ending
// waits for nobody, who might wait for it.
func (e *engine) settle(next *run) {
	for _, r := range e.runs() {
		if r != next && r.session == next.session && r.ctx.Err() != nil {
			next.waitFor(r)
		}
	}
}

// makeRoom ends the runs that wait for an epoch that nobody has asked for yet, waits for all that are ending, and reports whether there
// were any.
func (e *engine) makeRoom(except *run) bool {
	freed := false
	for _, r := range e.runs() {
		if r != except && r.ends() {
			freed = except.waitFor(r)
		}
	}
	return freed
}
