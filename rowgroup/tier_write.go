package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// ErrNotKept is a row group that the tier does not take: there is no room in its place, nothing of
// it is decoded, or this machine does not hold its bytes.
var ErrNotKept = errors.New("the row group is not kept decoded")

// A TierWriter decodes row groups once more and keeps them in the manifest's tier. It holds the
// scratch of one goroutine, which closes it. Its memory is a row group's decoded columns and 1 MiB;
// see Manifest.TierMemory.
type TierWriter struct {
	manifest *Manifest
	decoder  *Decoder
	window   tierWindow
}

// An Image is what is kept of a row group.
type Image struct {
	Rows    int64
	Bytes   int64
	Wrote   bool          // it was not kept before
	Decode  time.Duration // what it took to decode the columns, when it was written
	Columns []ImageColumn // of one that was written
}

// An ImageColumn is the measurements of a column as an image was written.
type ImageColumn struct {
	Column int
	Bytes  int64         // of the image
	Decode time.Duration // what it took to decode
	Copy   time.Duration // what it took to lay as many bytes in the image, and so in an order, about
}

// NewTierWriter returns a writer for the manifest's tier.
func (m *Manifest) NewTierWriter() *TierWriter {
	return &TierWriter{manifest: m, decoder: m.NewDecoder(), window: newTierWindow(m.pool)}
}

// Close gives the scratch back.
func (w *TierWriter) Close() {
	w.decoder.Close()
	w.window.close()
}

// MayKeep says whether the tier of a row group's shard may have room for n bytes.
func (m *Manifest) MayKeep(g int, n int64) bool {
	t := m.tierOf(int(m.groups[g].Shard))
	return t != nil && t.file.MayKeep(n)
}

// Kept is the image of a row group, if the tier has it.
func (m *Manifest) Kept(g int) (Image, bool) {
	group := m.groups[g]
	t := m.tierOf(int(group.Shard))
	if t == nil || group.Rows == 0 {
		return Image{}, false
	}
	i := t.find(int(group.RowGroup), group.Rows)
	if i == nil {
		return Image{}, false
	}
	return i.image(), true
}

// HasImage is Kept without a look at more than the image's header.
func (m *Manifest) HasImage(g int) (Image, bool) {
	group := m.groups[g]
	t := m.tierOf(int(group.Shard))
	if t == nil || group.Rows == 0 {
		return Image{}, false
	}
	i := t.look(int(group.RowGroup))
	if i == nil || i.rows != group.Rows {
		return Image{}, false
	}
	return i.image(), true
}

func (i *image) image() Image {
	return Image{Rows: i.rows, Bytes: i.bytes, Decode: time.Duration(i.nanos)}
}

// Keepable are the positions of the columns that can be kept decoded of a row group.
func (m *Manifest) Keepable(g int) (all []int) {
	s := int(m.groups[g].Shard)
	columns, rules := m.columnsOf(s), m.rulesOf(s)
	for i := range columns {
		if keepable(columns, rules, i) {
			all = append(all, i)
		}
	}
	return all
}

// Keep decodes columns of a row group, unless an image of it is kept already, and hands the image
// to the tier. The error wraps ErrNotKept where it cannot be kept.
func (w *TierWriter) Keep(ctx context.Context, g int, cols []int) (kept Image, err error) {
	m, group := w.manifest, w.manifest.groups[g]
	if kept, ok := m.Kept(g); ok {
		return kept, nil
	}
	t, can := m.tierOf(int(group.Shard)), m.Keepable(g)
	cols = slices.DeleteFunc(slices.Clone(cols), func(c int) bool { return !slices.Contains(can, c) })
	slices.Sort(cols)
	if t == nil || group.Rows == 0 || len(cols) == 0 {
		return kept, ErrNotKept
	}
	raw, err := m.fetchColumns(ctx, g, cols)
	if err != nil {
		return kept, err
	}
	defer raw.Release()
	defer w.drop()
	kept = Image{Rows: group.Rows, Wrote: true}
	p := painter{rows: int(group.Rows), place: t.places[group.RowGroup], room: t.places[group.RowGroup+1] - t.places[group.RowGroup]}
	for i, c := range cols {
		if err := ctx.Err(); err != nil {
			return kept, err
		}
		v, took, err := w.decode(raw, i)
		if err != nil {
			return kept, err
		}
		before := p.bytes()
		if err := p.add(c, v); err != nil {
			return kept, err
		}
		kept.Decode += took
		kept.Columns = append(kept.Columns, ImageColumn{Column: c, Bytes: p.bytes() - before, Decode: took})
	}
	p.nanos = int64(kept.Decode)
	took, err := p.paint(ctx, t.file, &w.window)
	kept.Bytes = p.image.bytes
	for i := range kept.Columns {
		c := &kept.Columns[i]
		c.Copy = time.Duration(mem.MulDiv(int64(took), c.Bytes, max(1, kept.Bytes)))
	}
	return kept, err
}

// fetchColumns lends columns of a whole row group. It reads nothing from a server.
func (m *Manifest) fetchColumns(ctx context.Context, g int, cols []int) (*Raw, error) {
	group := m.groups[g]
	u := Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows}
	r, err := parseRecord(m.files[u.Shard].record)
	if err != nil {
		return nil, err
	}
	raw := &Raw{Rows: u, uri: m.shards[u.Shard].URI, first: group.First}
	columns := m.columnsOf(u.Shard)
	for _, c := range cols {
		raw.columns = append(raw.columns, columns[c])
	}
	for _, leaf := range leavesOf(raw.columns) {
		raw.chunks = append(raw.chunks, planChunk(&r, leaf.leaf, u, group.Rows))
	}
	return m.fetchRaw(ctx, raw, true)
}

// TierMemory predicts what a TierWriter takes to keep a row group.
func (m *Manifest) TierMemory(g int) int64 {
	narrow, wide := m.DecodedBytes(g)
	size := addCapped(addCapped(narrow, wide), m.Scratch(g).Pages)
	return addCapped(addCapped(size, m.groups[g].Compressed), windowBytes)
}

// decode decodes a column of a unit as for blocks that are laid in an order. It stays until drop.
func (w *TierWriter) decode(raw *Raw, col int) (v *vector, took time.Duration, err error) {
	d, n := w.decoder, raw.columns[col]
	d.at, d.path = -1, ""
	d.raw, d.rows, d.chunks, d.layout = raw, raw.Rows, raw.chunks[len(leavesOf(raw.columns[:col])):], Layout{Order: []uint32{}}
	d.arena, d.keep, d.dict = d.loose, d.loose, d.loose
	began := time.Now()
	err = raw.use(func() (err error) {
		defer caught(&err)
		if err := d.checkRows(); err != nil {
			return err
		}
		v, err = d.column(n)
		return err
	})
	if err == nil && col == len(raw.columns)-1 {
		err = raw.recheck()
	}
	if err == nil && v.skip != 0 {
		err = ErrNotKept
	}
	if err != nil {
		err = d.failed(raw, err)
	}
	return v, time.Since(began), err
}

// drop gives the decoded columns back.
func (w *TierWriter) drop() {
	w.decoder.forget()
	w.decoder.trim()
}

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
