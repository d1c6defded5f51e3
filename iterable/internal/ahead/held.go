package ahead

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Held is the blocks of a load that its consumer took. The account counts them under mem.Shuffle.
type Held struct {
	Blocks []*rowgroup.Block // one, or one for each of the load's parts; nil where a part was released
	Bytes  int64             // that the account counts

	reader *Reader
	rows   sharedRows
	shared bool // with other streams
}

// Take hands the blocks of a load that is ready, and did not fail, to the consumer.
func (r *Reader) Take(l *Load) *Held {
	h := &Held{Blocks: l.blocks, Bytes: l.charged.Decode, reader: r, rows: l.sharedRows(), shared: l.Shared}
	r.Account.Move(mem.Decode, mem.Shuffle, h.Bytes)
	r.taken(l)
	l.blocks, l.charged = nil, Estimate{}
	return h
}

// ReleasePart releases one of several blocks.
func (h *Held) ReleasePart(i int) {
	part := h.Blocks[i]
	h.Blocks[i] = nil
	n := part.Bytes()
	part.Release()
	h.uncharge(n)
}

// Release releases the blocks that are left.
func (h *Held) Release() {
	h.reader.releaseBlocks(h.Blocks, h.rows, h.shared)
	h.uncharge(h.Bytes)
}

// uncharge lets loads have n bytes.
func (h *Held) uncharge(n int64) {
	h.Bytes -= n
	h.reader.Account.Release(mem.Shuffle, n)
	h.reader.lookAgain()
}

// releaseBlocks drops the stream's references to the blocks of a load; nil is one that was released
// before.
func (r *Reader) releaseBlocks(blocks []*rowgroup.Block, rows sharedRows, shared bool) {
	if shared {
		r.Sharing.release(rows)
		return
	}
	for _, b := range blocks {
		if b != nil {
			b.Release()
		}
	}
}

// dropBlocks releases the blocks of a load and their orders.
func (r *Reader) dropBlocks(l *Load) {
	for _, o := range l.orders {
		r.GiveOrder(o)
	}
	r.releaseBlocks(l.blocks, l.sharedRows(), l.Shared)
	l.blocks, l.orders = nil, nil
}

// TakeOrder returns memory for the order of n rows; GiveOrder returns it to the pool.
func (r *Reader) TakeOrder(rows int) []uint32 {
	if o, ok := r.orders.Get().(*[]uint32); ok && cap(*o) >= rows {
		return (*o)[:0]
	}
	return make([]uint32, 0, rows)
}

func (r *Reader) GiveOrder(o []uint32) {
	if o != nil {
		r.orders.Put(&o)
	}
}
