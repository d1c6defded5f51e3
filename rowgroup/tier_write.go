package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// tierWindow is how many bytes of an image are put together and handed to the tier at a time.
const tierWindow = 16 * tierBlock

// ErrNotKept is a column that the tier does not take: there is no room in its place or on the disk,
// or nothing of it is decoded.
var ErrNotKept = errors.New("the column is not kept decoded")

// A TierWriter decodes columns of row groups once more and keeps them in the manifest's tier. It
// holds the scratch of one goroutine, which closes it. Its memory is one decoded column and 1 MiB.
type TierWriter struct {
	manifest *Manifest
	decoder  *Decoder
	window   []byte
}

// An Image is what a TierWriter learned of a column of a row group.
type Image struct {
	Bytes  int64         // of its image
	Rows   int64         // of the row group
	Decode time.Duration // what it took to decode it, when it was written
	Copy   time.Duration // what it took to copy the image once: what it takes to use it, about; 0 of one that was there
	Wrote  bool          // it was not kept before
}

// NewTierWriter returns a writer for the manifest's tier.
func (m *Manifest) NewTierWriter() *TierWriter {
	d := m.NewDecoder()
	return &TierWriter{manifest: m, decoder: d, window: m.pool.Get(tierWindow)[:0]}
}

// Close gives the scratch back.
func (w *TierWriter) Close() {
	w.decoder.Close()
	w.manifest.pool.Put(w.window)
	w.window = nil
}

// MayKeep says whether the tier of a row group's shard may have room for n bytes.
func (m *Manifest) MayKeep(g int, n int64) bool {
	t := m.tierOf(int(m.groups[g].Shard))
	return t != nil && t.file.MayKeep(n)
}

// Kept is the image of a column of a row group, if the tier has it.
func (m *Manifest) Kept(g, col int) (Image, bool) {
	t, n, chunk := m.tierPlace(g, col)
	if t == nil {
		return Image{}, false
	}
	i := t.find(chunk, signature(n, m.replace), m.groups[g].Rows)
	if i == nil {
		return Image{}, false
	}
	return Image{Bytes: i.bytes, Rows: i.rows, Decode: time.Duration(i.nanos)}, true
}

// tierPlace is where the image of a column belongs; without a shard where none can be.
func (m *Manifest) tierPlace(g, col int) (t *tierShard, n *node, chunk int) {
	shard := int(m.groups[g].Shard)
	columns := m.columnsOf(shard)
	n = columns[col]
	leaves := leavesOf([]*node{n})
	if t = m.tierOf(shard); t == nil || len(leaves) == 0 || m.groups[g].Rows == 0 || n.leaf != nil && !isPlainLeaf(n) {
		return nil, n, 0
	}
	if readByRules(m.rulesOf(shard), len(leavesOf(columns[:col])), len(leaves)) {
		return nil, n, 0
	}
	r, _ := m.groupRecord(g)
	return t, n, r.chunk(leaves[0].leaf.index, int(m.groups[g].RowGroup))
}

// Keep decodes a column of a row group, unless its image is kept already, and hands the image to
// the tier. The error wraps ErrNotKept where it cannot be kept.
func (w *TierWriter) Keep(ctx context.Context, g, col int) (kept Image, err error) {
	m := w.manifest
	if kept, ok := m.Kept(g, col); ok {
		return kept, nil
	}
	t, n, chunk := m.tierPlace(g, col)
	if t == nil {
		return kept, ErrNotKept
	}
	raw, err := m.fetchColumn(ctx, g, n)
	if err != nil {
		return kept, err
	}
	defer raw.Release()
	v, took, err := w.decode(raw, n)
	if err != nil {
		return kept, err
	}
	defer w.drop()
	kept.Rows = m.groups[g].Rows
	i := image{sign: signature(n, m.replace), rows: m.groups[g].Rows, nanos: int64(took)}
	kept.Decode, kept.Wrote = took, true
	began := time.Now()
	buffers, err := i.layAll(v)
	if err != nil {
		return kept, err
	}
	place, end := t.places[chunk], t.places[chunk+1]
	if i.bytes == 0 || i.bytes > end-place-tierBlock {
		return kept, fmt.Errorf("%w: %d bytes in a place of %d", ErrNotKept, i.bytes, end-place-tierBlock)
	}
	var waited time.Duration
	if waited, err = w.write(ctx, t.file, place+tierBlock, &i, buffers); err != nil {
		return kept, err
	}
	kept.Copy = time.Since(began) - waited
	kept.Bytes = i.bytes
	return kept, t.file.Keep(ctx, place, i.format())
}

// fetchColumn fetches one column of a whole row group.
func (m *Manifest) fetchColumn(ctx context.Context, g int, n *node) (*Raw, error) {
	group := m.groups[g]
	u := Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows}
	r, err := parseRecord(m.files[u.Shard].record)
	if err != nil {
		return nil, err
	}
	raw := &Raw{Rows: u, uri: m.shards[u.Shard].URI, first: group.First, columns: []*node{n}}
	for _, leaf := range leavesOf(raw.columns) {
		raw.chunks = append(raw.chunks, planChunk(&r, leaf.leaf, u, group.Rows))
	}
	if raw, err = m.fetchRaw(ctx, raw, true); err != nil {
		return nil, err
	}
	return raw, nil
}

// TierMemory predicts what a TierWriter takes to keep a column of a row group.
func (m *Manifest) TierMemory(g, col int) int64 {
	r, group := m.groupRecord(g)
	n := m.columnsOf(int(m.groups[g].Shard))[col]
	e := estimator{r: &r, group: group}
	var s Scratch
	pages := e.pageScratch(n, n, m.groups[g].Rows, &s)
	e.column(n, m.groups[g].Rows)
	size := addCapped(addCapped(e.narrow, e.wide), e.smallBytes(addCapped(e.narrow, e.wide)))
	for _, leaf := range leavesOf([]*node{n}) {
		size = addCapped(size, r.compressed.at(r.chunk(leaf.leaf.index, group)))
	}
	return addCapped(size, addCapped(pages, tierWindow))
}

// decode decodes a column as for blocks that are laid in an order.
func (w *TierWriter) decode(raw *Raw, n *node) (v *vector, took time.Duration, err error) {
	d := w.decoder
	d.at, d.path = -1, ""
	d.raw, d.rows, d.chunks, d.layout = raw, raw.Rows, raw.chunks, Layout{Order: []uint32{}}
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
	if damaged := raw.recheck(); damaged != nil {
		err = damaged
	}
	if err == nil && v.skip != 0 {
		err = ErrNotKept
	}
	if err != nil {
		err = d.failed(raw, err)
		w.drop()
	}
	return v, time.Since(began), err
}

// drop gives back what was decoded.
func (w *TierWriter) drop() {
	w.decoder.forget()
	w.decoder.trim()
}

// write hands the buffers of an image to the tier, window by window, and sums them. It returns how
// long the tier took.
func (w *TierWriter) write(ctx context.Context, f TierFile, at int64, i *image, buffers [][]byte) (waited time.Duration, err error) {
	flush := func() error {
		i.sum = imageSum(i.sum, w.window)
		began := time.Now()
		err := f.Keep(ctx, at, w.window)
		waited += time.Since(began)
		at += int64(len(w.window))
		w.window = w.window[:0]
		return err
	}
	defer func() { w.window = w.window[:0] }()
	put := func(b []byte) error {
		for len(b) > 0 {
			n := min(len(b), tierWindow-len(w.window))
			w.window = append(w.window, b[:n]...)
			b = b[n:]
			if len(w.window) == tierWindow {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, b := range buffers {
		if err := put(b); err != nil {
			return waited, err
		}
		if err := put(padding[:-len(b)&63]); err != nil {
			return waited, err
		}
	}
	if len(w.window) > 0 {
		err = flush()
	}
	return waited, err
}

var padding [64]byte

// layAll is lay, and an error for a vector that lacks what it should have.
func (i *image) layAll(v *vector) (all [][]byte, err error) {
	defer caught(&err)
	return i.lay(v)
}

// lay gives the buffers of a vector, and of all below it, their places one behind the other.
func (i *image) lay(v *vector) (all [][]byte, err error) {
	x := imageNode{n: int64(v.n), nulls: int64(v.nulls), stride: int64(v.stride), codeWidth: v.codeWidth, dict: v.dict != nil, children: len(v.children)}
	if len(v.base) > 1 || v.chunkShift != 0 || v.order != nil {
		return nil, ErrNotKept
	}
	for k, b := range v.buffers() {
		if len(b) > 0 {
			x.buffers[k] = imageSpan{i.bytes, int64(len(b))}
			i.bytes += int64(len(b)+63) &^ 63
			all = append(all, b)
		}
	}
	if i.nodes = append(i.nodes, x); len(i.nodes) > maxNodes {
		return nil, ErrNotKept
	}
	below := v.children
	if v.dict != nil {
		below = append([]*vector{v.dict}, below...)
	}
	for _, c := range below {
		more, err := i.lay(c)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
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
