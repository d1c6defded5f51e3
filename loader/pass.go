package loader

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A rowStream is the source of a pass: [iterable.Stream].
type rowStream interface {
	Next(context.Context) (*iterable.Draw, error)
	Lose(epoch, step int64, x iterable.Loss) error
	Stats() iterable.Stats
	Live() *iterable.Trail
	Close() error
}

// A pass is one iteration. It owns the stream and, when there are workers, their goroutines and the
// one that feeds them:
//
//	feed    rows from the stream, memory from the allocator -> work, out
//	worker  work -> batch
//	next    out -> the consumer
//
// In order, feed puts each job into out when a worker has taken it, and the consumer waits for the
// job at the head. Unordered, a worker puts a job into out when it is done. Either way at most
// Workers*PrefetchFactor jobs are being made or ready, and what is in out is all that has to be
// freed once the goroutines are gone.
type pass struct {
	*recipe
	*meters
	imaging   *imaging                          // nil without images
	numbered  func() (seed uint64, epoch int64) // nil: draws say it
	allocator Allocator
	owner     *owner
	stream    rowStream
	timeout   time.Duration
	unordered bool

	ctx    context.Context // ends with the consumer's, and when the pass is closed
	cancel context.CancelCauseFunc
	group  sync.WaitGroup
	maker  *collator // of the consumer's goroutine, when there are no workers
	work   chan *job
	out    chan *job
	busy   []atomic.Pointer[job] // by worker: the job it works on
	drawn  atomic.Pointer[job]   // last
	seq    int64                 // jobs drawn
	head   *job                  // of the consumer's goroutine, from when it has the job until the job is done
	due    atomic.Pointer[job]   // head, for others
	doing  activity              // why draw waits
	handed frontier
	closer sync.Once
	closed error
}

// start starts the goroutines.
func (p *pass) start(workers, prefetch int, pool *mem.Pool) {
	if workers == 0 {
		p.maker = p.newCollator(pool)
		return
	}
	room := workers*prefetch - 1
	if p.unordered {
		room = workers * (prefetch - 1)
	}
	p.work, p.out = make(chan *job), make(chan *job, room)
	p.busy = make([]atomic.Pointer[job], workers)
	var collators sync.WaitGroup
	for i := range workers {
		collators.Add(1)
		p.group.Go(func() {
			defer collators.Done()
			p.runWorker(p.newCollator(pool), &p.busy[i])
		})
	}
	p.group.Go(func() {
		last := p.feed()
		close(p.work)
		collators.Wait() // unordered, they send to out, and the end comes after all batches
		if last != nil && !p.put(last) {
			p.discard(last)
		}
		close(p.out)
	})
}

func (p *pass) newCollator(pool *mem.Pool) *collator {
	c := p.recipe.newCollator(pool)
	c.imaging, c.numbered = p.imaging, p.numbered
	return c
}

// feed draws until the stream ends or fails, and returns a job with that error, or nil if the pass
// is closed.
func (p *pass) feed() *job {
	for {
		j := p.draw(p.ctx)
		if j.err != nil {
			return j
		}
		if !p.hand(j) || !p.unordered && !p.put(j) {
			p.discard(j)
			return nil
		}
	}
}

// draw gets the rows of the next batch first and then its memory, so that the end of the stream
// needs no memory.
func (p *pass) draw(ctx context.Context) (j *job) {
	j = &job{seq: p.seq, done: make(chan struct{})}
	p.seq++
	p.drawn.Store(j)
	defer func() {
		if v := recover(); v != nil {
			j.err = &Error{Err: &iterable.PanicError{Value: v}, Stack: debug.Stack()}
		}
		if j.err == nil {
			return
		}
		if j.draw != nil {
			j.draw.Release()
			j.draw = nil
		}
		j.err = p.cause(ctx, j.err)
		close(j.done)
	}()
	p.doing.set(stageRead, 0)
	begin := wait.Now()
	j.trail.Until(begin, p.before(j))
	j.trail.Follow(p.stream.Live())
	j.draw, j.err = p.stream.Next(ctx)
	drawn := blocked(&p.draws.get, begin)
	if j.err != nil {
		return j
	}
	j.trail.During(j.draw.Trail, begin, drawn)
	p.draws.items.Add(1)
	p.doing.set(stageMemory, 0)
	j.trail.Next(wait.Memory)
	j.memory, j.err = p.begin(ctx)
	j.trail.Until(blocked(&p.meters.memory.get, drawn), wait.Memory)
	j.trail.Next(wait.Collate)
	if j.err == nil {
		p.meters.memory.items.Add(1)
		p.doing.set(stageQueue, 0)
	}
	return j
}

// before returns the cause of a wait until the draw of a batch starts.
func (p *pass) before(j *job) iterable.Cause {
	if j.seq == 0 {
		return wait.Open
	}
	return wait.Collate
}

// cause converts an error of draw to the error for the consumer.
func (p *pass) cause(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if ctx.Err() != nil {
		return cause.Of(ctx, ErrClosed)
	}
	return p.locate(err, -1, -1, &p.doing)
}

// hand gives a job to a worker.
func (p *pass) hand(j *job) bool {
	defer blocked(&p.meters.work.put, wait.Now())
	select {
	case p.work <- j:
		p.meters.work.items.Add(1)
		return true
	case <-p.ctx.Done():
		j.fail(cause.Of(p.ctx, ErrClosed))
		return false
	}
}

// put gives a job to the consumer.
func (p *pass) put(j *job) bool {
	defer blocked(&p.ready.put, wait.Now())
	select {
	case p.out <- j:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// runWorker makes batches of jobs until there are no more.
func (p *pass) runWorker(c *collator, busy *atomic.Pointer[job]) {
	for {
		begin := wait.Now()
		j, ok := <-p.work
		blocked(&p.meters.work.get, begin)
		if !ok {
			return
		}
		busy.Store(j)
		p.make(p.ctx, c, j)
		busy.Store(nil)
		if p.unordered && !p.put(j) {
			p.discard(j)
		}
	}
}

// make turns a job's draw into its batch.
func (p *pass) make(ctx context.Context, c *collator, j *job) {
	j.batch, j.err = c.do(ctx, j.draw, j.memory, &j.at)
	j.draw, j.memory = nil, nil
	if j.err == nil {
		j.trail.Until(wait.Now(), wait.Collate)
		j.batch.Trail = &j.trail
		p.depth.Add(1)
	}
	close(j.done)
}

// discard waits for a job and frees its batch.
func (p *pass) discard(j *job) {
	<-j.done
	if j.batch != nil {
		p.depth.Add(-1)
		j.batch.Release()
		j.batch = nil
	}
}

// Next makes the next batch the consumer's.
func (p *pass) Next() (*Batch, *shuffle.State, error) {
	j, err := p.next()
	if err != nil {
		return nil, nil, err
	}
	b := j.batch
	j.batch = nil
	if err := p.lose(b); err != nil {
		b.Release()
		return nil, nil, err
	}
	p.owner.give(b)
	p.batches.Add(1)
	p.rows.Add(int64(b.Rows))
	p.lost.Add(int64(b.Lost))
	return b, p.handed.take(j.seq, b.State), nil
}

// lose counts the rows of a batch that were lost after the draw, in the order of the batches.
func (p *pass) lose(b *Batch) error {
	for _, x := range b.losses {
		if err := p.loseRow(b.Epoch, b.Step, x); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) loseRow(epoch, step int64, x iterable.Loss) error {
	if err := p.stream.Lose(epoch, step, x); err != nil {
		return &Error{Op: stageNames[stageImages], Rank: p.rank, Epoch: epoch, Step: step, Column: x.Column, Err: err}
	}
	return nil
}

// next returns the job of the next batch, done. Its error is io.EOF after the last.
func (p *pass) next() (*job, error) {
	if p.ctx.Err() != nil {
		return nil, cause.Of(p.ctx, ErrClosed)
	}
	ctx := p.ctx
	if p.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(p.ctx, p.timeout, &TimeoutError{After: p.timeout})
		defer stop()
	}
	begin := wait.Now()
	j, err := p.wait(ctx)
	end := blocked(&p.ready.get, begin)
	if err == nil {
		err = j.err
	}
	if err != nil {
		return nil, p.ended(ctx, err)
	}
	p.meters.wait.add(&j.trail, begin, end)
	p.depth.Add(-1)
	p.ready.items.Add(1)
	return j, nil
}

// ended converts an error that ctx may have caused to the error for the consumer.
func (p *pass) ended(ctx context.Context, err error) error {
	of := ctx.Err()
	if of == nil || !errors.Is(err, of) && !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	if late, ok := context.Cause(ctx).(*TimeoutError); ok {
		late.Waiting = p.waiting()
		return late
	}
	return cause.Of(ctx, ErrClosed)
}

// wait makes the next job when there are no workers, else it takes the head of out and waits until
// it is done.
func (p *pass) wait(ctx context.Context) (*job, error) {
	if p.maker != nil {
		j := p.draw(ctx)
		if j.err == nil {
			p.head = j
			p.make(ctx, p.maker, j)
		}
		if j.err == nil {
			p.head = nil
		}
		return j, nil
	}
	select {
	case j, ok := <-p.out:
		if !ok {
			return nil, cause.Of(p.ctx, ErrClosed) // only a closed pass has no last job
		}
		p.head = j
	case <-ctx.Done():
		return nil, cause.Of(ctx, ErrClosed)
	}
	j := p.head
	p.due.Store(j)
	defer p.due.Store(nil)
	select {
	case <-j.done:
		p.head = nil
		return j, nil
	case <-ctx.Done():
		return nil, cause.Of(ctx, ErrClosed)
	}
}

// Close ends the goroutines, frees what they made and closes the stream. Any goroutine may call it.
func (p *pass) Close() error {
	p.closer.Do(func() {
		p.cancel(ErrClosed)
		p.group.Wait()
		if p.out != nil {
			for j := range p.out {
				p.discard(j)
			}
		}
		p.imaging.close()
		p.closed = p.stream.Close()
	})
	return p.closed
}

// Leave is Close for the consumer's goroutine, which may have taken a job out of out.
func (p *pass) Leave() error {
	err := p.Close()
	last := p.stream.Stats()
	p.last.Store(&last)
	if p.head != nil {
		p.discard(p.head)
		p.head = nil
	}
	return err
}
