package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// errTier is an image that could not be used; the unit is fetched again without the tier.
var errTier = errors.New("decoded columns of the cache cannot be used")

// A tierUnit is the image that the tier lent to a Raw: chunks of its columns are not fetched.
type tierUnit struct {
	shard *tierShard
	group int
	image *image
	lease *imageLease
	rows  Rows

	encoded []rawChunk // all chunks of the unit, for when the image turns out to be damaged
}

// imageForm is a name of columns and of all that decides what they decode to, besides the shard.
func imageForm(columns []*node, rules []boundRule, replace bool) (form [8]byte) {
	h := fnv.New64a()
	var describe func(n *node)
	describe = func(n *node) {
		f := n.field
		fmt.Fprintln(h, f.Kind, f.Type, f.Width, f.ListSize, n.missing, len(n.children), replace && isText(f.Type))
		if n.leaf != nil {
			fmt.Fprintln(h, n.leaf.index, n.leaf.path, n.leaf.convert, f.Precision, f.Scale)
		}
		if n.leaf != nil && n.leaf.recast != nil {
			fmt.Fprintln(h, n.leaf.recast.own, n.leaf.recast.to)
		}
		for _, c := range n.children {
			describe(c)
		}
	}
	fmt.Fprintln(h, keepable(columns, rules))
	for _, n := range columns {
		describe(n)
	}
	copy(form[:], h.Sum(nil))
	return form
}

// keepable are the positions of the columns that have values in the file and that no rule reads:
// rules want the codes and the levels of the file.
func keepable(columns []*node, rules []boundRule) (all []int) {
	ruled := map[int]bool{} // chunks
	for _, b := range rules {
		for _, k := range b.chunks {
			ruled[k] = true
		}
	}
	chunk := 0
	for i, n := range columns {
		ok := n.leaf == nil || isPlainLeaf(n)
		leaves := len(leavesOf(columns[i : i+1]))
		for range leaves {
			ok = ok && !ruled[chunk]
			chunk++
		}
		if ok && leaves > 0 {
			all = append(all, i)
		}
	}
	return all
}

// takeTier borrows the image of a unit, if it is kept, and waits until it is in memory.
func (m *Manifest) takeTier(ctx context.Context, raw *Raw) {
	t, u := m.tierOf(raw.Rows.Shard), raw.Rows
	if t == nil {
		return
	}
	rows := m.groups[m.first[u.Shard]+u.RowGroup].Rows
	i := t.find(u.RowGroup, rows)
	if i == nil {
		return
	}
	lease, err := t.lend(u.RowGroup, i)
	if err != nil {
		t.forget(u.RowGroup)
		return
	}
	raw.tier = &tierUnit{shard: t, group: u.RowGroup, image: i, lease: lease, rows: u, encoded: slices.Clone(raw.chunks)}
	has := i.columns()
	chunk := 0
	for c := range raw.columns {
		for range leavesOf(raw.columns[c : c+1]) {
			if has[c] {
				raw.chunks[chunk].leaveToTier(rows)
			}
			chunk++
		}
	}
	t.file.ReadAhead(ctx, []shard.Span{{Off: i.place, N: i.bytes}})
}

// leaveToTier makes a chunk one of which nothing is fetched.
func (c *rawChunk) leaveToTier(rows int64) {
	c.dictLen, c.pagesLen, c.firstRow, c.lastRow = 0, 0, 0, rows
}

// TierStays says whether a block of the unit may lie in its row group's image.
func (r *Raw) TierStays() bool {
	return r.tier != nil && (r.tier.lease == nil || r.tier.lease.mayStay())
}

// TierBytes is how many bytes of its row group's image the unit has.
func (r *Raw) TierBytes() int64 {
	if r.tier == nil {
		return 0
	}
	return r.tier.bytes()
}

func (t *tierUnit) bytes() int64 {
	return mem.MulDiv(t.image.bytes, t.rows.Hi-t.rows.Lo, max(1, t.image.rows))
}

// vectors are the columns of the unit that lie in a lease of the image.
func (t *tierUnit) vectors(lease shard.Lease, columns []*node) (all []*vector, err error) {
	fields := make([]*column.Field, len(columns))
	for i, n := range columns {
		fields[i] = n.field
	}
	all, err = t.image.vectors(lease.Bytes(), fields, t.rows.Lo, t.rows.Hi)
	if err != nil {
		return nil, t.failed(err)
	}
	return all, nil
}

func (t *tierUnit) failed(err error) error {
	t.shard.forget(t.group)
	return fmt.Errorf("%w: %w", errTier, err)
}

// beginTier gives the one block that has all rows as they lie the columns of the image where they
// lie. Blocks of other layouts get copies; see decodeTier.
func (d *Decoder) beginTier() error {
	t := d.raw.tier
	if t == nil {
		return nil
	}
	if d.inImage = d.layout.InImage && len(d.blocks) == 1 && d.layout.Order == nil && d.layout.Stacks == nil; !d.inImage {
		all, err := t.vectors(t.lease, d.raw.columns)
		d.tierCols = all
		return err
	}
	lease := t.lease
	if t.lease = nil; lease == nil { // decoded before
		var err error
		if lease, err = t.shard.lend(t.group, t.image); err != nil {
			return t.failed(err)
		}
	}
	b := d.blocks[0]
	lease.counted()
	b.lease, b.mapped = lease, t.bytes()
	var err error
	if d.tierCols, err = t.vectors(lease, d.raw.columns); err == nil && t.rows.Lo < t.rows.Hi {
		b.record = int(t.image.record)
		b.records = lease.Bytes()[t.rows.Lo*t.image.record : t.rows.Hi*t.image.record]
		for _, v := range d.tierCols {
			if v != nil && v.slots != nil {
				b.slots++
			}
		}
	}
	return err
}

// decodeTier gives the blocks a column of the image.
func (d *Decoder) decodeTier(i int, n *node, inPlace, dropped bool) (err error) {
	v := d.tierCols[i]
	d.chunks = d.chunks[len(leavesOf([]*node{n})):]
	if d.inImage {
		d.blocks[0].cols[i] = v
		return nil
	}
	err = shard.Guard(func() (err error) {
		defer caught(&err)
		if d.few() && v.slots != nil && d.layout.Stacks == nil && v.field.Kind == column.Fixed {
			return d.layOutFew(i, v)
		}
		v := v.apart(nil, d.loose)
		if err := d.stack(i, v); err != nil || dropped {
			d.loose.Free()
			return err
		}
		return d.layOutTier(i, v, inPlace)
	})
	if err != nil && !errors.Is(err, ErrMisfit) {
		err = d.raw.tier.failed(err)
	}
	return err
}

// layOutFew gives the blocks a column of records: of the few rows that stay, no others are touched.
func (d *Decoder) layOutFew(i int, v *vector) error {
	order := d.layout.Order
	defer func() { d.layout.Order = order }()
	v = v.apart(order, d.loose)
	d.layout.Order = mem.As[uint32](d.loose.Alloc(4 * len(order)))[:len(order)]
	for k := range d.layout.Order {
		d.layout.Order[k] = uint32(k)
	}
	return d.layOutTier(i, v, false)
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
		d.loose.Free()
		return nil
	case !d.few() && (!movable(v) || whole && v.isLong()):
		return d.layOut(i, v.copied(d.loose, d.dict))
	}
	if v.dict != nil { // the blocks' codes point into it
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
		size = viewedBytes(v.views)
	case v.field.Kind == column.Binary && v.codes != nil && 5*v.dict.n >= 4*v.n:
		size = viewedBytes(v.dict.views)
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
	w.valid = copiedWords(d.loose, v.valid)
	w.views = mem.As[uint64](d.loose.Alloc(8 * v.n))[:v.n]
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
