package engine

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// maxReplicas is how many consumers may share a ring.
const maxReplicas = 64

// A seat is a place in the order of an iteration's steps. One participant has it, or replicas,
// which read the same batches from one ring. A slot is free when all replicas gave it back.
type seat struct {
	session  *session
	replicas []*participant
	skips    int64 // turns that are left out from now on, whose batches the worker had before a resume

	// The ring for all iterations of a run, from connect on. The run's loader allocates in it until
	// cut. The seat of the next iteration takes it over.
	ring loader.Allocator
	ctx  context.Context
	cut  context.CancelFunc
}

// first is the first replica's participant.
func (s *seat) first() *participant { return s.replicas[0] }

// consumers returns the consumers of the unfinished participants. The session's mutex is held.
func (s *seat) consumers() (all []consumer) {
	for _, p := range s.replicas {
		if !p.over {
			all = append(all, p.consumer)
		}
	}
	return all
}

// connect makes the consumers' ring for the loader, unless all participants are over already.
func (s *seat) connect(need ringNeed) (err error) {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	s.unlink()
	s.ctx, s.cut = context.WithCancel(s.session.dataset.ctx)
	all := s.consumers()
	if len(all) == 0 {
		s.cut()
		return nil
	}
	s.ring, err = all[0].ring(need, all[1:]...)
	return err
}

// use makes the ring keep to an account.
func (s *seat) use(account *iterable.Account) {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	if a, ok := s.ring.(loader.Accountant); ok {
		a.Use(account)
	}
}

// takeOver takes over the ring of the same consumers' seat of the last iteration. The session's
// mutex is held.
func (s *seat) takeOver(before *seat) {
	if s.ring, s.ctx, s.cut = before.ring, before.ctx, before.cut; len(s.consumers()) == 0 {
		s.cut()
	}
}

// unlink ends the use of the ring. The loader reads on into memory that no one sees. The session's
// mutex is held.
func (s *seat) unlink() {
	if s.cut != nil {
		s.cut()
	}
}

// deliver hands a batch to the consumers that have not left. The session's mutex is held.
func (s *seat) deliver(b *loader.Batch) error {
	all := s.consumers()
	if len(all) == 0 {
		b.Release()
		return nil
	}
	for _, p := range s.replicas {
		if !p.over {
			p.batches++
		}
	}
	return all[0].deliver(b, all[1:]...)
}

// memory returns a slot of the ring, or memory of the pool once all consumers have left.
func (s *seat) memory(ctx context.Context, size int, pool *mem.Pool) (loader.Memory, error) {
	if s.ctx.Err() == nil {
		both, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(s.ctx, func() { cancel(s.ctx.Err()) })
		m, err := s.ring.Begin(both, size)
		stop()
		cancel(nil)
		if err == nil || ctx.Err() != nil || s.ctx.Err() == nil {
			return m, err
		}
	}
	return discarded{pool.NewArena()}, nil
}

type discarded struct{ arena *mem.Arena }

func (m discarded) Alloc(n int) ([]byte, error) { return m.arena.Alloc(n)[:n:n], nil }

func (m discarded) Free() { m.arena.Free() }

// sameClients reports whether the clients of two seats are the same, replica by replica.
func sameClients(a, b *seat) bool {
	return slices.EqualFunc(a.replicas, b.replicas, func(p, q *participant) bool { return p.client == q.client })
}
