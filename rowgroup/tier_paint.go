package rowgroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// A painter makes an image of vectors.
type painter struct {
	image
	rows        int
	place, room int64

	slots []slot
	vecs  []*vector // of all nodes
	bits  int       // of validity in a record
}

// A slot is a vector that lies in records.
type slot struct {
	v    *vector
	node int
	w    int // bytes
	at   int // in the record
	bit  int // -1: none is null
}

// bytes of the columns so far, without the rounding of records.
func (p *painter) bytes() int64 { return p.image.bytes }

// add adds a column.
func (p *painter) add(col int, v *vector) (err error) {
	defer caught(&err)
	return p.node(col, v, true)
}

func (p *painter) node(col int, v *vector, top bool) error {
	if len(v.base) > 1 || v.chunkShift != 0 || v.order != nil || v.slots != nil {
		return ErrNotKept
	}
	x := imageNode{
		n: int64(v.n), nulls: int64(v.nulls), stride: int64(v.stride), codeWidth: v.codeWidth, dict: v.dict != nil, children: len(v.children), column: noColumn,
	}
	if top {
		x.column = uint32(col)
		x.inRecords = v.isSlot()
	}
	if x.inRecords {
		s := slot{v: v, node: len(p.nodes), w: int(slotWidth(v.field, v.codeWidth)), bit: -1}
		if v.nulls > 0 || v.field.Nullable { // whether or not some are: records are alike then
			s.bit = p.bits
			p.bits++
		}
		p.slots = append(p.slots, s)
		p.image.bytes += int64(s.w * v.n)
	}
	for k, b := range v.buffers() {
		if len(b) == 0 || x.inRecords && k != textBuffer {
			continue
		}
		x.buffers[k].n = int64(len(b))
		p.image.bytes += int64(len(b))
	}
	if p.nodes, p.vecs = append(p.nodes, x), append(p.vecs, v); len(p.nodes) > maxNodes {
		return ErrNotKept
	}
	below := v.children
	if v.dict != nil {
		below = append([]*vector{v.dict}, below...)
	}
	for _, c := range below {
		if err := p.node(col, c, false); err != nil {
			return err
		}
	}
	return nil
}

// isSlot says whether a vector has a fixed-width value, code or view for each row.
func (v *vector) isSlot() bool {
	if v.nulls > 0 && v.valid == nil {
		return false
	}
	return v.codes != nil || v.views != nil || v.data != nil && v.field.Kind == column.Fixed
}

// lay gives slots and buffers their places: wide slots first, so that words are aligned.
func (p *painter) lay() error {
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
	p.record = int64(at)
	p.image.bytes = (p.record*int64(p.rows) + 63) &^ 63
	p.image.rows = int64(p.rows)
	for i := range p.slots {
		s := &p.slots[i]
		x := &p.nodes[s.node]
		x.buffers[dataBuffer].off = int64(s.at)
		if s.bit >= 0 {
			s.bit += 8 * marks
			x.buffers[validBuffer] = imageSpan{int64(s.bit), 1}
		}
	}
	for i := range p.nodes {
		for k := range p.nodes[i].buffers {
			if b := &p.nodes[i].buffers[k]; b.n > 0 && !(p.nodes[i].inRecords && k == validBuffer) {
				b.off = p.image.bytes
				p.image.bytes += (b.n + 63) &^ 63
			}
		}
	}
	if p.image.bytes == 0 || p.head()+p.image.bytes > p.room {
		return fmt.Errorf("%w: %d bytes in a place of %d", ErrNotKept, p.image.bytes, p.room)
	}
	return nil
}

// alignment of a slot is the largest power of two that its width is a multiple of, up to 8.
func alignment(w int) int { return min(8, w&-w) }

// paint hands the image to the tier, the header last. It returns how long the copying took.
func (p *painter) paint(ctx context.Context, f TierFile, w *tierWindow) (copied time.Duration, err error) {
	defer caught(&err)
	if err := p.lay(); err != nil {
		return 0, err
	}
	began := time.Now()
	w.begin(f, p.place+p.head())
	if err := p.records(ctx, w); err != nil {
		return 0, err
	}
	for i, v := range p.vecs {
		for k, b := range v.buffers() {
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
	return copied, f.Keep(ctx, p.place, p.format())
}

// recordRows is how many records are made at a time: they stay in the first-level cache.
const recordRows = 64

// records writes the records.
func (p *painter) records(ctx context.Context, w *tierWindow) error {
	size := int(p.record)
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

// fill writes n values of a vector, from lo on, to records of so many bytes.
func (s *slot) fill(tile []byte, size, lo, n int) {
	from := s.v.data
	switch {
	case s.v.codes != nil:
		from = s.v.codes
	case s.v.views != nil:
		from = mem.AsBytes(s.v.views)
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
	valid := parquet.Bitmap(s.v.valid)
	for i := range n {
		if valid == nil {
			tile[i*size+s.bit/8] |= 1 << (s.bit % 8)
			continue
		}
		k := lo + i
		tile[i*size+s.bit/8] |= byte(valid[k>>6]>>(k&63)&1) << (s.bit % 8)
	}
}

// buffers are the bytes of a vector in the order of a node, as long as its values need. Bits behind
// the last are cleared.
func (v *vector) buffers() (b [buffers][]byte) {
	if v.valid != nil {
		words := v.valid[:parquet.BitmapWords(v.n)]
		last := v.n / 64
		words[last] &= parquet.LowBits(v.n % 64)
		clear(words[last+1:])
		b[validBuffer] = mem.AsBytes(words)
	}
	b[codesBuffer] = v.codes[:min(len(v.codes), v.n*v.codeWidth)]
	if v.views != nil {
		b[viewsBuffer] = mem.AsBytes(v.views[:v.n])
		end := uint64(0)
		for _, view := range v.views[:v.n] {
			end = max(end, view>>32+uint64(uint32(view)))
		}
		b[textBuffer] = v.base[0][:end]
	}
	if v.offsets != nil {
		b[offsetsBuffer] = mem.AsBytes(v.offsets[:v.n+1])
	}
	switch {
	case v.data == nil:
	case v.field.Kind == column.List:
		b[dataBuffer] = v.data[:v.n*v.stride*v.field.Children[0].Width]
	default:
		b[dataBuffer] = v.data[:v.n*v.field.Width]
	}
	return b
}
