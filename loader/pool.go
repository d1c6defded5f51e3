package loader

import (
	"context"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// pooled is the default allocator: an arena per batch, over a pool. Begin waits while as many
// batches exist as there are places, or while their bytes fill what the stream's account has for
// batches.
type pooled struct {
	pool    *mem.Pool
	places  chan struct{} // holds one value for each batch that exists
	account *mem.Account  // nil: bytes are bounded by the number of batches alone
}

// enough batches exist whatever their bytes: one with the consumer and one that it waits for. Rows
// that are far larger than the metadata foretold make progress slow and not impossible.
const enough = 2

// Begin waits for a place, then for room. Both come back with a batch's Free, and only the newest
// batch ever waits, so batches that wait for nothing but their workers always go on.
func (p *pooled) Begin(ctx context.Context, size int) (Memory, error) {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	m := &pooledMemory{from: p, arena: p.pool.NewArena()}
	if p.account == nil {
		return m, nil
	}
	m.taken = min(int64(size), p.account.Reserved()[mem.Batch])
	if len(p.places) <= enough {
		p.account.Charge(mem.Batch, m.taken)
		return m, nil
	}
	if err := p.account.Acquire(ctx, mem.Batch, m.taken); err != nil {
		<-p.places
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return m, nil
}

// pooledMemory is the memory of one batch.
type pooledMemory struct {
	from  *pooled
	arena *mem.Arena
	taken int64 // of the account
}

func (m *pooledMemory) Alloc(n int) ([]byte, error) {
	b := m.arena.Alloc(n)[:n:n]
	if more := m.arena.Bytes() - m.taken; more > 0 && m.from.account != nil {
		m.from.account.Charge(mem.Batch, more)
		m.taken += more
	}
	return b, nil
}

func (m *pooledMemory) Free() {
	m.arena.Free()
	if m.from.account != nil {
		m.from.account.Release(mem.Batch, m.taken)
	}
	<-m.from.places
}
