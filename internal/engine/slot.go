package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

const (
	batchMagic = 0x31424653 // "SFB1"
	batchAlign = 256
	headSize   = 64 // of a batch's header
	nodeSize   = 64 // of a descriptor
	sumSize    = 32 // of the audit's sum
	trailSize  = 16 // of a trail, without its marks
	maxAlloc   = 1 << 42

	// firstByte is the offset of a slot's first buffer. Offset 0 means that there is no buffer.
	firstByte = batchAlign
)

// A slot is the memory of one batch. When it is too small, further bytes come from a slot of a
// larger generation, and write puts the batch together.
type slot struct {
	ring  *ring
	ctx   context.Context // of Make
	at    *generation
	index uint32
	n     int // bytes that were given out of the slot at index

	beside  int64 // bytes of Scratch
	scratch int64 // of these, what the account counts

	left   []outgrown // smaller slots, with bytes of the batch in them
	behind int64      // those bytes
	to     uint64     // trainers that get it, a bit for each; 0 is the only one
	sent   bool       // the trainers'
	turn   *mem.Turn  // nil without an account
}

// An outgrown slot became too small.
type outgrown struct {
	at    *generation
	index uint32
}

func aligned(n int) int { return (n + batchAlign - 1) &^ (batchAlign - 1) }

// Alloc returns n bytes, 256-byte aligned.
func (s *slot) Alloc(n int) ([]byte, error) {
	if n < 0 || n > maxAlloc {
		return nil, fmt.Errorf("%d bytes do not fit a batch", n)
	}
	if int64(s.n)+int64(aligned(n))+s.behind > int64(s.at.size) {
		if err := s.grow(int64(aligned(n))); err != nil {
			return nil, err
		}
	}
	at := s.n
	if err := s.at.touch(s.index, at+n, s.take); err != nil {
		return nil, err
	}
	s.n += aligned(n)
	return s.at.bytes(s.index)[at : at+n : at+n], nil
}

// Make sets what ends waits for memory.
func (s *slot) Make(ctx context.Context) { s.ctx = ctx }

// take counts bytes in addition to the ring's slots, in the batch's turn.
func (s *slot) take(n int64) error {
	account := s.at.account
	if account == nil {
		return nil
	}
	if s.turn == nil { // the batch began before Use
		s.turn = account.Turn()
	}
	ctx, cancel := context.WithCancelCause(s.ring.life)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	return s.turn.Grow(ctx, mem.Batch, n, s.ring.stuck)
}

// Scratch takes bytes besides the slot, until Made. The scratch memory of an ordinary batch is not
// counted.
func (s *slot) Scratch(n int64) error {
	before := max(0, s.beside-int64(s.at.size))
	s.beside += n
	more := max(0, s.beside-int64(s.at.size)) - before
	if more <= 0 {
		return nil
	}
	if err := s.take(more); err != nil {
		return err
	}
	s.scratch += more
	return nil
}

// Made gives the memory beside the slot back.
func (s *slot) Made() {
	if s.scratch > 0 {
		s.at.account.Release(mem.Batch, s.scratch)
		s.scratch = 0
	}
	if s.turn != nil && len(s.left) == 0 { // else write takes more
		s.turn.Made()
	}
}

// grow moves on to a larger slot, which has capacity for all bytes so far and n more.
func (s *slot) grow(n int64) error {
	behind := s.behind + int64(s.n)
	g, index, err := s.ring.larger(behind + n)
	if err != nil {
		return err
	}
	s.left = append(s.left, outgrown{s.at, s.index})
	s.at, s.index, s.n, s.behind = g, index, firstByte, behind
	if g.single { // the batch needs them in any case
		return g.touch(index, int(min(firstByte+behind+n, int64(g.size))), s.take)
	}
	return nil
}

// Free releases the slots that became too small, and the last slot unless the trainer has it.
func (s *slot) Free() {
	for _, p := range s.left {
		s.ring.give(p.at, p.index, false)
	}
	s.left, s.behind = nil, 0
	s.Made()
	if !s.sent {
		s.ring.give(s.at, s.index, true)
		if s.turn != nil {
			s.turn.Over()
		}
	}
}

// write lays out a batch in the slot as the package's page says, and gives the slot to the trainer.
// Free does not take it back after that. The caller sends the announcement that it returns.
func (s *slot) write(b *loader.Batch) (wire.Announcement, error) {
	marks := b.Trail.Marks()
	for {
		w := slotWriter{slot: s, marks: marks}
		for _, a := range b.Columns {
			if err := w.measure(a); err != nil {
				return wire.Announcement{}, err
			}
		}
		end := int64(s.n) + w.outside + headSize + int64(w.nodes)*nodeSize + beside(b, marks)
		if end <= int64(s.at.size) {
			return s.fill(b, &w, int(end))
		}
		if err := s.grow(end - int64(s.n)); err != nil {
			return wire.Announcement{}, err
		}
	}
}

func (s *slot) fill(b *loader.Batch, w *slotWriter, end int) (wire.Announcement, error) {
	if err := s.at.touch(s.index, end, s.take); err != nil {
		return wire.Announcement{}, err
	}
	if s.at.single {
		if err := s.at.cut(end, len(s.ring.breach)); err != nil {
			return wire.Announcement{}, err
		}
	}
	w.bytes, w.next = s.at.bytes(s.index), s.n
	head := s.n + int(w.outside)
	w.node = head + headSize
	for _, a := range b.Columns {
		w.describe(a)
	}
	putBeside(w.bytes[w.node:end], b, w.marks)
	seq := s.ring.announced(s.at, s.index, s.to, s.turn)
	s.sent = true
	h, le := w.bytes[head:head+headSize], binary.LittleEndian
	le.PutUint32(h[0:], batchMagic)
	le.PutUint32(h[4:], uint32(w.nodes))
	le.PutUint64(h[8:], seq)
	le.PutUint32(h[16:], uint32(b.Rows))
	le.PutUint32(h[20:], uint32(b.Valid))
	le.PutUint64(h[24:], uint64(b.Epoch))
	le.PutUint64(h[32:], uint64(b.Step))
	le.PutUint64(h[40:], uint64(b.Position))
	le.PutUint64(h[48:], b.State.Epoch)
	le.PutUint64(h[56:], uint64(b.State.Position))
	return wire.Announcement{Generation: s.at.number, Slot: s.index, Seq: seq, Offset: uint64(head), Used: uint64(end)}, nil
}

// slotRest returns what a slot has at most beside the buffers of its batch.
func slotRest(schema []wire.Node, rows int, hashes bool) int64 {
	const marks = 256 // more are rare, and make a larger slot
	n := firstByte + headSize + countNodes(schema)*nodeSize + sumSize + trailSize + 8*marks
	if hashes {
		n += 2 * 8 * rows
	}
	return int64(n)
}

func countNodes(schema []wire.Node) (n int) {
	for _, node := range schema {
		n += 1 + countNodes(node.Children)
	}
	return n
}

// beside is the bytes that follow the descriptors.
func beside(b *loader.Batch, marks []iterable.Mark) int64 {
	return sumSize + trailSize + 8*int64(len(b.Hashes)+len(b.Gaps)+len(marks))
}

// putBeside writes what the batch adds to the audit of its epoch, and what held it up.
func putBeside(to []byte, b *loader.Batch, marks []iterable.Mark) {
	le, end := binary.LittleEndian, b.Trail.End()
	for i, n := range [...]uint64{uint64(b.Sum.Rows), uint64(b.Sum.Lost), uint64(b.Sum.Padded), b.Sum.Hash, uint64(end), uint64(len(marks))} {
		le.PutUint64(to[8*i:], n)
	}
	to = to[sumSize+trailSize:]
	for i, h := range b.Hashes {
		le.PutUint64(to[8*i:], h)
	}
	to = to[8*len(b.Hashes):]
	for i, gap := range b.Gaps {
		le.PutUint64(to[8*i:], uint64(gap))
	}
	putMarks(to[8*len(b.Gaps):], marks, end)
}

// putMarks writes the marks of a trail, each by the time from it to the end.
func putMarks(to []byte, marks []iterable.Mark, end int64) {
	for i, m := range marks {
		binary.LittleEndian.PutUint64(to[8*i:], uint64(end-m.End)<<8|uint64(m.Cause))
	}
}

// A slotWriter assigns the buffers of a batch to places in its slot. Gathered columns already are
// there. Buffers of transforms, and buffers in slots that became too small, are copied.
type slotWriter struct {
	slot    *slot
	marks   []iterable.Mark // of the batch's trail
	nodes   int
	outside int64 // bytes to copy

	bytes []byte // the slot
	next  int    // where the next copy goes
	node  int    // where the next descriptor goes
}

// within returns the offset of b in the slot, or -1.
func (w *slotWriter) within(b []byte) int {
	base := w.slot.at.bytes(w.slot.index)
	off := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(base)))
	if off < firstByte || off >= uintptr(w.slot.n) || off%batchAlign != 0 {
		return -1
	}
	return int(off)
}

type buffers struct{ valid, offsets, data []byte }

// buffersOf returns the buffers of a node, or an error when they do not fit together.
func buffersOf(a *column.Array) (p buffers, err error) {
	short := func(what string, have, want int) error {
		return fmt.Errorf("%s: %d where %d values take %d; this is a bug", what, have, a.Len, want)
	}
	if a.Valid != nil {
		if n := (a.Len + 7) / 8; len(a.Valid) < n {
			return p, short("bytes of validity", len(a.Valid), n)
		}
		p.valid = a.Valid[:(a.Len+7)/8]
	}
	switch a.Field.Kind {
	case column.Fixed:
		if len(a.Data) < a.Len*a.Field.Width {
			return p, short("bytes of data", len(a.Data), a.Len*a.Field.Width)
		}
		p.data = a.Data[:a.Len*a.Field.Width]
	case column.Binary, column.Map, column.List:
		if a.Field.Kind == column.List && a.Offsets == nil && a.Field.ListSize > 0 {
			break
		}
		if a.Offsets == nil && a.Len == 0 {
			p.offsets = make([]byte, 4)
			break
		}
		if len(a.Offsets) < a.Len+1 {
			return p, short("offsets", len(a.Offsets), a.Len+1)
		}
		p.offsets = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(a.Offsets))), (a.Len+1)*4)
		if a.Field.Kind != column.Binary {
			break
		}
		if last := int(a.Offsets[a.Len]); last > len(a.Data) {
			return p, short("bytes of data", len(a.Data), last)
		}
		p.data = a.Data[:a.Offsets[a.Len]]
	}
	return p, nil
}

// measure counts the nodes and the bytes to copy.
func (w *slotWriter) measure(a *column.Array) error {
	w.nodes++
	p, err := buffersOf(a)
	if err == nil && (a.Len > math.MaxUint32 || a.Len < 0) {
		err = fmt.Errorf("%d values do not fit a batch", a.Len)
	}
	if err != nil {
		return fmt.Errorf("column %q: %w", a.Field.Name, err)
	}
	for _, b := range [...][]byte{p.valid, p.offsets, p.data} {
		if len(b) > 0 && w.within(b) < 0 {
			w.outside += int64(aligned(len(b)))
		}
	}
	for _, c := range a.Children {
		if err := w.measure(c); err != nil {
			return fmt.Errorf("column %q: %w", a.Field.Name, err)
		}
	}
	return nil
}

func (w *slotWriter) describe(a *column.Array) {
	p, _ := buffersOf(a) // measure has seen its error
	d := w.bytes[w.node : w.node+nodeSize]
	w.node += nodeSize
	size := 0
	if a.Field.Kind == column.List && p.offsets == nil {
		size = a.Field.ListSize
	}
	le := binary.LittleEndian
	le.PutUint64(d[0:], uint64(a.Len))
	le.PutUint64(d[8:], uint64(a.Nulls))
	le.PutUint64(d[16:], w.place(p.valid))
	le.PutUint64(d[24:], w.place(p.offsets))
	le.PutUint64(d[32:], w.place(p.data))
	le.PutUint64(d[40:], uint64(len(p.data)))
	le.PutUint64(d[48:], uint64(size))
	le.PutUint64(d[56:], 0)
	for _, c := range a.Children {
		w.describe(c)
	}
}

// place returns the offset of b in the slot, and copies it there if necessary; 0: b is empty.
func (w *slotWriter) place(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	if at := w.within(b); at >= 0 {
		return uint64(at)
	}
	at := w.next
	copy(w.bytes[at:], b)
	w.next += aligned(len(b))
	return uint64(at)
}
