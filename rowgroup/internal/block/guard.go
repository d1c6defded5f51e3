package block

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// A remaking makes a block once more, from the shard's bytes, after its image was lost.
type remaking struct {
	from func(ctx context.Context) (*Block, error)

	mu   sync.Mutex // held while the block is made
	made atomic.Pointer[Block]
}

// Remake sets how Guard replaces a block by one in memory with the same rows and columns. It does
// nothing for a block that is in memory already.
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

// Guard runs f, which gathers from blocks. An image, a mapped file, may hold their bytes. If it can
// no longer be read, since another program cut it or its disk fails, or if f fails after a write to
// it, Guard replaces the blocks by others, made from the shard, and runs f again. They live as long
// as the blocks that they replace. If they cannot be made the error names the shard.
func Guard(ctx context.Context, blocks []*Block, f func() error) error {
	for {
		if !useMade(blocks) {
			return f()
		}
		err := guarded(blocks, f)
		if !errors.Is(err, shard.ErrChanged) {
			return err
		}
		if err := remakeLost(ctx, blocks, err); err != nil {
			return err
		}
	}
}

// guarded runs f in shard.Guard. An error or a panic of f is ErrChanged if the bytes of an image
// may have caused it.
func guarded(blocks []*Block, f func() error) (err error) {
	defer func() {
		v := recover()
		switch {
		case v == nil && err == nil || errors.Is(err, shard.ErrChanged):
		case !slices.ContainsFunc(blocks, func(b *Block) bool { return b.remaking != nil && b.isLost() }):
			if v != nil {
				panic(v)
			}
		case v != nil:
			err = fmt.Errorf("%w: %v", shard.ErrChanged, v)
		default:
			err = fmt.Errorf("%w: %w", shard.ErrChanged, err)
		}
	}()
	return shard.Guard(f)
}

// useMade replaces blocks that were made once more, and reports whether any other block uses an
// image.
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
	lost := slices.DeleteFunc(slices.Clone(blocks), func(b *Block) bool { return !b.isLost() })
	if len(lost) == 0 {
		lost = slices.DeleteFunc(slices.Clone(blocks), func(b *Block) bool { return b.lease == nil })
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

// isLost reports whether an image has the bytes of the block and may have changed.
func (b *Block) isLost() bool {
	l, ok := b.lease.(interface{ Whole() bool })
	return b.lease != nil && !(ok && l.Whole())
}

func (b *Block) lostImage(fault error) error {
	return &Error{
		Op: "gather", URI: b.from.URI, RowGroup: b.from.RowGroup, Page: -1, Err: fault,
		Hint: "the cache's file of decoded rows changed while it was used; start again from the last state",
	}
}
