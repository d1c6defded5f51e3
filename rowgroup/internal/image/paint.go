package image

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// A Painter makes an image of vectors.
type Painter struct {
	Image
	rows        int
	file        File
	place, room int64

	slots []slot
	vecs  []*block.Vector // of all nodes
	bits  int             // of validity in a record
}

// A slot is a vector that is in records.
type slot struct {
	v    *block.Vector
	node int
	w    int // bytes
	at   int // in the record
	bit  int // -1 without nulls
}

// NewPainter returns a painter of the image of a row group.
func (t *Shard) NewPainter(group, rows int) *Painter {
	place := t.places[group]
	return &Painter{rows: rows, file: t.file, place: place, room: t.places[group+1] - place}
}

// Bytes returns the bytes of the columns so far, without the rounding of records.
func (p *Painter) Bytes() int64 { return p.Image.Bytes }

// Add adds a column.
func (p *Painter) Add(col int, v *block.Vector) error { return p.node(col, v, true) }

func (p *Painter) node(col int, v *block.Vector, top bool) error {
	if len(v.Base) > 1 || v.ChunkShift != 0 || v.Order != nil || v.Slots != nil {
		return ErrNotKept
	}
	x := node{
		n: int64(v.Len), nulls: int64(v.Nulls), stride: int64(v.Stride), codeWidth: v.CodeWidth, dict: v.Dict != nil, children: len(v.Children), column: noColumn,
	}
	if top {
		x.column = uint32(col)
		x.inRecords = v.IsSlot()
	}
	if x.inRecords {
		s := slot{v: v, node: len(p.nodes), w: int(block.SlotWidth(v.Field, v.CodeWidth)), bit: -1}
		if v.Nulls > 0 || v.Field.Nullable { // whether or not some are: records are alike then
			s.bit = p.bits
			p.bits++
		}
		p.slots = append(p.slots, s)
		p.Image.Bytes += int64(s.w * v.Len)
	}
	for k, b := range buffersOf(v) {
		if len(b) == 0 || x.inRecords && k != textBuffer {
			continue
		}
		x.buffers[k].n = int64(len(b))
		p.Image.Bytes += int64(len(b))
	}
	if p.nodes, p.vecs = append(p.nodes, x), append(p.vecs, v); len(p.nodes) > maxNodes {
		return ErrNotKept
	}
	below := v.Children
	if v.Dict != nil {
		below = append([]*block.Vector{v.Dict}, below...)
	}
	for _, c := range below {
		if err := p.node(col, c, false); err != nil {
			return err
		}
	}
	return nil
}

// lay gives slots and buffers their places: wide slots first, so that words are aligned.
func (p *Painter) lay() error {
	slices.SortStableFunc(p.slots, func(a, b slot) int { return alignment(b.w) - alignment(a.w) })
	at := 0
	for i := range p.slots {
		p.slots[i].at = at
		at += p.slots[i].w
	}
	marks := at
	if at += (p.bits + 7) / 8; at > 0 {
		at = (at + 7) &^ 7
	}
	p.Record = int64(at)
	p.Image.Bytes = (p.Record*int64(p.rows) + 63) &^ 63
	p.Image.Rows = int64(p.rows)
	for i := range p.slots {
		s := &p.slots[i]
		x := &p.nodes[s.node]
		x.buffers[dataBuffer].off = int64(s.at)
		if s.bit >= 0 {
			s.bit += 8 * marks
			x.buffers[validBuffer] = span{int64(s.bit), 1}
		}
	}
	for i := range p.nodes {
		for k := range p.nodes[i].buffers {
			if b := &p.nodes[i].buffers[k]; b.n > 0 && !(p.nodes[i].inRecords && k == validBuffer) {
				b.off = p.Image.Bytes
				p.Image.Bytes += (b.n + 63) &^ 63
			}
		}
	}
	if p.Image.Bytes == 0 || p.head()+p.Image.Bytes > p.room {
		return fmt.Errorf("%w: %d bytes in a place of %d", ErrNotKept, p.Image.Bytes, p.room)
	}
	return nil
}

// alignment of a slot is the largest power of two that its width is a multiple of, up to 8.
func alignment(w int) int { return min(8, w&-w) }

// Paint hands the image to the tier, the header last. decode is how long it took to decode the
// columns. It returns how long the copying took.
func (p *Painter) Paint(ctx context.Context, w *Window, decode time.Duration) (copied time.Duration, err error) {
	p.Nanos = int64(decode)
	if err := p.lay(); err != nil {
		return 0, err
	}
	began := time.Now()
	w.begin(p.file, p.place+p.head())
	if err := p.records(ctx, w); err != nil {
		return 0, err
	}
	for i, v := range p.vecs {
		for k, b := range buffersOf(v) {
			if p.nodes[i].buffers[k].n == 0 || p.nodes[i].inRecords && k == validBuffer {
				continue
			}
			if err := w.put(ctx, b); err != nil {
				return 0, err
			}
		}
	}
	if err := w.flush(ctx); err != nil {
		return 0, err
	}
	p.sum, copied = w.sum, time.Since(began)-w.waited
	return copied, p.file.Keep(ctx, p.place, p.format())
}

// recordRows is how many records are made at a time: they stay in the first-level cache.
const recordRows = 64

// records writes the records.
func (p *Painter) records(ctx context.Context, w *Window) error {
	size := int(p.Record)
	if size == 0 {
		return nil
	}
	tile := make([]byte, recordRows*size)
	for lo := 0; lo < p.rows; lo += recordRows {
		n := min(recordRows, p.rows-lo)
		clear(tile)
		for i := range p.slots {
			p.slots[i].fill(tile, size, lo, n)
		}
		if err := w.append(ctx, tile[:n*size]); err != nil {
			return err
		}
	}
	return w.align(ctx)
}

// fill writes n values of a vector, from lo on, to records of size bytes.
func (s *slot) fill(tile []byte, size, lo, n int) {
	from := s.v.Data
	switch {
	case s.v.Codes != nil:
		from = s.v.Codes
	case s.v.Views != nil:
		from = mem.AsBytes(s.v.Views)
	}
	from = from[lo*s.w:][:n*s.w]
	switch s.w {
	case 8:
		fillWords(tile[s.at:], mem.As[uint64](from), size)
	case 4:
		fillWords(tile[s.at:], mem.As[uint32](from), size)
	case 2:
		fillWords(tile[s.at:], mem.As[uint16](from), size)
	default:
		for i := range n {
			copy(tile[i*size+s.at:][:s.w], from[i*s.w:])
		}
	}
	if s.bit < 0 {
		return
	}
	valid := parquet.Bitmap(s.v.Valid)
	for i := range n {
		if valid == nil {
			tile[i*size+s.bit/8] |= 1 << (s.bit % 8)
			continue
		}
		k := lo + i
		tile[i*size+s.bit/8] |= byte(valid[k>>6]>>(k&63)&1) << (s.bit % 8)
	}
}

// buffersOf are the bytes of a vector in the order of a node, as long as its values need. Bits
// behind the last are cleared.
func buffersOf(v *block.Vector) (b [buffers][]byte) {
	if v.Valid != nil {
		words := v.Valid[:parquet.BitmapWords(v.Len)]
		last := v.Len / 64
		words[last] &= parquet.LowBits(v.Len % 64)
		clear(words[last+1:])
		b[validBuffer] = mem.AsBytes(words)
	}
	b[codesBuffer] = v.Codes[:min(len(v.Codes), v.Len*v.CodeWidth)]
	if v.Views != nil {
		b[viewsBuffer] = mem.AsBytes(v.Views[:v.Len])
		end := uint64(0)
		for _, view := range v.Views[:v.Len] {
			end = max(end, view>>32+uint64(uint32(view)))
		}
		b[textBuffer] = v.Base[0][:end]
	}
	if v.Offsets != nil {
		b[offsetsBuffer] = mem.AsBytes(v.Offsets[:v.Len+1])
	}
	switch {
	case v.Data == nil:
	case v.Field.Kind == column.List:
		b[dataBuffer] = v.Data[:v.Len*v.Stride*v.Field.Children[0].Width]
	default:
		b[dataBuffer] = v.Data[:v.Len*v.Field.Width]
	}
	return b
}
