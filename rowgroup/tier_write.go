package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A TierWriter decodes row groups once more and keeps them in the manifest's tier. It holds the
// scratch of one goroutine, which closes it. Its memory is a row group's decoded columns and 1 MiB:
// Manifest.TierMemory estimates it, and Allow bounds it.
type TierWriter struct {
	reader  *Reader
	decoder *Decoder
	window  *image.Window
}

// An Image is the stored image of a row group.
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
func (m *Reader) NewTierWriter() *TierWriter {
	return &TierWriter{reader: m, decoder: m.NewDecoder(), window: image.NewWindow(m.pool)}
}

// Allow lets the next row group take bytes, as [Decoder.Allow] does. Keep returns an ErrNotKept if
// more refuses the rest.
func (w *TierWriter) Allow(bytes int64, more func(n int64) error) {
	w.decoder.Allow(bytes-image.WindowBytes, more)
}

// Close gives the scratch back.
func (w *TierWriter) Close() {
	w.decoder.Close()
	w.window.Close()
}

// MayKeep reports whether the tier of a row group's shard may have room for n bytes.
func (m *Reader) MayKeep(g int, n int64) bool {
	t := m.tierOf(int(m.groups[g].Shard))
	return t != nil && t.MayKeep(n)
}

// Kept is the image of a row group, if the tier has it.
func (m *Reader) Kept(g int) (Image, bool) { return m.imageOf(g, (*image.Shard).Find) }

// HasImage is Kept without a look at more than the image's header.
func (m *Reader) HasImage(g int) (Image, bool) { return m.imageOf(g, (*image.Shard).Look) }

func (m *Reader) imageOf(g int, get func(t *image.Shard, group int, rows int64) *image.Image) (Image, bool) {
	group := m.groups[g]
	t := m.tierOf(int(group.Shard))
	if t == nil || group.Rows == 0 {
		return Image{}, false
	}
	i := get(t, int(group.RowGroup), group.Rows)
	if i == nil {
		return Image{}, false
	}
	return Image{Rows: i.Rows, Bytes: i.Bytes, Decode: time.Duration(i.Nanos)}, true
}

// Keepable are the positions of the columns that can be kept decoded of a row group.
func (m *Reader) Keepable(g int) []int {
	s := int(m.groups[g].Shard)
	return keepable(m.columnsOf(s), m.rulesOf(s), m.made)
}

// Keep decodes columns of a row group, unless an image of it is kept already, and hands the image
// to the tier. The error wraps ErrNotKept if the tier cannot keep it.
func (w *TierWriter) Keep(ctx context.Context, g int, cols []int) (kept Image, err error) {
	m, group := w.reader, w.reader.groups[g]
	if kept, ok := m.Kept(g); ok {
		return kept, nil
	}
	t, can := m.tierOf(int(group.Shard)), m.Keepable(g)
	cols = slices.DeleteFunc(slices.Clone(cols), func(c int) bool { return !slices.Contains(can, c) })
	if t == nil || group.Rows == 0 || len(cols) == 0 {
		return kept, ErrNotKept
	}
	raw, err := m.fetchColumns(ctx, g, m.made.reads(cols))
	if err != nil {
		return kept, err
	}
	defer raw.Release()
	defer w.drop()
	var p *image.Painter
	err = raw.Refetching(ctx, func() (err error) {
		w.drop()
		kept = Image{Rows: group.Rows, Wrote: true}
		p = t.NewPainter(int(group.RowGroup), int(group.Rows))
		return w.decodeAll(ctx, raw, cols, p, &kept)
	})
	if err != nil {
		return kept, err
	}
	took, err := w.paint(ctx, p, kept.Decode)
	kept.Bytes = p.Bytes()
	for i := range kept.Columns {
		c := &kept.Columns[i]
		c.Copy = time.Duration(mem.MulDiv(int64(took), c.Bytes, max(1, kept.Bytes)))
	}
	return kept, err
}

// paint hands an image to the tier, and returns how long the copying took.
func (w *TierWriter) paint(ctx context.Context, p *image.Painter, decode time.Duration) (took time.Duration, err error) {
	defer caught(&err)
	return p.Paint(ctx, w.window, decode)
}

// decodeAll decodes columns of a unit, makes the lists, and adds the columns that are kept to an
// image.
func (w *TierWriter) decodeAll(ctx context.Context, raw *Raw, cols []int, p *image.Painter, kept *Image) (err error) {
	defer caught(&err)
	made := w.reader.made
	from, spent := make([]*block.Vector, len(w.reader.schema.Fields)), time.Duration(0)
	for i, c := range made.reads(cols) {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, took, err := w.decode(raw, i)
		if err != nil {
			return err
		}
		if made.from(c) {
			from[c], spent = v, spent+took
		}
		if made.drops(c) || !slices.Contains(cols, c) {
			continue
		}
		before := p.Bytes()
		if err := p.Add(c, v); err != nil {
			return err
		}
		kept.add(ImageColumn{Column: c, Bytes: p.Bytes() - before, Decode: took})
	}
	if !slices.Contains(cols, made.at()) {
		return nil
	}
	return w.addLists(p, from, spent, kept)
}

// addLists makes lists of decoded columns, which took some time, and adds them to an image.
func (w *TierWriter) addLists(p *image.Painter, from []*block.Vector, decode time.Duration, kept *Image) error {
	made, began, before := w.reader.made, time.Now(), p.Bytes()
	lists, err := made.listsOf(w.decoder, from)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	for i, v := range lists {
		if err := p.Add(made.Lists[i].At, v); err != nil {
			return err
		}
	}
	kept.add(ImageColumn{Column: made.at(), Bytes: p.Bytes() - before, Decode: decode + time.Since(began)})
	return nil
}

func (i *Image) add(c ImageColumn) {
	i.Decode += c.Decode
	i.Columns = append(i.Columns, c)
}

// fetchColumns lends columns of a whole row group. It reads nothing from a server.
func (m *Reader) fetchColumns(ctx context.Context, g int, cols []int) (*Raw, error) {
	group := m.groups[g]
	u := Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows}
	r, err := m.record(u.Shard)
	if err != nil {
		return nil, err
	}
	raw := m.newRaw(u)
	columns := m.columnsOf(u.Shard)
	for _, c := range cols {
		raw.columns = append(raw.columns, columns[c])
	}
	for _, leaf := range schema.LeavesOf(raw.columns) {
		raw.chunks = append(raw.chunks, planChunk(&r, leaf.Leaf, u, group.Rows))
	}
	return m.fetchRaw(ctx, raw, true)
}

// TierMemory predicts what a TierWriter takes to keep a row group.
func (m *Reader) TierMemory(g int) int64 {
	narrow, wide := m.DecodedBytes(g)
	scratch := m.Scratch(g)
	scratch.Aside = 0 // it keeps all columns until the image is written
	size := mem.Add(mem.Add(narrow, wide), scratch.Of(m.groups[g].Rows, m.groups[g].Rows, false))
	size = mem.Add(size, m.made.memory(m.Manifest, g))
	return mem.Add(mem.Add(size, m.groups[g].Compressed), image.WindowBytes)
}

// decode decodes a column of a unit as for blocks that are laid in an order. It stays until drop.
func (w *TierWriter) decode(raw *Raw, col int) (v *block.Vector, took time.Duration, err error) {
	d, n := w.decoder, raw.columns[col]
	d.at, d.path = -1, ""
	d.raw, d.rows, d.chunks, d.layout = raw, raw.Rows, raw.chunks[len(schema.LeavesOf(raw.columns[:col])):], Layout{Order: []uint32{}}
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
	if err == nil && v.Skip != 0 {
		err = ErrNotKept
	}
	if errors.Is(err, ErrTooLarge) {
		err = fmt.Errorf("%w: %w", ErrNotKept, err)
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
