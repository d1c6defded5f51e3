package feed

import (
	"context"
	"log/slog"
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

	Build string // of the engine, for WELCOME
	Log   string // the log file, for WELCOME
}

// A Request is what is to be opened.
type Request struct {
	Spec           Spec
	LocalWorldSize int // ranks that share this machine's memory; at least 1
}

// Data is an open data set.
type Data struct {
	Dataset *iterable.Dataset

	// Loader is how its batches are made: all but rank, world size, epoch, state and allocator.
	Loader loader.Options

	Versioned bool     // the shards' versions are the same on every machine that sees the same shards
	Warnings  []string // about the data, for the user

	// Stats are the figures of a session by bench's keys; nil has none.
	Stats func(Figures) any

	Close func(ctx context.Context) error // what Dataset was opened from, after Dataset was closed
}

// Figures are what a session did so far, all its iterations together.
type Figures struct {
	Seconds, FirstBatch time.Duration // in iterations; from the first JOIN to the first batch
	Reserved            int64         // bytes of the engine's streams, now
	Memory              int64         // limit of a rank; 0: the default
	Batches, Rows       int64
	Bytes               int64 // of the batches
	Loaders             []loader.Stats
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
