package rowgroup

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// heldRules keeps the rule columns that DecodeRule made of a unit, in memory that is valid until
// the decoder's next call. Decode takes the delivered columns from it too.
type heldRules struct {
	raw     *Raw
	columns []rule.Column
	shared  []sharedColumn // by delivered column; one that has no vector is not shared
	arena   *mem.Arena     // of all else
	chunks  []rawChunk     // of the column that is decoded
	present [][]byte
	gather  Gatherer
	picks   []Pick
}

// A sharedColumn is a column that is delivered and that a rule reads.
type sharedColumn struct {
	vec          *block.Vector
	values, dict *mem.Arena
}

// DecodeRule decodes the rule columns of a unit: one for each of Options.RuleColumns, with a value
// for each row of the unit. They are valid until the decoder's next call. A Decode of the same Raw
// that follows takes over the columns that are delivered too.
//
// Columns whose pages are all coded stay codes, and a partition is a constant. Of lists and maps of
// RuleColumn.Lengths, and of structs, there are no children.
func (d *Decoder) DecodeRule(r *Raw) ([]rule.Column, error) {
	d.dropHeld()
	r.verified = r.verified[:0]
	d.at, d.path = -1, ""
	err := r.use(func() error { return d.decodeRules(r) })
	if damaged := r.recheckRules(); damaged != nil {
		err = damaged
	}
	d.forget()
	d.trim()
	if err != nil {
		d.dropHeld()
		return nil, d.failed(r, err)
	}
	return d.held.columns, nil
}

// dropHeld returns what DecodeRule made.
func (d *Decoder) dropHeld() {
	h := d.held
	if h == nil || h.raw == nil {
		return
	}
	for i := range h.shared {
		if s := &h.shared[i]; s.vec != nil {
			s.values.Free()
			s.dict.Free()
			s.vec = nil
		}
	}
	h.arena.Free()
	clear(h.columns)
	h.raw, h.columns = nil, h.columns[:0]
}

func (d *Decoder) decodeRules(r *Raw) (err error) {
	defer caught(&err)
	if d.held == nil {
		d.held = &heldRules{arena: d.newArena()}
	}
	h := d.held
	h.raw, d.raw, d.rows, d.layout = r, r, r.Rows, Layout{}
	if err := d.checkRows(); err != nil {
		return err
	}
	for len(h.shared) < len(r.columns) {
		h.shared = append(h.shared, sharedColumn{values: d.newArena(), dict: d.newArena()})
	}
	h.columns, h.present = h.columns[:0], h.present[:0]
	for i := range r.rules {
		b := &r.rules[i]
		if !b.found {
			return fmt.Errorf("rule column %d is none of the data's", i)
		}
		if b.counted && r.tier != nil && r.tier.made {
			h.columns = append(h.columns, nullColumn(b.node.Field, int(d.rows.Hi-d.rows.Lo)))
			continue
		}
		v, err := d.ruleVector(b)
		if err != nil {
			return err
		}
		c, err := h.column(b, v, int(d.rows.Hi-d.rows.Lo))
		if err != nil {
			return err
		}
		h.columns = append(h.columns, c)
	}
	return nil
}

// ruleVector decodes the column at the top of a rule column.
func (d *Decoder) ruleVector(b *boundRule) (*block.Vector, error) {
	if b.node.Partition != nil {
		return nil, nil
	}
	h, at := d.held, b.chunks
	d.arena, d.keep, d.dict = h.arena, h.arena, h.arena
	if d.raw.ruleAlone {
		at = b.alone
	} else if b.shared >= 0 {
		return d.sharedVector(b)
	}
	d.takeChunks(b.node, at)
	defer d.keepPassed(at)
	if b.leaf != nil {
		return d.lengthsOf(b.node, b.leaf)
	}
	return d.column(b.node)
}

// keepPassed keeps what the chunks at the decoder have noted of their pages.
func (d *Decoder) keepPassed(at []int) {
	for i, k := range at {
		d.raw.chunks[k].passed = d.held.chunks[i].passed
	}
}

// sharedVector decodes a delivered column for a rule, unless another rule has it already.
func (d *Decoder) sharedVector(b *boundRule) (*block.Vector, error) {
	s, n := &d.held.shared[b.shared], d.raw.columns[b.shared]
	if s.vec != nil {
		return s.vec, nil
	}
	d.arena, d.keep, d.dict = s.values, s.dict, s.dict
	d.takeChunks(n, b.chunks)
	v, err := d.column(n)
	if s.vec = v; err != nil {
		s.values.Free()
		s.dict.Free()
	}
	return v, err
}

// takeChunks makes the chunks of a column the next to be decoded.
func (d *Decoder) takeChunks(n *schema.Node, at []int) {
	h := d.held
	h.chunks = h.chunks[:0]
	for i, leaf := range schema.LeavesOf([]*schema.Node{n}) {
		c := d.raw.chunks[at[i]]
		c.leaf = leaf.Leaf // a rule's own may need only the levels
		h.chunks = append(h.chunks, c)
	}
	d.chunks = h.chunks
}

// has reports whether DecodeRule decoded a delivered column of the unit. h may be nil.
func (h *heldRules) has(r *Raw, col int) bool {
	return h != nil && h.raw == r && h.shared[col].vec != nil
}

// takeHeld moves what DecodeRule made of a delivered column into the memory that columns are
// decoded to.
func (d *Decoder) takeHeld(col int, n *schema.Node) *block.Vector {
	s := &d.held.shared[col]
	v := s.vec
	s.vec = nil
	d.chunks = d.chunks[len(schema.LeavesOf([]*schema.Node{n})):]
	d.arena.Adopt(s.values)
	if v.Codes != nil && v.Field.Kind == column.Fixed && !d.keepsCodes(v) {
		v = d.lookedUp(v)
		s.dict.Free()
	}
	d.dict.Adopt(s.dict)
	return v
}

// keepsCodes reports whether Fixed values stay codes in the layout's blocks; see chooseForm.
func (d *Decoder) keepsCodes(v *block.Vector) bool {
	return !d.Materialize && (d.layout.Order == nil || d.few() || v.CodeWidth == 1 || v.Dict.Len <= estimate.SmallTable*v.Field.Width)
}

// lookedUp is the vector with values in place of codes.
func (d *Decoder) lookedUp(v *block.Vector) *block.Vector {
	w := v.Field.Width
	p := *v
	p.Codes, p.CodeWidth, p.Dict = nil, 0, nil
	p.Data = d.arena.Alloc(v.Len * w)
	switch v.CodeWidth {
	case 1:
		expandCodes(p.Data, v.Dict.Data, w, v.Codes[:v.Len])
	case 2:
		expandCodes(p.Data, v.Dict.Data, w, mem.As[uint16](v.Codes)[:v.Len])
	default:
		expandCodes(p.Data, v.Dict.Data, w, mem.As[uint32](v.Codes)[:v.Len])
	}
	for i := 0; i < v.Len && v.Nulls > 0; i++ {
		if v.IsNull(i) {
			clear(p.Data[i*w : (i+1)*w])
		}
	}
	return &p
}

// expandCodes writes the values of codes, w bytes each.
func expandCodes[C uint8 | uint16 | uint32](dst, table []byte, w int, codes []C) {
	switch w {
	case 4:
		expandWords(mem.As[uint32](dst), mem.As[uint32](table), codes)
	case 8:
		expandWords(mem.As[uint64](dst), mem.As[uint64](table), codes)
	default:
		for i, c := range codes {
			copy(dst[i*w:(i+1)*w], table[int(c)*w:])
		}
	}
}

func expandWords[V uint32 | uint64, C uint8 | uint16 | uint32](dst, table []V, codes []C) {
	dst = dst[:len(codes)]
	for i, c := range codes {
		dst[i] = table[c]
	}
}

// recheckRules verifies, after their use, the lent bytes of the rule columns. Decode does not use
// the bytes of shared columns again, so it need not verify them.
func (r *Raw) recheckRules() error {
	verified := footer.MergeSpans(r.verified)
	r.used, r.stale, r.verified = shard.Span{}, 0, r.verified[:0] // Decode starts from the front
	for i := range r.rules {
		b := &r.rules[i]
		at := b.chunks
		if r.ruleAlone {
			at = b.alone
		}
		for _, k := range at {
			c := &r.chunks[k]
			for _, s := range [2]shard.Span{{Off: c.dictOff, N: int64(len(c.dict))}, {Off: c.pagesOff, N: c.pagesLen}} {
				if err := r.recheckPiece(s, verified); err != nil {
					return err
				}
				if b.shared >= 0 && s.N > 0 {
					r.verified = append(r.verified, s)
				}
			}
		}
	}
	return nil
}

// recheckPiece verifies what a chunk took of a lease, if it was lent.
func (r *Raw) recheckPiece(s shard.Span, verified []shard.Span) error {
	for i, lent := range r.lent {
		if s.N > 0 && lent.Off <= s.Off && s.End() <= lent.End() {
			return r.recheckSpan(i, s, verified)
		}
	}
	return nil
}
