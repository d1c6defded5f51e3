package iterable

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/shuffle"
)

// An arrival is a load that the consumer received and needs.
type arrival struct {
	*ahead.Load
	residents []*resident // by Wanted, once the load is in the shuffle buffer
}

// resident returns the resident of one of the keys that the load is wanted for.
func (a *arrival) resident(k ahead.Key) *resident {
	return a.residents[slices.IndexFunc(a.Wanted, func(w ahead.Wanted) bool { return w.Key == k })]
}

// await waits for a span and moves its blocks into the shuffle buffer.
func (s *Stream) await(ctx context.Context, k ahead.Key) (r *resident, err error) {
	for s.pending[k] == nil {
		if err := s.receive(ctx); err != nil {
			return nil, err
		}
	}
	a := s.pending[k]
	if a.residents == nil {
		if err := s.ahead.Await(ctx, a.Load, s.now.Trail); err != nil {
			return nil, err
		}
		if a.residents, err = s.outcome(a.Load); err != nil {
			return nil, s.because(err)
		}
	}
	delete(s.pending, k)
	return a.resident(k), nil
}

// outcome returns the residents of an awaited load, in the order of its wanted: gaps if it is lost,
// and the stream may lose it.
func (s *Stream) outcome(l *ahead.Load) ([]*resident, error) {
	switch {
	case l.Err == nil:
		return s.buffer.admit(l), nil
	case s.losses.stands(l.Err):
		s.dataset.loseOf(l.Manifest, l.Rows, l.Err)
		return gaps(l), nil
	default:
		return nil, s.losses.OnError.Hinted(l.Err)
	}
}

// because prefers that the stream was closed to what came of it.
func (s *Stream) because(err error) error {
	select {
	case <-s.closing:
		return ahead.ErrClosed
	default:
		return err
	}
}

// receive takes the next load of the schedule.
func (s *Stream) receive(ctx context.Context) error {
	l, err := s.ahead.Next(ctx, s.now.Trail)
	if err != nil {
		return err
	}
	if l == nil {
		return s.because(errOrder)
	}
	if l.Wanted[0].Epoch < s.floor {
		s.unwanted = append(s.unwanted, l)
		return nil
	}
	a := &arrival{Load: l}
	for _, w := range l.Wanted {
		s.pending[w.Key] = a
	}
	return nil
}

// forget drops unused loads of earlier epochs.
func (s *Stream) forget(epoch uint64) {
	s.floor = epoch
	for k, a := range s.pending {
		switch {
		case k.Epoch >= epoch:
			continue
		case a.residents != nil: // another of its spans was awaited
			s.buffer.drop(a.resident(k), s.drawn)
		default:
			s.unwanted = append(s.unwanted, a.Load)
		}
		delete(s.pending, k)
	}
}

// freeUnwanted frees ready loads that are not needed any more.
func (s *Stream) freeUnwanted() { s.unwanted = slices.DeleteFunc(s.unwanted, s.ahead.Drop) }

// drain frees everything that was read. The read-ahead is closed, so all its loads are ready.
func (s *Stream) drain() {
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
			l.Wanted = []ahead.Wanted{{Rows: 1}}
			if err = s.ahead.LoadNow(ctx, l, s.now.Trail); err == nil {
				return s.buffer.admit(l)[0], nil
			}
			if !s.losses.stands(err) {
				return nil, s.losses.OnError.Hinted(err)
			}
		}
	}
	return nil, err
}
