package iterable

import (
	"context"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shuffle"
)

// await waits for a span and moves its blocks into the shuffle buffer.
func (s *Stream) await(ctx context.Context, k key) (*resident, error) {
	began := time.Now()
	for s.pending[k] == nil {
		if err := s.receive(ctx); err != nil {
			s.ahead.tally.add(Stats{WaitBuffer: time.Since(began)})
			return nil, err
		}
	}
	l := s.pending[k]
	ready, taken := s.ahead.evictable.claim(l)
	if !taken {
		s.ahead.want(l.number)
		for ; !taken; ready, taken = s.ahead.evictable.claim(l) {
			if _, _, err := receiveFrom(ctx, s, ready); err != nil {
				return nil, err
			}
		}
		s.attribute(began, l)
	}
	if l.err != nil && !s.losses.stands(l) {
		return nil, s.because(s.losses.OnError.Hinted(l.err))
	}
	switch {
	case l.residents != nil:
	case l.err != nil:
		s.dataset.loseOf(l.manifest, l.rows, l.err)
		l.residents = l.gaps()
	default:
		l.residents = s.buffer.admit(l)
	}
	delete(s.pending, k)
	return l.resident(k), nil
}

// because prefers that the stream was closed to what came of it.
func (s *Stream) because(err error) error {
	select {
	case <-s.closing:
		return errClosed
	default:
		return err
	}
}

// receiveFrom takes a value of c, unless the stream is closed or ctx ends before.
func receiveFrom[T any](ctx context.Context, s *Stream, c <-chan T) (v T, ok bool, err error) {
	select {
	case v, ok = <-c:
	case <-s.closing:
		err = errClosed
	case <-ctx.Done():
		err = cause.Of(ctx)
	}
	return v, ok, err
}

// attribute divides the time from began to now by what the load was waiting for.
func (s *Stream) attribute(began time.Time, l *load) {
	between := func(from, to time.Time) time.Duration {
		if from.Before(began) {
			from = began
		}
		return max(0, to.Sub(from))
	}
	fetched, now := l.fetched, time.Now()
	if fetched.IsZero() { // it failed before
		fetched = now
	}
	s.ahead.tally.add(Stats{
		WaitBuffer: between(began, l.begun), WaitFetch: between(l.begun, fetched), WaitDecode: between(fetched, now),
	})
}

// receive takes the next load of the schedule, and requests it if it is not ready.
func (s *Stream) receive(ctx context.Context) error {
	if len(s.ahead.loads) == 0 {
		s.ahead.want(s.received + 1)
	}
	l, ok, err := receiveFrom(ctx, s, s.ahead.loads)
	if err != nil {
		return err
	}
	if !ok {
		return s.because(errOrder)
	}
	s.received++
	s.ahead.lookAgain() // the queue may have been full
	if l.wanted[0].epoch < s.floor {
		s.unwanted = append(s.unwanted, l)
		return nil
	}
	for _, w := range l.wanted {
		s.pending[w.key] = l
	}
	return nil
}

// free releases what a ready load holds.
func (s *Stream) free(l *load) {
	if l.blocks != nil {
		s.ahead.dropBlocks(l)
		s.ahead.discharge(l)
	}
}

// forget drops unused loads of earlier epochs.
func (s *Stream) forget(epoch uint64) {
	s.floor = epoch
	for k, l := range s.pending {
		switch {
		case k.epoch >= epoch:
			continue
		case l.residents != nil: // another of its spans was awaited
			s.buffer.drop(l.resident(k), s.drawn)
		default:
			s.unwanted = append(s.unwanted, l)
		}
		delete(s.pending, k)
	}
}

// freeUnwanted frees ready loads that are not needed any more.
func (s *Stream) freeUnwanted() {
	s.unwanted = slices.DeleteFunc(s.unwanted, func(l *load) bool {
		_, ok := s.ahead.evictable.claim(l)
		if ok {
			s.free(l)
		}
		return ok
	})
}

// drain frees everything that was read. The read-ahead is closed, so all its loads are ready.
func (s *Stream) drain() {
	for l := range s.ahead.loads {
		s.unwanted = append(s.unwanted, l)
	}
	s.forget(^uint64(0))
	s.freeUnwanted()
	s.walk.close()
	if s.padding != nil {
		s.buffer.drop(s.padding, s.drawn)
		s.padding = nil
	}
}

// padWithNothing fills a draw without rows of its own up to n rows: with the first row of the
// data that is not lost, none of them valid.
func (s *Stream) padWithNothing(ctx context.Context, d *Draw, rows int) (err error) {
	if s.padding == nil {
		if s.padding, err = s.firstRow(ctx); err != nil {
			return err
		}
	}
	for len(d.Picks) < rows {
		d.Picks = append(d.Picks, s.pick(d, s.padding, 0))
	}
	return nil
}

// firstRow reads the first sample of the data that is not lost.
func (s *Stream) firstRow(ctx context.Context) (r *resident, err error) {
	for _, of := range s.dataset.sources {
		units, unitsErr := of.ownUnits()
		if unitsErr != nil {
			return nil, unitsErr
		}
		for i, u := range units.All() {
			if u.Samples == 0 {
				continue
			}
			l := of.sizes.newLoad(u, shuffle.Span{Unit: i, To: 1}, false)
			l.wanted = []wanted{{rows: 1}}
			if err = s.ahead.loadNow(ctx, l); err == nil {
				return s.buffer.admit(l)[0], nil
			}
			if !s.losses.stands(l) {
				return nil, s.losses.OnError.Hinted(err)
			}
		}
	}
	return nil, err
}
