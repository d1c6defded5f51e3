package ahead

import (
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// sharing lets the streams of one data set use one block when they need the same rows at about the
// same time, as the ranks of a process do in file order. It holds no blocks: a block is known as
// long as some stream uses it. Every stream's account counts the block in full.
type Sharing struct {
	mu     sync.Mutex
	blocks map[sharedRows]*sharedBlock
}

// sharedRows names a block: the rows of a unit, and the samples of it that the block holds.
type sharedRows struct {
	rowgroup.Rows
	from, to int64
	epoch    uint64 // 0 where all epochs have the same samples
}

func (l *Load) sharedRows() sharedRows {
	rows := sharedRows{Rows: l.Rows, from: l.Span.From, to: l.Span.To}
	if l.Rules.Draws() {
		rows.epoch = l.Wanted[0].Epoch
	}
	return rows
}

// A sharedBlock is a block that is used, or is being decoded by the stream that asked first.
type sharedBlock struct {
	ready chan struct{}   // closed when block is set, or when its stream gave up
	block *rowgroup.Block // guarded by sharing.mu
	users int             // streams that hold a reference

	// places are the rows of the block that its samples are, where rows come more than once; nil
	// where sample i is row i.
	places []uint32

	trail *wait.Trail // of the load that decodes it
}

// join returns the block of some rows when another stream has it, waiting for one that is being
// decoded: what held that one up is added to the trail of the caller's load. It returns nil when
// the caller must decode it, and report the result with settle.
func (s *Sharing) join(ctx context.Context, rows sharedRows, trail *wait.Trail) (b *rowgroup.Block, places []uint32, err error) {
	for {
		began := wait.Now()
		b, e := s.enter(rows, trail)
		switch {
		case e == nil:
			return nil, nil, nil
		case b != nil:
			return b, e.places, nil
		}
		trail.Follow(e.trail)
		select {
		case <-e.ready:
			trail.During(e.trail, began, wait.Now())
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// enter takes a reference to the block, or registers the caller as the one who decodes it, or
// returns what to wait for.
func (s *Sharing) enter(rows sharedRows, trail *wait.Trail) (*rowgroup.Block, *sharedBlock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocks == nil {
		s.blocks = map[sharedRows]*sharedBlock{}
	}
	e := s.blocks[rows]
	if e == nil {
		s.blocks[rows] = &sharedBlock{ready: make(chan struct{}), trail: trail}
		return nil, nil
	}
	if e.block != nil {
		e.block.Retain()
		e.users++
	}
	return e.block, e
}

// settle hands a block to the streams that wait for it. nil means that it will not come; one of
// them then decodes it.
func (s *Sharing) settle(rows sharedRows, b *rowgroup.Block, places []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.blocks[rows]
	if e.block, e.places, e.users = b, places, 1; b == nil {
		delete(s.blocks, rows)
	}
	close(e.ready)
}

// release drops a user's reference.
func (s *Sharing) release(rows sharedRows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.blocks[rows]
	e.block.Release()
	if e.users--; e.users == 0 {
		delete(s.blocks, rows)
	}
}
