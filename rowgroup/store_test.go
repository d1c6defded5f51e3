package rowgroup

import (
	"context"
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// errPanic makes a recordingStore panic.
var errPanic = errors.New("panic")

// A recordingStore notes what is opened and which ranges are read or lent, and can fail.
type recordingStore struct {
	shard.Store
	noViews bool

	mu    sync.Mutex
	fail  error
	opens int
	open  int
	reads []shard.Span
}

func (s *recordingStore) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, sh)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens++
	s.open++
	return &recordedObject{Object: o, store: s}, nil
}

// take returns the ranges since the last call.
func (s *recordingStore) take() []shard.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	reads := s.reads
	s.reads = nil
	return reads
}

func (s *recordingStore) setFail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *recordingStore) note(off, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, shard.Span{Off: off, N: n})
	if errors.Is(s.fail, errPanic) {
		panic("the store broke")
	}
	return s.fail
}

type recordedObject struct {
	shard.Object
	store  *recordingStore
	closed bool
}

func (o *recordedObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := o.store.note(off, int64(len(p))); err != nil {
		return err
	}
	return o.Object.ReadAt(ctx, p, off)
}

func (o *recordedObject) Lend(off, n int64) (shard.Lease, error) {
	l, ok := o.Object.(shard.Lender)
	if o.store.noViews || !ok {
		return nil, errors.ErrUnsupported
	}
	if err := o.store.note(off, n); err != nil {
		return nil, err
	}
	return l.Lend(off, n)
}

func (o *recordedObject) Close() error {
	o.store.mu.Lock()
	if !o.closed {
		o.closed = true
		o.store.open--
	}
	o.store.mu.Unlock()
	return o.Object.Close()
}
