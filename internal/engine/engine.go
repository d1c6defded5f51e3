package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Options of a Server. Open has to be set.
type Options struct {
	// Open opens a data set. It is called once for all connections that ask for the same one. Any
	// goroutine may call progress.
	Open func(ctx context.Context, r Request, progress func(wire.Progress)) (*Data, error)

	Logger        *slog.Logger  // whose handler has RedactAttr; nil: no log
	Budget        *mem.Budget   // of all streams, and of rings beyond their estimates; nil: no limit
	Grace         time.Duration // after the last connection has gone; 0 is 10 s, below 0 the engine stays
	WorkerTimeout time.Duration // for the torch workers of an iteration that has begun; 0 is 60 s

	// ReplicaTimeout is for the replicas of an iteration that one of them has begun. 0 is 5 minutes.
	ReplicaTimeout time.Duration

	ReplicaNotice time.Duration // after which replicas hear for which others they wait; 0 is 15 s

	MaxConnections int           // at a time; 0 is 4,096
	FrameTimeout   time.Duration // from the first byte of a request to its last; 0 is 30 s

	// Metrics returns the URL at which metrics are served, or "", for snapshots. It may be nil.
	Metrics func() string

	// Caches returns the work of the caches on disk that all data sets share. It may be nil.
	Caches func() []CacheWork

	Build string // of the engine, for WELCOME
	Log   string // the log file, for WELCOME
}

const (
	defaultGrace         = 10 * time.Second
	defaultWorkerTimeout = 60 * time.Second

	defaultReplicaTimeout = 5 * time.Minute // one may write a checkpoint before
	defaultReplicaNotice  = 15 * time.Second

	defaultConnections  = 4096
	defaultFrameTimeout = 30 * time.Second
	maxUnfinished       = 4 * wire.MaxPayload // bytes of large requests that are received at a time
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Budget == nil {
		o.Budget = mem.NewBudget(0)
	}
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.WorkerTimeout = cmp.Or(o.WorkerTimeout, defaultWorkerTimeout)
	o.ReplicaTimeout = cmp.Or(o.ReplicaTimeout, defaultReplicaTimeout)
	o.ReplicaNotice = cmp.Or(o.ReplicaNotice, defaultReplicaNotice)
	o.MaxConnections = cmp.Or(o.MaxConnections, defaultConnections)
	o.FrameTimeout = cmp.Or(o.FrameTimeout, defaultFrameTimeout)
	return o
}

// A Request describes a data set to open.
type Request struct {
	Spec           wire.Spec
	LocalWorldSize int // ranks that share this machine's memory; 0 is not known

	// Note shows a text to all trainers that read the data set. It may be called after the data set
	// was opened.
	Note func(text string) `json:"-"`

	// Inventory is the result of another node, or nil to list here.
	Inventory *iterable.Inventory `json:"-"`

	inventory string // the file that it is in

	// CountShare divides counting with other nodes. Found is called before with the inventory so
	// far.
	CountShare iterable.CountShare                              `json:"-"`
	Found      func(inventory func(most int64) ([]byte, error)) `json:"-"`
}

// Data is an open data set.
type Data struct {
	Dataset *iterable.Dataset

	// Loader configures the batches. Each iteration sets rank, world size, epoch, state and
	// allocator.
	Loader loader.Options

	// FewerWorkers lets an iteration use fewer workers than Loader has if they need more than the
	// stream's memory.
	FewerWorkers bool

	MapMemory int64 // limit of rows by number, for all clients together; 0 is Dataset's
	Slots     int   // of a ring; 0 is as many as the loader keeps in flight, and 4
	Versioned bool  // the shards' versions are the same on every machine that sees the same shards
	// Latest returns the snapshot that the table has now where another one is asked for. It may be
	// nil.
	Latest func(ctx context.Context, asked string) (string, error)

	Warnings []string // about the data, for the user
	Files    []string // about the files that the addresses name, for the user
	Info     []string // about how the data is read, for the user's log

	// Chosen identifies the rows to read, by the fields of the Spec, in short texts that ranks must
	// have in common.
	Chosen map[string]string

	// Choose writes the list of rows chosen by a file of bits, and returns their number. It may be
	// nil.
	Choose func(bits, save string) (rows int64, err error)

	// Documents returns texts and their tokens as JSON, or nil if they were compared with a library
	// before. It may be nil.
	Documents func(ctx context.Context, library string) ([]byte, error)

	// Stores are asked for the shards, past any cache; their requests are counted. It may be nil.
	Stores shard.Stores

	// Stats returns the figures of a session by bench's keys. It may be nil.
	Stats func(Figures) any

	// Kept returns the local disk's part in the data set, for verdicts. It may be nil.
	Kept func() Kept

	// EpochTook is called with the time from the start of a whole epoch to the start of the next
	// iteration. It may be nil.
	EpochTook func(time.Duration)

	Close func(ctx context.Context) error // what Dataset was opened from, after Dataset was closed
}

// Kept is the local disk's part in a data set, in bytes. A limit of 0 is off.
type Kept struct {
	CacheLimit, CacheNeeded     int64 // encoded
	DecodedLimit, DecodedNeeded int64
}

// Figures count the work of all iterations of a session.
type Figures struct {
	Took          time.Duration // in iterations
	FirstBatch    time.Duration // from the first JOIN on
	Batches, Rows int64         // handed out; rows that count
	Bytes         int64         // of the batches
	Reserved      int64         // of all streams of the engine, now
	State         shuffle.State // after the last batch that was handed out
	Loaders       []loader.Stats
	Wait          wait.Report // of the training loop, as its trainers sent it
	ImagesRefused int64       // by trainers' devices
	ImageCPUShare *float64    // of the last iteration, now; nil: trainers get all images as tensors
}

// A consumer receives the batches of an iteration: a connection. It is called by one goroutine at a
// time: joined, then deliver for each batch, then either end or fail, after which it may join
// again. progress, note and held may come at any time. No call waits for the trainer to read.
type consumer interface {
	// ring returns the allocator of the consumer's shared memory. It makes a larger one only if the
	// slots are too few or too small.
	// also are replicas, which get the same batches in the same memory.
	ring(need ringNeed, also ...consumer) (loader.Allocator, error)

	progress(wire.Progress)
	note(wire.Note)

	// held reports what holds up the batch, if the trainer waits for one.
	held(wire.Held)
	joined(wire.Joined)

	// deliver announces a batch in memory of the consumer's allocator, and releases it, even on
	// failure. also are the other replicas that read it.
	deliver(b *loader.Batch, also ...consumer) error

	end(wire.End)
	fail(error)
}

type ringNeed struct {
	slots int
	first int   // of these, the slots that are used until a step would not have waited with more; 0: all
	bytes int64 // of a slot with its header; an estimate: batches may need more
}

// An engine holds the open data sets that connections share, and the sessions that read them.
type engine struct {
	Options
	id       string // random
	dir      string // of the socket; "" without one
	socket   string
	started  time.Time
	work     works
	measured measurements
	loads    loads.Log       // for traces
	sessions atomic.Int64    // so far
	ctx      context.Context // of everything that the engine opened
	cancel   context.CancelCauseFunc
	agreed   agreements

	mu       sync.Mutex
	datasets map[string]*dataset  // by request
	openings map[string]time.Time // when they began; those whose filters depend on it
	latest   map[string]*latest   // snapshots of tables, by the job and the start of an epoch
	living   map[*dataset]bool    // that are being opened, open, or closing
	traffic  shard.Totals         // of the stores of data sets that have closed
	running  map[*run]bool
	ended    int            // runs
	owned    sync.WaitGroup // goroutines of open data sets and of runs
}

func newEngine(o Options) *engine {
	e := &engine{
		Options: o.withDefaults(), id: rand.Text(), started: time.Now(), work: works{ranks: map[int]*rankWork{}},
		datasets: map[string]*dataset{}, openings: map[string]time.Time{}, latest: map[string]*latest{}, living: map[*dataset]bool{}, traffic: shard.NewTotals(), running: map[*run]bool{},
	}
	e.agreed = agreements{mu: &e.mu, ranks: map[string]map[int]*agreed{}, found: map[string]*finding{}, clients: map[string]int{}}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	return e
}

// close ends all iterations and waits until everything is closed. All clients are closed before.
func (e *engine) close() {
	e.cancel(wire.ErrEnds)
	e.owned.Wait()
}

func (e *engine) follow(of loads.Rank) *loads.Follower { return e.loads.Follow(of) }

// open returns a client of the data set that a connection asks for, once that is open.
func (e *engine) open(ctx context.Context, h wire.Hello, o wire.Open, progress func(wire.Progress)) (handler, wire.Opened, error) {
	if len(o.Spec.AllAddresses()) == 0 {
		return nil, wire.Opened{}, wire.ValueError("no address of a data set")
	}
	request := Request{Spec: e.timed(o), LocalWorldSize: h.LocalWorldSize}
	if o.Inventory != "" {
		var err error
		if request.inventory, err = e.beside(o.Inventory); err != nil {
			return nil, wire.Opened{}, err
		}
	}
	if o.Counts != "" {
		dir, err := e.sharedCounts(o.Counts)
		if err != nil {
			return nil, wire.Opened{}, err
		}
		request.CountShare = iterable.CountShare{Dir: dir, Number: o.CountNumber, Of: o.CountOf}
	}
	key, err := json.Marshal(struct {
		Request
		Opening string
	}{request, o.Opening})
	if err != nil {
		return nil, wire.Opened{}, err
	}
	d, err := e.acquire(string(key), request)
	if err != nil {
		return nil, wire.Opened{}, err
	}
	if err := d.wait(ctx, progress); err != nil {
		d.release()
		return nil, wire.Opened{}, err
	}
	e.agreed.add(h.Job)
	return &client{engine: e, hello: h, group: d.group(o.Dataset)}, d.summary, nil
}

// timed is the spec with the instant from which filters take today(): the same for all ranks of an
// opening, on either side of midnight.
func (e *engine) timed(o wire.Open) wire.Spec {
	s := o.Spec.At(time.Now())
	if s.Now == "" || o.Spec.Now != "" {
		return s
	}
	return o.Spec.At(e.began(o.Opening))
}

// began is when a rank first asked for an opening.
func (e *engine) began(opening string) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.openings[opening]
	if !ok {
		at = time.Now()
		e.openings[opening] = at
	}
	return at
}

// acquire returns an open data set, or starts to open it. The caller releases it.
func (e *engine) acquire(key string, r Request) (*dataset, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return nil, context.Cause(e.ctx)
	}
	d := e.datasets[key]
	if d == nil {
		d = newDataset(e, key, r)
		e.datasets[key] = d
		e.living[d] = true
		e.owned.Go(d.serve)
	}
	d.users++
	return d, nil
}

func (e *engine) runs() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.running))
}

func (e *engine) start(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running[r] = true
	e.owned.Go(func() {
		r.do()
		e.mu.Lock()
		delete(e.running, r)
		e.ended++
		e.mu.Unlock()
		close(r.done)
	})
}

// settle waits for the runs of the same session that are ending, so that the next one finds their
// memory and slots free. A run that is ending itself is not waited for: it may wait for this one.
func (e *engine) settle(next *run) {
	for _, r := range e.runs() {
		if r != next && r.session == next.session && r.ctx.Err() != nil {
			next.waitFor(r)
		}
	}
}

// freeMemory ends the runs that only read ahead, and waits for all runs that are ending. It reports
// whether there were any, or more than ended had ended before.
func (e *engine) freeMemory(except *run, ended int) bool {
	freed := e.endedRuns() > ended
	for _, r := range e.runs() {
		if r != except && r.giveUp() {
			freed = except.waitFor(r)
		}
	}
	return freed
}

// endedRuns counts the runs that have ended.
func (e *engine) endedRuns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// latest is the answer to all asks of one name.
type latest struct {
	ready chan struct{} // closed when the others are set
	name  string
	err   error
}

func (l *latest) find(name func() (string, error)) {
	defer close(l.ready)
	l.name, l.err = name()
}
