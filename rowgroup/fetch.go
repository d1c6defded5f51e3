package rowgroup

import (
	"context"
	"fmt"
	"sort"

	"github.com/shardfeed/shardfeed/shard"
)

// Fetch reads or maps the bytes that the projection needs of some rows of a row group, and no others. The caller releases the Raw.
func (m *Manifest) Fetch(ctx context.Context, u Rows) (*Raw, error) {
	raw, err := m.plan(u)
	if err != nil {
		return nil, err
	}
	whole := false
	defer func() {
		if !whole { // an error, or a panic of the store's
			raw.Release()
		}
	}()
	o, err := m.objects.acquire(ctx, u.Shard)
	if err == nil {
		raw.object = o.object
		raw.release = append(raw.release, func() { m.objects.release(u.Shard, o) })
		err = m.read(ctx, raw)
	}
	if err != nil {
		return nil, &Error{Op: "fetch", URI: m.shards[u.Shard].URI, RowGroup: u.RowGroup, Page: -1, Err: err}
	}
	whole = true
	return raw, nil
}

// plan lays out the chunks of a unit, without bytes yet.
func (m *Manifest) plan(u Rows) (*Raw, error) {
	if u.Shard < 0 || u.Shard >= len(m.shards) || u.RowGroup < 0 || m.first[u.Shard]+u.RowGroup >= m.first[u.Shard+1] {
		return nil, fmt.Errorf("fetch: there is no shard %d with a row group %d", u.Shard, u.RowGroup)
	}
	rows := m.groups[m.first[u.Shard]+u.RowGroup].Rows
	if u.Lo < 0 || u.Lo > u.Hi || u.Hi > rows {
		return nil, fmt.Errorf("fetch: rows %d to %d of a row group of %d", u.Lo, u.Hi, rows)
	}
	r, err := parseRecord(m.files[u.Shard].record)
	if err != nil {
		return nil, err
	}
	bound := &m.bound[m.files[u.Shard].schema]
	raw := &Raw{Rows: u, uri: m.shards[u.Shard].URI, columns: m.columnsOf(u.Shard), chunks: make([]rawChunk, len(bound.leaves))}
	for i, l := range bound.leaves {
		raw.chunks[i] = planChunk(&r, l, u, rows)
	}
	return raw, nil
}

// planChunk finds the bytes that some rows need: the whole chunk, or the dictionary and the pages that hold rows of the unit where an
// offset index tells.
func planChunk(r *record, l *leaf, u Rows, rows int64) rawChunk {
	k := r.chunk(l.index, u.RowGroup)
	c := rawChunk{
		leaf: l, codec: r.codec(k), lastRow: rows,
		pagesOff: r.start.at(k), pagesLen: r.compressed.at(k),
		numValues: r.values.at(k), uncompressedBytes: r.uncompressed.at(k),
	}
	lo, hi := r.pages(k)
	if lo == hi || u.Lo == 0 && u.Hi == rows {
		return c
	}
	start := c.pagesOff
	c.dictOff, c.dictLen = start, r.pageOff.at(lo)
	a := lo + sort.Search(hi-lo, func(i int) bool { return r.pageRow.at(lo+i) > u.Lo }) - 1
	b := lo + sort.Search(hi-lo, func(i int) bool { return r.pageRow.at(lo+i) >= u.Hi })
	a = max(a, lo)
	c.firstRow = r.pageRow.at(a)
	c.pagesOff = start + r.pageOff.at(a)
	if b < hi {
		c.lastRow = r.pageRow.at(b)
	}
	c.pagesLen = 0
	if b > a {
		c.pagesLen = start + r.pageOff.at(b-1) + r.pageSize.at(b-1) - c.pagesOff
	}
	return c
}

// read gets the bytes of all chunks: touching ones at once, lent by the shard where it can, else in a buffer of the pool.
func (m *Manifest) read(ctx context.Context, raw *Raw) error {
	var spans []span
	for i := range raw.chunks {
		c := &raw.chunks[i]
		spans = append(spans, span{c.dictOff, c.dictLen}, span{c.pagesOff, c.pagesLen})
	}
	f := fetched{spans: mergeSpans(spans)}
	for _, s := range f.spans {
		if s.off < 0 || s.n < 0 || s.end() > m.shards[raw.Rows.Shard].Size {
			return fmt.Errorf("%w: bytes %d to %d are not in the file", errFooter, s.off, s.end())
		}
		b, err := m.readSpan(ctx, raw, s)
		if err != nil {
			return err
		}
		f.bytes = append(f.bytes, b)
	}
	for i := range raw.chunks {
		c := &raw.chunks[i]
		c.dict, c.pages = f.slice(span{c.dictOff, c.dictLen}), f.slice(span{c.pagesOff, c.pagesLen})
	}
	return nil
}

func (m *Manifest) readSpan(ctx context.Context, raw *Raw, s span) ([]byte, error) {
	b, release, lent, err := shard.View(raw.object, s.off, s.n)
	if err != nil {
		return nil, err
	}
	if lent {
		raw.mapped = true
		raw.release = append(raw.release, release)
	} else {
		b = m.pool.Get(int(s.n))
		raw.release = append(raw.release, func() { m.pool.Put(b) })
		if err := raw.object.ReadAt(ctx, b, s.off); err != nil {
			return nil, err
		}
	}
	raw.bytes += s.n
	return b, nil
}
