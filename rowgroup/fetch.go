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

// read gets the bytes of all chunks: those that the shard lends, and the others, in one call, in a buffer of the pool.
func (m *Manifest) read(ctx context.Context, raw *Raw) error {
	f := fetched{spans: raw.spans()}
	f.bytes = make([][]byte, len(f.spans))
	var unlent []int
	for i, s := range f.spans {
		if s.Off < 0 || s.N < 0 || s.End() > m.shards[raw.Rows.Shard].Size {
			return fmt.Errorf("%w: bytes %d to %d are not in the file", errFooter, s.Off, s.End())
		}
		b, release, lent, err := shard.View(raw.object, s.Off, s.N)
		if err != nil {
			return err
		}
		if !lent {
			unlent = append(unlent, i)
			continue
		}
		raw.mapped = true
		raw.release = append(raw.release, release)
		raw.read, raw.held = raw.read+s.N, raw.held+s.N
		f.bytes[i] = b
	}
	if err := m.copySpans(ctx, raw, &f, unlent); err != nil {
		return err
	}
	for i := range raw.chunks {
		c := &raw.chunks[i]
		c.dict, c.pages = f.slice(c.dictSpan()), f.slice(c.pagesSpan())
	}
	return nil
}

// copySpans reads some of the spans into one buffer, side by side. They are all of one row group, so the store may read what lies between.
func (m *Manifest) copySpans(ctx context.Context, raw *Raw, f *fetched, which []int) error {
	total := int64(0)
	for _, i := range which {
		total += f.spans[i].N
	}
	if total == 0 {
		return nil
	}
	buf := m.pool.Get(int(total))
	raw.release = append(raw.release, func() { m.pool.Put(buf) })
	raw.read, raw.held = raw.read+total, raw.held+int64(cap(buf))
	ranges := make([]shard.Range, len(which))
	for k, rest := 0, buf; k < len(which); k++ {
		n := f.spans[which[k]].N
		ranges[k] = shard.Range{Off: f.spans[which[k]].Off, P: rest[:n:n]}
		f.bytes[which[k]] = ranges[k].P
		rest = rest[n:]
	}
	return shard.ReadRanges(ctx, raw.object, ranges)
}

// Spans is what the projection needs of group g's shard to read the group whole, dictionaries included: ascending, apart from each other.
func (m *Manifest) Spans(g int) []shard.Span {
	r, group := m.groupRecord(g)
	leaves := m.bound[m.files[m.groups[g].Shard].schema].leaves
	spans := make([]shard.Span, len(leaves))
	for i, l := range leaves {
		k := r.chunk(l.index, group)
		spans[i] = shard.Span{Off: r.start.at(k), N: r.compressed.at(k)}
	}
	return mergeSpans(spans)
}
