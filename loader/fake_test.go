package loader

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/iteration"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A fakeStream draws steps of one row without columns. A step's position is its number.
type fakeStream struct {
	steps  int64
	failAt int64         // step that fails; -1 none
	err    error         // with which; nil panics
	hangAt int64         // step that waits until ctx ends; -1 none
	hangs  chan struct{} // if set, closed when it waits
	next   atomic.Int64
	closed atomic.Int64
}

func (s *fakeStream) Next(ctx context.Context) (*iterable.Draw, error) {
	i := s.next.Add(1) - 1
	switch {
	case i == s.failAt && s.err == nil:
		panic("no error")
	case i == s.failAt:
		return nil, s.err
	case i == s.hangAt:
		if s.hangs != nil {
			close(s.hangs)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	case i >= s.steps:
		return nil, io.EOF
	}
	return &iterable.Draw{Trail: new(iterable.Trail), Rows: 1, Valid: 1, Step: i, Position: i, State: shuffle.State{Seed: 5, Position: i + 1}}, nil
}

func (s *fakeStream) Lose(int64, int64, iterable.Loss) error { return nil }

func (s *fakeStream) Stats() iterable.Stats { return iterable.Stats{Rows: s.next.Load()} }

func (s *fakeStream) Live() *iterable.Trail { return nil }

func (s *fakeStream) Close() error {
	s.closed.Add(1)
	return nil
}

// slots is an allocator of the user's: so many batches at once, and all calls counted.
type slots struct {
	mu     sync.Mutex
	free   chan struct{}
	out    int
	begins int
	fail   error // of Begin
	full   error // of Alloc
}

func newSlots(n int) *slots {
	s := &slots{free: make(chan struct{}, n)}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

func (s *slots) Begin(ctx context.Context, _ int) (Memory, error) {
	select {
	case <-s.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		s.free <- struct{}{}
		return nil, s.fail
	}
	s.out++
	s.begins++
	return &slot{from: s}, nil
}

func (s *slots) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

type slot struct {
	from  *slots
	freed atomic.Bool
}

func (m *slot) Alloc(n int) ([]byte, error) { return make([]byte, n+64)[:n:n], m.from.full }

func (m *slot) Free() {
	if m.freed.Swap(true) {
		panic("a slot was freed twice")
	}
	m.from.mu.Lock()
	m.from.out--
	m.from.mu.Unlock()
	m.from.free <- struct{}{}
}

// fakeLoader is a loader over fake streams of so many steps, which are returned as they are opened.
func fakeLoader(t testing.TB, o Options, steps int64, change func(*fakeStream)) (*Loader, *[]*fakeStream) {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	o = o.withDefaults()
	r, err := newRecipe(&column.Schema{}, o)
	if err != nil {
		t.Fatal(err)
	}
	var opened []*fakeStream
	l := &Loader{
		o: o, recipe: r, length: steps, pool: &mem.Pool{}, places: make(chan struct{}, o.MaxBatches), owner: &owner{}, meters: &meters{},
		loop: iteration.Loop[*pass, *Batch]{Closed: ErrClosed, Busy: ErrBusy},
	}
	l.loop.Resume(o.State)
	l.open = func(_ context.Context, _ int, state *shuffle.State) (rowStream, *mem.Account, error) {
		s := &fakeStream{steps: steps, failAt: -1, hangAt: -1}
		if state != nil {
			s.next.Store(state.Position)
		}
		if change != nil {
			change(s)
		}
		opened = append(opened, s)
		return s, nil, nil
	}
	return l, &opened
}

// steps goes through an iteration, releases each batch and returns the steps in the order in which
// they came, and the error.
func steps(ctx context.Context, l *Loader) (got []int64, err error) {
	for b, err := range l.Batches(ctx) {
		if err != nil {
			return got, err
		}
		got = append(got, b.Step)
		b.Release()
	}
	return got, nil
}

// upTo is 0..n-1.
func upTo(n int64) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(i)
	}
	return s
}

// nothingLeft checks that an iteration gave everything back.
func nothingLeft(t testing.TB, l *Loader, opened []*fakeStream) {
	t.Helper()
	for i, s := range opened {
		if n := s.closed.Load(); n != 1 {
			t.Errorf("stream %d was closed %d times", i, n)
		}
	}
	if n := l.owner.held.Load(); n != 0 {
		t.Errorf("%d batches are held", n)
	}
	if n := len(l.places); n != 0 {
		t.Errorf("%d places are taken", n)
	}
	if s, ok := l.o.Allocator.(*slots); ok && s.inUse() != 0 {
		t.Errorf("%d slots are in use", s.inUse())
	}
	if n := l.pool.Stats().InUse; n != 0 {
		t.Errorf("%d bytes of the pool are in use", n)
	}
	if d := l.meters.depth.Load(); d != 0 {
		t.Errorf("%d batches count as ready", d)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

var errTest = errors.New("it broke")
