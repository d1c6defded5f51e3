package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// MapOptions configure the batches of a [Map]. The zero value works.
type MapOptions struct {
	// Memory limits decoded rows and batches, in bytes. 0 is the limit of the data set.
	Memory int64

	// BatchSize is the usual number of rows of a request, for which memory is reserved in each of
	// MaxBatches. 0 means 1.
	BatchSize int

	// Workers is the number of goroutines that make the batches of [Map.Batches], and
	// PrefetchFactor how many batches per worker are being made or ready ahead of the consumer. 0
	// means 1 and 2.
	Workers, PrefetchFactor int

	// MaxBatches bounds the batches that exist at once. 0 means what Workers and PrefetchFactor ask
	// for and 2 with the consumer. An Allocator of the user's has its own bound.
	MaxBatches int

	// NaN, Fill, Features, Images, Boxes, ImageDecoder, Pad and Allocator are as in [Options].
	NaN          bool
	Fill         []Fill
	Features     Features
	Images       map[string]images.Options
	Boxes        map[string]boxes.Options
	ImageDecoder func() (codec.Decoder, error)
	Pad          []Padding
	Allocator    Allocator

	// ImageParallel is the number of goroutines that decode images. 0 means Workers, and fewer is
	// the same. Augmentations depend on the data set's seed, on [Map.SetEpoch] and on the row, as
	// in batches of a [Loader].
	ImageParallel int

	// ImageSplit is as in [Options].
	ImageSplit *ImageSplit

	// Taker reads the rows, in its own memory. The map does not close it. nil makes a taker for the
	// map.
	Taker *iterable.Taker
}

func (o MapOptions) withDefaults() MapOptions {
	o.BatchSize, o.Workers = max(o.BatchSize, 1), max(o.Workers, 1)
	if o.PrefetchFactor == 0 {
		o.PrefetchFactor = DefaultPrefetch
	}
	if o.MaxBatches == 0 {
		o.MaxBatches = o.Workers*o.PrefetchFactor + defaultHeld
	}
	return o
}

// Validate lists all problems, each an iterable.OptionError.
func (o MapOptions) Validate() error {
	p := option.List{New: newProblem}
	p.Within("Memory", o.Memory, option.MaxBytes)
	p.Within("BatchSize", int64(o.BatchSize), option.MaxBatchRows)
	p.Within("Workers", int64(o.Workers), option.MaxWorkers)
	p.Within("PrefetchFactor", int64(o.PrefetchFactor), option.MaxBatches/option.MaxWorkers)
	p.Within("MaxBatches", int64(o.MaxBatches), option.MaxBatches)
	p.Within("ImageParallel", int64(o.ImageParallel), option.MaxWorkers)
	if o.Taker != nil && o.Memory != 0 {
		p.Add("Memory", "is that of the {Taker}; leave one of the two out")
	}
	o.Features.validate(&p)
	validateImages(&p, o.Images)
	validateSplit(&p, o.ImageSplit)
	validateBoxes(&p, o.Boxes)
	for i, pad := range o.Pad {
		pad.validate(&p, i)
	}
	return p.Err()
}

// A Map makes batches of rows by number: torch's map-style data set. Batches have the schema, the
// fills, the padding and the memory of a [Loader]'s. Its methods are safe for concurrent use.
type Map struct {
	o     MapOptions
	data  *rowgroup.Reader
	taker *iterable.Taker
	own   bool // the taker is the map's own
	pool  *mem.Pool
	spare sync.Pool // of *collator

	// making has no stream: it holds the recipe, the owner, the allocator and the counters of
	// batches.
	making *pass
	epoch  atomic.Int64
	once   sync.Once
}

// NewMap checks the options against the data set, and reserves memory for its rows. It reads
// nothing; the data set must stay open until Close.
func NewMap(ds *iterable.Dataset, o MapOptions) (*Map, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	r, need, err := o.recipe(ds)
	if err != nil {
		return nil, err
	}
	m := &Map{o: o, data: ds.Manifest(), taker: o.Taker, own: o.Taker == nil, pool: (*mem.Pool)(ds.Pool())}
	if m.own {
		to := iterable.TakerOptions{Memory: o.Memory, Scratch: need.least, MoreScratch: need.more}
		if o.Allocator == nil {
			to.Batches, to.BatchRows, to.Wider = o.MaxBatches, o.BatchSize, r.shape.wider(ds.Manifest())
		}
		if m.taker, err = ds.Taker(to); err != nil {
			return nil, err
		}
	}
	p := &pass{recipe: r, meters: &meters{}, owner: &owner{}, allocator: o.Allocator, imaging: r.newImaging(need, (*mem.Account)(m.taker.Account()))}
	p.numbered = func() (uint64, int64) { return ds.Seed(), m.epoch.Load() }
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	if p.allocator == nil {
		places := make(chan struct{}, o.MaxBatches)
		p.allocator = newPooled(m.pool, places, (*mem.Account)(m.taker.Account()))
	} else if a, ok := p.allocator.(Accountant); ok {
		a.Use(m.taker.Account())
	}
	m.making = p
	return m, nil
}

// recipe returns the recipe of the batches, and the memory that their images need.
func (o MapOptions) recipe(ds *iterable.Dataset) (*recipe, imageNeed, error) {
	r, err := newRecipe(ds.Schema(), Options{NaN: o.NaN, Fill: o.Fill, Features: o.Features, Images: o.Images, Boxes: o.Boxes, ImageDecoder: o.ImageDecoder, ImageSplit: o.ImageSplit, Pad: o.Pad})
	if err != nil {
		return nil, imageNeed{}, err
	}
	r.placeOf, r.keys, r.onError = ds.Locate, ds.RowKeys(), ds.OnError()
	need, err := r.imageNeed(max(o.Workers, o.ImageParallel), cmp.Or(o.Memory, ds.Memory()))
	return r, need, err
}

// TakerOptions returns options of a taker for Options.Taker, with the memory for decoding images:
// for a program whose maps share one. It leaves batches to an Allocator.
func (o MapOptions) TakerOptions(ds *iterable.Dataset) (iterable.TakerOptions, error) {
	if err := o.Validate(); err != nil {
		return iterable.TakerOptions{}, err
	}
	_, need, err := o.withDefaults().recipe(ds)
	return iterable.TakerOptions{Memory: o.Memory, Scratch: need.least, MoreScratch: need.more}, err
}

// SetEpoch sets the epoch that batches draw their random numbers for, from the next batch on. It is
// 0 at first.
func (m *Map) SetEpoch(epoch int64) { m.epoch.Store(epoch) }

// Len is the number of rows, whose numbers are 0 to Len-1.
func (m *Map) Len() int64 { return m.taker.Len() }

// Batch returns the rows of these numbers, in this order; a number may come more than once. The
// batch is the caller's until its Release. Epoch, Step and Position are -1. Under iterable.Skip the
// batch is without the rows that are lost; under iterable.Mask they follow its Valid rows: an image
// has zeros there, and other lost data the values of another row.
func (m *Map) Batch(ctx context.Context, rows []int64) (*Batch, error) {
	ctx, stop := m.until(ctx)
	defer stop()
	j := &job{done: make(chan struct{})}
	if err := m.memory(ctx, j); err != nil {
		return nil, err
	}
	m.fill(ctx, j, rows)
	return m.hand(j)
}

// Batches returns the batches of lists of row numbers, in their order, and makes them ahead of the
// consumer. An error concerns one list: the next lists follow, until ctx ends or the map is closed.
// Leaving the loop ends all goroutines; for that, rows must not wait.
func (m *Map) Batches(ctx context.Context, rows iter.Seq[[]int64]) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		ctx, stop := m.until(ctx)
		out := make(chan *job, m.o.Workers*m.o.PrefetchFactor-1)
		whole := false // all lists have jobs; set before out is closed
		var group sync.WaitGroup
		group.Go(func() {
			defer close(out)
			whole = m.feed(ctx, rows, out, &group)
		})
		defer func() {
			stop()
			for j := range out {
				m.making.discard(j)
			}
			group.Wait()
		}()
		for j := range out {
			<-j.done
			b, err := m.hand(j)
			if !yield(b, err) || err != nil && ctx.Err() != nil {
				return
			}
		}
		if !whole {
			yield(nil, cause.Of(ctx, ErrClosed))
		}
	}
}

// feed makes a job of each list: it takes memory for them in order, and hands them to workers. It
// reports whether it reached the end.
func (m *Map) feed(ctx context.Context, rows iter.Seq[[]int64], out chan<- *job, group *sync.WaitGroup) bool {
	working := make(chan struct{}, m.o.Workers)
	for list := range rows {
		j := &job{done: make(chan struct{})}
		if j.err = m.memory(ctx, j); j.err != nil {
			close(j.done)
		} else {
			working <- struct{}{} // a worker ends when ctx does
			group.Go(func() {
				m.fill(ctx, j, list)
				<-working
			})
		}
		select {
		case out <- j:
		case <-ctx.Done():
			m.making.discard(j)
			return false
		}
	}
	return true
}

// until ends a context when the map is closed.
func (m *Map) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.making.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// memory waits for the memory of a job's batch.
func (m *Map) memory(ctx context.Context, j *job) (err error) {
	begin := wait.Now()
	j.trail.Until(begin, wait.HandOver)
	j.memory, err = m.making.begin(ctx)
	j.trail.Until(blocked(&m.making.meters.memory.get, begin), wait.Memory)
	if err != nil {
		return m.wrong(ctx, "memory", err)
	}
	m.making.meters.memory.items.Add(1)
	return nil
}

// fill makes a job's batch of rows.
func (m *Map) fill(ctx context.Context, j *job, rows []int64) {
	defer close(j.done)
	begin := wait.Now()
	d, err := m.take(ctx, rows)
	taken := blocked(&m.making.draws.get, begin)
	if err != nil {
		j.memory.Free()
		j.err = m.wrong(ctx, "read", err)
		return
	}
	j.trail.Until(begin, wait.Collate)
	j.trail.During(d.Trail, begin, taken)
	m.making.draws.items.Add(1)
	c, ok := m.spare.Get().(*collator)
	if !ok {
		c = m.making.newCollator(m.pool)
	}
	if j.batch, j.err = c.do(ctx, d, j.memory, &j.at); j.err == nil {
		for _, x := range j.batch.losses {
			m.taker.Lose(x, 1)
		}
		j.trail.Until(wait.Now(), wait.Collate)
		j.batch.Trail = &j.trail
		m.making.depth.Add(1)
	}
	m.spare.Put(c)
}

// wrong adds the place to an error, unless ctx caused it.
func (m *Map) wrong(ctx context.Context, op string, err error) error {
	if m.making.ctx.Err() != nil {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	return &Error{Op: op, Epoch: -1, Step: -1, Err: err}
}

// hand makes a job's batch the consumer's.
func (m *Map) hand(j *job) (*Batch, error) {
	b := j.batch
	if b == nil {
		return nil, j.err
	}
	m.making.depth.Add(-1)
	m.making.owner.give(b)
	m.making.batches.Add(1)
	m.making.meters.rows.Add(int64(b.Rows))
	m.making.lost.Add(int64(b.Lost))
	return b, nil
}

// Stats returns the work done since NewMap; Stream covers the taker.
func (m *Map) Stats() Stats {
	t := &m.making.times
	return Stats{
		Batches: m.making.batches.Load(), Rows: m.making.meters.rows.Load(), Lost: m.making.lost.Load(), Held: int(m.making.owner.held.Load()),
		Draws: m.making.draws.queue(0, 0), Memory: m.making.meters.memory.queue(0, m.o.MaxBatches),
		Images: time.Duration(t[stageImages].Load()), Gather: time.Duration(t[stageGather].Load()), Pad: time.Duration(t[stagePad].Load()), OnDevice: m.making.onDevice.Load(), Decoded: m.making.decoded.Load(), Stream: m.taker.Stats(),
	}
}

// Close ends pending requests, whose consumers get ErrClosed, and frees the memory. Batches that
// were handed out stay valid until their Release; the error counts them. Close may be called more
// than once.
func (m *Map) Close() (err error) {
	m.once.Do(func() {
		m.making.cancel(ErrClosed)
		m.making.imaging.close()
		if m.own {
			err = m.taker.Close()
		}
		if n := m.making.owner.held.Load(); n > 0 {
			err = errors.Join(err, fmt.Errorf("loader: closed with %d batches not released", n))
		}
	})
	return err
}
