package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A pass is one iteration: the loader's, a transfer, and the goroutine between them.
//
//	feed    batches from the loader -> the transfer -> out
//	next    out -> the consumer, when the copy has ended
//
// At most InFlight batches are in out and in the hands of feed; what is in out is all that has to
// be released once feed is gone.
type pass struct {
	host     *loader.Loader
	transfer *Transfer
	meters   *meters
	timeout  time.Duration

	ctx    context.Context // ends with the consumer's, and when the pass is closed
	cancel context.CancelCauseFunc
	group  sync.WaitGroup
	out    chan sent
	doing  atomic.Int32 // what feed does
	err    error        // why feed has ended; read when out is closed
	closer sync.Once
	closed error
}

// sent is a batch on its way.
type sent struct {
	batch *Batch
	state *shuffle.State // after it and all before it
}

// What feed does.
const (
	pulls int32 = iota
	sends
	hands
)

func newPass(ctx context.Context, l *loader.Loader, t *Transfer, m *meters, o Options) *pass {
	p := &pass{host: l, transfer: t, meters: m, timeout: o.Loader.Timeout, out: make(chan sent, o.InFlight-1)}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.group.Go(p.feed)
	return p
}

// feed sends what the loader makes until that ends or fails, or the pass is closed.
func (p *pass) feed() {
	defer close(p.out)
	for host, err := range p.host.Batches(p.ctx) {
		if err != nil {
			p.err = err
			return
		}
		state := p.host.State()
		p.doing.Store(sends)
		b, err := p.transfer.Send(p.ctx, host)
		if err != nil {
			p.err = err
			return
		}
		p.doing.Store(hands)
		select {
		case p.out <- sent{b, state}:
		case <-p.ctx.Done():
			b.Release()
			return
		}
		p.doing.Store(pulls)
	}
}

// Next makes the next batch, on the device, the consumer's.
func (p *pass) Next() (*Batch, *shuffle.State, error) {
	s, err := p.next()
	if err != nil {
		return nil, nil, err
	}
	s.batch.give(&p.meters.held)
	p.meters.batches.Add(1)
	p.meters.rows.Add(int64(s.batch.Rows))
	return s.batch, s.state, nil
}

// next returns the next batch, on the device. Its error is io.EOF after the last.
func (p *pass) next() (sent, error) {
	if p.ctx.Err() != nil {
		return sent{}, cause.Of(p.ctx, ErrClosed)
	}
	ctx := p.ctx
	if p.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(p.ctx, p.timeout, &loader.TimeoutError{After: p.timeout})
		defer stop()
	}
	begin := time.Now()
	var s sent
	var ok bool
	select {
	case s, ok = <-p.out:
	case <-ctx.Done():
		return sent{}, p.ended(ctx)
	}
	arrival := time.Now()
	p.meters.feed.Add(int64(arrival.Sub(begin)))
	if !ok {
		return sent{}, p.last()
	}
	err := s.batch.Wait(ctx)
	p.meters.device.Add(int64(time.Since(arrival)))
	if err == nil {
		return s, nil
	}
	s.batch.Release()
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return sent{}, p.ended(ctx)
	}
	return sent{}, err
}

// last is how feed has ended.
func (p *pass) last() error {
	switch {
	case p.ctx.Err() != nil:
		return cause.Of(p.ctx, ErrClosed)
	case p.err != nil:
		return p.err
	}
	return io.EOF
}

// ended is why ctx has ended, for the consumer.
func (p *pass) ended(ctx context.Context) error {
	late, ok := context.Cause(ctx).(*loader.TimeoutError)
	if !ok {
		return cause.Of(ctx, ErrClosed)
	}
	late.Waiting = p.waiting()
	return late
}

// waiting says in words why the consumer has no batch yet.
func (p *pass) waiting() string {
	switch p.doing.Load() {
	case sends:
		if held := p.meters.held.Load(); int(held) >= cap(p.transfer.buffers.free) {
			return fmt.Sprintf("memory of the device: %d batches were handed out and not released; call Release when done with a batch", held)
		}
		return "a batch to be given to the device"
	case hands:
		return "a copy to arrive on the device"
	}
	s := p.host.Stats()
	return fmt.Sprintf("the loader, with %d batches ready and %d on their way (%v)", s.Ready.Depth, s.Held, s.Stream)
}

// Close ends feed, releases the batches in flight, and closes the transfer. Any goroutine may call
// it.
func (p *pass) Close() error {
	p.closer.Do(func() {
		p.cancel(ErrClosed)
		p.group.Wait()
		for s := range p.out {
			s.batch.Release()
		}
		p.closed = p.transfer.Close()
	})
	return p.closed
}

// Leave is Close.
func (p *pass) Leave() error { return p.Close() }
