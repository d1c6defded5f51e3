package block

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// A remaking makes a block once more, from the shard's bytes, after the image that it lies in was
// lost.
type remaking struct {
	from func(ctx context.Context) (*Block, error)

	mu   sync.Mutex // held while the block is made
	made atomic.Pointer[Block]
}

// Remake sets how Guard makes a block of the same rows and columns that lies in memory. It does
// nothing for a block that does so already.
func (b *Block) Remake(from func(ctx context.Context) (*Block, error)) {
	if b.lease != nil {
		b.remaking = &remaking{from: from}
	}
}

// block returns the block that was made, and makes it the first time.
func (r *remaking) block(ctx context.Context) (*Block, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if made := r.made.Load(); made != nil {
		return made, nil
	}
	made, err := r.from(ctx)
	if err == nil {
		r.made.Store(made)
	}
	return made, err
}

// release drops the block that was made.
func (r *remaking) release() {
	if r == nil {
		return
	}
	if made := r.made.Load(); made != nil {
		made.Release()
	}
}

// Guard runs f, which gathers from blocks. Blocks may lie in an image, a mapped file: where it
// cannot be read any more, since another program cut it or its disk fails, Guard puts blocks that
// are made from the shard in their places, and runs f again. They live as long as the blocks that
// they replace. Without a way to make them the error names the shard.
func Guard(ctx context.Context, blocks []*Block, f func() error) error {
	for {
		if !useMade(blocks) {
			return f()
		}
		err := shard.Guard(f)
		if !errors.Is(err, shard.ErrChanged) {
			return err
		}
		if err := remakeLost(ctx, blocks, err); err != nil {
			return err
		}
	}
}

// useMade replaces blocks that were made once more, and reports whether any of the others lies in
// an image.
func useMade(blocks []*Block) (mapped bool) {
	for i, b := range blocks {
		switch {
		case b.lease == nil:
		case b.remaking != nil && b.remaking.made.Load() != nil:
			blocks[i] = b.remaking.made.Load()
		default:
			mapped = true
		}
	}
	return mapped
}

// remakeLost makes the blocks whose images are lost, or all in images if each file looks whole.
func remakeLost(ctx context.Context, blocks []*Block, fault error) error {
	inImage := func(b *Block) bool { return b.lease != nil }
	lost := slices.DeleteFunc(slices.Clone(blocks), func(b *Block) bool { return !inImage(b) || b.imageIsWhole() })
	if len(lost) == 0 {
		lost = slices.DeleteFunc(slices.Clone(blocks), func(b *Block) bool { return !inImage(b) })
	}
	for _, b := range lost {
		if b.remaking == nil {
			return b.lostImage(fault)
		}
		if _, err := b.remaking.block(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *Block) imageIsWhole() bool {
	l, ok := b.lease.(interface{ Whole() bool })
	return ok && l.Whole()
}

func (b *Block) lostImage(fault error) error {
	return &Error{
		Op: "gather", URI: b.from.URI, RowGroup: b.from.RowGroup, Page: -1, Err: fault,
		Hint: "the cache's file of decoded rows changed while it was used; start again from the last state",
	}
}
