package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// errTier is an image that could not be used; the unit is fetched again without the tier.
var errTier = errors.New("a decoded column of the cache cannot be used")

// A tierColumn is a column of a Raw that the tier lent: its chunks are not fetched.
type tierColumn struct {
	image *image
	chunk int // of the record
	lease shard.Lease
	spans []shard.Span // of the file, that the unit's rows need
}

// takeTier borrows the columns of a unit that are kept decoded, and waits until they are in memory.
// Columns that rules read are decoded: rules want the codes and the levels of the file.
func (m *Manifest) takeTier(ctx context.Context, raw *Raw, r *record) {
	t := m.tierOf(raw.Rows.Shard)
	if t == nil {
		return
	}
	var spans []shard.Span
	at := 0
	for i, n := range raw.columns {
		leaves := leavesOf([]*node{n})
		chunks := raw.chunks[at : at+len(leaves)]
		ruled := readByRules(raw.rules, at, len(leaves))
		at += len(leaves)
		if len(leaves) == 0 || ruled {
			continue
		}
		c := m.tierColumn(t, r, raw.Rows, n, leaves[0].leaf)
		if c == nil {
			continue
		}
		if raw.tier == nil {
			raw.tier = make([]*tierColumn, len(raw.columns))
			raw.tierShard = t
		}
		raw.tier[i] = c
		for k := range chunks {
			chunks[k].leaveToTier(r.rows.at(raw.Rows.RowGroup))
		}
		spans = append(spans, c.spans...)
	}
	if spans != nil {
		t.file.ReadAhead(ctx, spans)
	}
}

// readByRules says whether rules read some of n chunks of a unit, from the first on.
func readByRules(rules []boundRule, first, n int) bool {
	return slices.ContainsFunc(rules, func(b boundRule) bool {
		return slices.ContainsFunc(b.chunks, func(k int) bool { return first <= k && k < first+n })
	})
}

// leaveToTier makes a chunk one of which nothing is fetched.
func (c *rawChunk) leaveToTier(rows int64) {
	c.dictLen, c.pagesLen, c.firstRow, c.lastRow = 0, 0, 0, rows
}

// tierColumn borrows a column; nil where the tier has it not.
func (m *Manifest) tierColumn(t *tierShard, r *record, u Rows, n *node, first *leaf) *tierColumn {
	chunk := r.chunk(first.index, u.RowGroup)
	i := t.find(chunk, signature(n, m.replace), r.rows.at(u.RowGroup))
	if i == nil {
		return nil
	}
	lease, err := t.file.Lend(i.place, i.bytes)
	if err != nil {
		t.forget(chunk)
		return nil
	}
	return &tierColumn{image: i, chunk: chunk, lease: lease, spans: []shard.Span{{Off: i.place, N: i.bytes}}}
}

// FromTier says whether columns of the unit were kept decoded. Where those turn out to be damaged
// Decode fails, and FetchEncoded fetches the unit without them.
func (r *Raw) FromTier() bool { return r.tier != nil }

// TierBytes is how many bytes of images the unit has.
func (r *Raw) TierBytes() (n int64) {
	for _, c := range r.tier {
		if c != nil {
			n += c.image.bytes
		}
	}
	return n
}

// decodeTier lays out a column that is kept decoded. Its pages are given back.
func (d *Decoder) decodeTier(i int, n *node, inPlace, dropped bool) (err error) {
	t := d.raw.tier[i]
	d.chunks = d.chunks[len(leavesOf([]*node{n})):]
	err = shard.Guard(func() error {
		defer func() {
			if p := recover(); p != nil {
				if _, fault := p.(interface{ Addr() uintptr }); fault {
					panic(p)
				}
				err = fmt.Errorf("%w: %v", errTier, p)
			}
		}()
		v, err := t.image.vector(t.lease.Bytes(), n.field, d.rows.Lo, d.rows.Hi)
		if err != nil {
			return err
		}
		if err := d.stack(i, v); err != nil || dropped {
			return err
		}
		return d.layOutTier(i, v, inPlace)
	})
	t.lease.Forget(shard.Span{Off: t.image.place, N: t.image.bytes})
	if err != nil && !errors.Is(err, ErrMisfit) {
		d.raw.tierShard.forget(t.chunk)
		err = fmt.Errorf("%w: %w", errTier, err)
	}
	return err
}

// layOutTier gives the blocks a column that lies in a mapping, of which they keep nothing: wide
// values are copied to their parts, and what would stay where it was decoded is copied whole.
func (d *Decoder) layOutTier(i int, v *vector, inPlace bool) error {
	if s := d.tierSpreader(v); s != nil {
		return d.layOut(i, d.spreadTier(s, v))
	}
	whole := len(d.blocks) == 1 && !d.raw.reachesOut()
	switch {
	case inPlace:
		d.blocks[0].cols[i] = v.copied(d.arena, d.dict)
		return nil
	case !d.few() && (!movable(v) || whole && v.isLong()):
		return d.layOut(i, v.copied(d.arena, d.dict))
	}
	if v.codes != nil { // the blocks' codes point into it
		w := *v
		w.dict = v.dict.copied(d.dict, d.dict)
		v = &w
	}
	return d.layOut(i, v)
}

// tierSpreader is the spreader of a column that the decoder would spread over parts; see
// leafDecoder.chooseParts.
func (d *Decoder) tierSpreader(v *vector) *spreader {
	size := 0
	switch {
	case v.field.Kind == column.Binary && v.views != nil, v.field.Kind == column.List && v.views != nil:
		for _, view := range v.views {
			size += int(uint32(view))
		}
	case v.field.Kind == column.Binary && v.codes != nil && 5*v.dict.n >= 4*v.n:
		for _, view := range v.dict.views {
			size += int(uint32(view))
		}
	case v.field.Kind == column.List && v.data != nil:
		size = len(v.data)
	default:
		return nil
	}
	return d.newSpreader(int64(size), int64(v.n))
}

// spreadTier copies the values of a column to the parts that hold their rows.
func (d *Decoder) spreadTier(s *spreader, v *vector) *vector {
	s.before = int64(v.skip)
	w := &vector{field: v.field, n: v.n, skip: v.skip, nulls: v.nulls, chunkShift: chunkShift, children: v.children}
	if v.valid != nil {
		w.valid = copiedWords(d.arena, v.valid)
	}
	w.views = mem.As[uint64](d.arena.Alloc(8 * v.n))[:v.n]
	for i := range w.views {
		w.views[i] = s.put(int64(i), v.wideValue(i))
	}
	w.base = s.base
	return w
}

// wideValue is the bytes of a text, or of a flat list.
func (v *vector) wideValue(i int) []byte {
	switch {
	case v.views != nil:
		return v.base[0][v.views[i]>>32:][:uint32(v.views[i])]
	case v.codes != nil:
		if v.nulls > 0 && v.isNull(i) {
			return nil
		}
		return v.dict.wideValue(v.code(i))
	}
	n := v.stride * v.field.Children[0].Width
	return v.data[i*n : (i+1)*n]
}

// copied is a vector in memory of the arenas: values, and dictionaries.
func (v *vector) copied(a, dict *mem.Arena) *vector {
	w := *v
	w.valid, w.views, w.offsets = copiedWords(a, v.valid), copiedWords(a, v.views), copiedWords(a, v.offsets)
	w.data, w.codes = copiedBytes(a, v.data), copiedBytes(a, v.codes)
	w.base = nil
	for _, b := range v.base {
		w.base = append(w.base, copiedText(a, b))
	}
	if v.dict != nil {
		w.dict = v.dict.copied(dict, dict)
	}
	w.children = nil
	for _, c := range v.children {
		w.children = append(w.children, c.copied(a, dict))
	}
	return &w
}

func copiedBytes(a *mem.Arena, b []byte) []byte {
	if b == nil {
		return nil
	}
	return copiedText(a, b)
}

// copiedText is never nil: views point into it.
func copiedText(a *mem.Arena, b []byte) []byte {
	c := a.Alloc(len(b))
	copy(c, b)
	return c
}

func copiedWords[T uint32 | uint64](a *mem.Arena, words []T) []T {
	if words == nil {
		return nil
	}
	return mem.As[T](copiedText(a, mem.AsBytes(words)))[:len(words)]
}
