package loader

import (
	"context"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// pooled is the default allocator: an arena per batch, over a pool. Begin waits until fewer batches
// exist than there are places. Each batch has a share of the account's bytes; bytes beyond it are
// added in the order of the batches, or refused.
type pooled struct {
	pool    *mem.Pool
	places  chan struct{} // holds one value for each batch that exists
	account *mem.Account  // nil: only the number of batches bounds the bytes
	share   int64         // of each batch
}

func newPooled(pool *mem.Pool, places chan struct{}, account *mem.Account) *pooled {
	p := &pooled{pool: pool, places: places, account: account}
	if account != nil {
		p.share = account.Reserved()[mem.Batch] / int64(max(1, cap(places)))
	}
	return p
}

// Begin waits for a place, which a batch's Free returns.
func (p *pooled) Begin(ctx context.Context, _ int) (Memory, error) {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	m := &pooledMemory{from: p, ctx: context.Background(), arena: p.pool.NewArena()}
	if p.account != nil {
		m.taken = p.share
		p.account.Charge(mem.Batch, m.taken)
		m.turn = p.account.Turn()
	}
	return m, nil
}

// pooledMemory is the memory of one batch.
type pooledMemory struct {
	from    *pooled
	ctx     context.Context // of Make
	arena   *mem.Arena
	turn    *mem.Turn // nil without an account
	taken   int64     // of the account
	scratch int64     // beside the arena, until the batch is made
}

func (m *pooledMemory) Make(ctx context.Context) { m.ctx = ctx }

// Alloc takes bytes beyond the batch's share from the account before they are allocated.
func (m *pooledMemory) Alloc(n int) ([]byte, error) {
	if err := m.take(m.arena.Bytes() + m.arena.Need(n) + m.scratch); err != nil {
		return nil, err
	}
	return m.arena.Alloc(n)[:n:n], nil
}

func (m *pooledMemory) Scratch(n int64) error {
	err := m.take(m.arena.Bytes() + m.scratch + n)
	if err == nil {
		m.scratch += n
	}
	return err
}

// take ensures that the account counts the given bytes.
func (m *pooledMemory) take(bytes int64) error {
	account := m.from.account
	if account == nil || bytes <= m.taken {
		return nil
	}
	err := m.turn.Grow(m.ctx, mem.Batch, bytes-m.taken, nil)
	if err == nil {
		m.taken = bytes
	}
	return err
}

func (m *pooledMemory) Made() {
	if m.turn == nil {
		return
	}
	if free := m.taken - max(m.from.share, m.arena.Bytes()); free > 0 && m.scratch > 0 {
		m.from.account.Release(mem.Batch, free)
		m.taken -= free
	}
	m.scratch = 0
	m.turn.Made()
}

func (m *pooledMemory) Free() {
	m.arena.Free()
	if m.from.account != nil {
		m.from.account.Release(mem.Batch, m.taken)
	}
	if m.turn != nil {
		m.turn.Over()
	}
	<-m.from.places
}
