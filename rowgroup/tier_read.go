package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// errTier is an image that could not be used; the unit is fetched again without the tier.
var errTier = errors.New("decoded columns of the cache cannot be used")

// A tierUnit is the image that the tier lent to a Raw: chunks of its columns are not fetched.
type tierUnit struct {
	shard *image.Shard
	group int
	image *image.Image
	lease *image.Lease
	rows  Rows
	made  bool // it has the lists of Reader.made

	encoded []rawChunk // all chunks of the unit, for when the image turns out to be damaged
}

// imageForm is a name of columns and of all that decides what they decode to, besides the shard.
func imageForm(columns []*schema.Node, rules []boundRule, made *Made, replace bool) (form [8]byte) {
	h := fnv.New64a()
	fmt.Fprintln(h, keepable(columns, rules, made))
	fmt.Fprint(h, made.form())
	for _, n := range columns {
		n.Describe(h, replace)
	}
	copy(form[:], h.Sum(nil))
	return form
}

// keepable are the positions of the columns that have values in the file and that no rule reads:
// rules want the codes and the levels of the file. The place of the first list that is made means
// all lists.
func keepable(columns []*schema.Node, rules []boundRule, made *Made) (all []int) {
	ruled := map[int]bool{} // chunks
	for _, b := range rules {
		for _, k := range b.chunks {
			ruled[k] = ruled[k] || !b.counted
		}
	}
	chunk, lists := 0, made != nil
	for i, n := range columns {
		ok := n.Leaf == nil || n.IsPlainLeaf()
		leaves := len(schema.LeavesOf(columns[i : i+1]))
		for range leaves {
			ok = ok && !ruled[chunk]
			chunk++
		}
		if ok = ok && leaves > 0; !ok && made.from(i) {
			lists = false
		}
		if ok && !made.drops(i) {
			all = append(all, i)
		}
	}
	if lists {
		all = append(all, made.at())
	}
	return all
}

// takeTier borrows the image of a unit, if it is kept, and waits until it is in memory.
func (m *Reader) takeTier(ctx context.Context, raw *Raw) {
	t, u := m.tierOf(raw.Rows.Shard), raw.Rows
	if t == nil {
		return
	}
	probe := wait.ProbeOf(ctx)
	defer probe.Idle(probe.Idle(wait.Cache))
	rows := m.groups[m.first[u.Shard]+u.RowGroup].Rows
	i := t.Find(u.RowGroup, rows)
	if i == nil {
		return
	}
	lease, err := t.Lend(u.RowGroup, i)
	if err != nil {
		t.Forget(u.RowGroup)
		return
	}
	raw.tier = &tierUnit{shard: t, group: u.RowGroup, image: i, lease: lease, rows: u, encoded: slices.Clone(raw.chunks)}
	has := i.Columns()
	raw.tier.made = has[m.made.at()]
	chunk := 0
	for c := range raw.columns {
		for range schema.LeavesOf(raw.columns[c : c+1]) {
			if has[c] || raw.tier.made && m.made.drops(c) {
				raw.chunks[chunk].leaveToTier(rows)
			}
			chunk++
		}
	}
	t.ReadAhead(ctx, i)
}

// leaveToTier makes a chunk one of which nothing is fetched.
func (c *rawChunk) leaveToTier(rows int64) {
	c.dictLen, c.pagesLen, c.firstRow, c.lastRow = 0, 0, 0, rows
}

// TierStays reports whether a block of the unit may be in its row group's image. A block with lists
// that were made is a copy: their items may have to become longer.
func (r *Raw) TierStays() bool {
	return r.tier != nil && !r.tier.made && (r.tier.lease == nil || r.tier.lease.MayStay())
}

// TierBytes is how many bytes of its row group's image the unit has.
func (r *Raw) TierBytes() int64 {
	if r.tier == nil {
		return 0
	}
	return r.tier.bytes()
}

func (t *tierUnit) bytes() int64 {
	return mem.MulDiv(t.image.Bytes, t.rows.Hi-t.rows.Lo, max(1, t.image.Rows))
}

// vectors are the columns of the unit that are in a lease of the image. Columns that nothing needs
// beside lists that it has are null.
func (t *tierUnit) vectors(lease shard.Lease, r *Raw) (all []*block.Vector, err error) {
	made := r.reader.made
	all, err = t.image.Vectors(lease.Bytes(), made.fields(r.columns), t.rows.Lo, t.rows.Hi)
	if err != nil {
		return nil, t.failed(err)
	}
	if !t.made {
		return all, nil
	}
	for _, col := range made.Drop {
		if all[col] == nil {
			all[col] = block.NewNull(&column.Field{Kind: column.Null}, int(t.rows.Hi-t.rows.Lo))
		}
	}
	return all, nil
}

// width is the number of columns of the unit's blocks when they are decoded.
func (r *Raw) width() int {
	if r.tier != nil && r.tier.made {
		return r.reader.made.width(len(r.columns))
	}
	return len(r.columns)
}

func (t *tierUnit) failed(err error) error {
	t.shard.Forget(t.group)
	return fmt.Errorf("%w: %w", errTier, err)
}

// beginTier gives a single block of all rows, in the file's order, the columns of the image in
// place. Blocks of other layouts get copies; see decodeTier.
func (d *Decoder) beginTier() error {
	t := d.raw.tier
	if t == nil {
		return nil
	}
	if d.inImage = d.layout.InImage && len(d.blocks) == 1 && d.layout.Order == nil && d.layout.Stacks == nil; !d.inImage {
		all, err := t.vectors(t.lease, d.raw)
		d.tierCols = all
		return err
	}
	lease := t.lease
	if t.lease = nil; lease == nil { // decoded before
		var err error
		if lease, err = t.shard.Lend(t.group, t.image); err != nil {
			return t.failed(err)
		}
	}
	lease.Counted()
	cols, err := t.vectors(lease, d.raw)
	d.tierCols = cols
	records, record := []byte(nil), 0
	if err == nil && t.rows.Lo < t.rows.Hi {
		record = int(t.image.Record)
		records = lease.Bytes()[t.rows.Lo*t.image.Record : t.rows.Hi*t.image.Record]
	}
	block.LieIn(d.blocks[0], lease, t.bytes(), records, record, cols)
	return err
}

// decodeTier gives the blocks a column of the image.
func (d *Decoder) decodeTier(i int, inPlace, dropped bool) (err error) {
	v := d.tierCols[i]
	if d.inImage {
		block.Columns(d.blocks[0])[i] = v
		return nil
	}
	err = shard.Guard(func() (err error) {
		defer caught(&err)
		if d.few() && v.Slots != nil && d.layout.Stacks == nil && v.Field.Kind == column.Fixed {
			return d.layOutFew(i, v)
		}
		v, widened := d.raw.reader.made.delivered(i, v.Apart(nil, d.loose), d.arena)
		if widened && inPlace {
			block.Columns(d.blocks[0])[i] = v
			d.loose.Free()
			return nil
		}
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
func (d *Decoder) layOutFew(i int, v *block.Vector) error {
	order := d.layout.Order
	defer func() { d.layout.Order = order }()
	v = v.Apart(order, d.loose)
	d.layout.Order = mem.As[uint32](d.loose.Alloc(4 * len(order)))[:len(order)]
	for k := range d.layout.Order {
		d.layout.Order[k] = uint32(k)
	}
	return d.layOutTier(i, v, false)
}

// layOutTier gives the blocks a column that is in a mapping, of which they keep nothing: wide
// values are copied to their parts, and columns that would stay in place are copied whole.
func (d *Decoder) layOutTier(i int, v *block.Vector, inPlace bool) error {
	if s := d.tierSpreader(v); s != nil {
		return d.layOut(i, d.spreadTier(s, v))
	}
	whole := len(d.blocks) == 1 && !d.raw.reachesOut()
	switch {
	case inPlace:
		block.Columns(d.blocks[0])[i] = v.Copied(d.arena, d.dict)
		d.loose.Free()
		return nil
	case !d.few() && (!v.Movable() || whole && v.IsLong()):
		return d.layOut(i, v.Copied(d.loose, d.dict))
	}
	if v.Dict != nil { // the blocks' codes point into it
		w := *v
		w.Dict = v.Dict.Copied(d.dict, d.dict)
		v = &w
	}
	return d.layOut(i, v)
}

// tierSpreader is the spreader of a column that the decoder would spread over parts; see
// leafDecoder.chooseParts.
func (d *Decoder) tierSpreader(v *block.Vector) *spreader {
	size := 0
	switch {
	case v.Field.Kind == column.Binary && v.Views != nil, v.Field.Kind == column.List && v.Views != nil:
		size = block.ViewedBytes(v.Views)
	case v.Field.Kind == column.Binary && v.Codes != nil && 5*v.Dict.Len >= 4*v.Len:
		size = block.ViewedBytes(v.Dict.Views)
	case v.Field.Kind == column.List && v.Data != nil:
		size = len(v.Data)
	default:
		return nil
	}
	return d.newSpreader(int64(size), int64(v.Len))
}

// spreadTier copies the values of a column to the parts that hold their rows.
func (d *Decoder) spreadTier(s *spreader, v *block.Vector) *block.Vector {
	s.before = int64(v.Skip)
	w := &block.Vector{Field: v.Field, Len: v.Len, Skip: v.Skip, Nulls: v.Nulls, ChunkShift: chunkShift, Children: v.Children}
	w.Valid = block.CopiedWords(d.loose, v.Valid)
	w.Views = mem.As[uint64](d.loose.Alloc(8 * v.Len))[:v.Len]
	for i := range w.Views {
		w.Views[i] = s.put(int64(i), wideValue(v, i))
	}
	w.Base = s.base
	return w
}

// wideValue is the bytes of a text, or of a flat list.
func wideValue(v *block.Vector, i int) []byte {
	switch {
	case v.Views != nil:
		return v.Base[0][v.Views[i]>>32:][:uint32(v.Views[i])]
	case v.Codes != nil:
		if v.Nulls > 0 && v.IsNull(i) {
			return nil
		}
		return wideValue(v.Dict, v.Code(i))
	}
	n := v.Stride * v.Field.Children[0].Width
	return v.Data[i*n : (i+1)*n]
}
