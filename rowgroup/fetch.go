package rowgroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// Fetch reads or maps the bytes that the projection needs of some rows of a row group, and no
// others; with rule columns, the bytes of both. The caller releases the Raw.
func (m *Reader) Fetch(ctx context.Context, u Rows) (*Raw, error) {
	raw, err := m.plan(u, false)
	if err != nil {
		return nil, err
	}
	m.takeTier(ctx, raw)
	return m.fetchRaw(ctx, raw, false)
}

// FetchEncoded is Fetch without the tier: all columns are decoded from the shard.
func (m *Reader) FetchEncoded(ctx context.Context, u Rows) (*Raw, error) {
	raw, err := m.plan(u, false)
	if err != nil {
		return nil, err
	}
	return m.fetchRaw(ctx, raw, false)
}

// FetchRule is Fetch for the rule columns only. The Raw is for [Decoder.DecodeRule].
func (m *Reader) FetchRule(ctx context.Context, u Rows) (*Raw, error) {
	raw, err := m.plan(u, true)
	if err != nil {
		return nil, err
	}
	return m.fetchRaw(ctx, raw, false)
}

// fetchRaw gets the bytes of a unit that is laid out: with lentAlone only if this machine holds
// them, else ErrNotKept. After an error the unit is released.
func (m *Reader) fetchRaw(ctx context.Context, raw *Raw, lentAlone bool) (out *Raw, err error) {
	defer func() {
		if out == nil { // an error, or a panic of the store's
			raw.Release()
		}
	}()
	s := m.firstShard + raw.Rows.Shard
	o, err := m.objects.acquire(ctx, s)
	if err == nil {
		raw.object = o.object
		raw.release = func() { m.objects.release(s, o) }
		if _, cached := o.object.(shard.Discarder); cached {
			probe := wait.ProbeOf(ctx)
			defer probe.Idle(probe.Idle(wait.Cache)) // leases know no context
		}
		if m.wantsMost(raw.Rows.Shard) {
			ctx = shard.WithMost(ctx)
		}
		err = m.read(ctx, raw, lentAlone)
	}
	if err != nil {
		return nil, raw.fetchError(err)
	}
	return raw, nil
}

func (r *Raw) fetchError(err error) error {
	if r.reader != nil && r.reader.shards[r.Rows.Shard].Immutable {
		err = shard.OfTable(err)
	}
	return &Error{Op: "fetch", URI: r.uri, RowGroup: r.Rows.RowGroup, Page: -1, Err: err}
}

// plan lays out the chunks of a unit, without bytes yet.
func (m *Reader) plan(u Rows, ruleAlone bool) (*Raw, error) {
	if u.Shard < 0 || u.Shard >= len(m.shards) || u.RowGroup < 0 || m.first[u.Shard]+u.RowGroup >= m.first[u.Shard+1] {
		return nil, fmt.Errorf("fetch: there is no shard %d with a row group %d", u.Shard, u.RowGroup)
	}
	group := &m.groups[m.first[u.Shard]+u.RowGroup]
	rows := group.Rows
	if u.Lo < 0 || u.Lo > u.Hi || u.Hi > rows {
		return nil, fmt.Errorf("fetch: rows %d to %d of a row group of %d", u.Lo, u.Hi, rows)
	}
	r, err := m.record(u.Shard)
	if err != nil {
		return nil, err
	}
	bound := &m.bound[m.files[u.Shard].schema]
	raw := m.newRaw(u)
	raw.fetched, raw.rules, raw.ruleAlone = u, m.rulesOf(u.Shard), ruleAlone
	leaves := bound.ruled
	if !ruleAlone {
		raw.columns, leaves = m.columnsOf(u.Shard), bound.fetched
	}
	raw.chunks = make([]rawChunk, len(leaves))
	for i, n := range leaves {
		raw.chunks[i] = planChunk(&r, n.Leaf, u, rows)
	}
	return raw, nil
}

// newRaw returns the Raw of a unit without columns.
func (m *Reader) newRaw(u Rows) *Raw {
	first := m.groups[m.first[u.Shard]+u.RowGroup].First
	return &Raw{reader: m, Rows: u, uri: m.shards[u.Shard].URI, first: first, before: first - m.groups[m.first[u.Shard]].First}
}

// planChunk finds the bytes that some rows need: the whole chunk, or, with an offset index, the
// dictionary and the pages that hold rows of the unit.
func planChunk(r *footer.Record, l *schema.Leaf, u Rows, rows int64) rawChunk {
	k := r.Chunk(l.Index, u.RowGroup)
	c := rawChunk{
		leaf: l, codec: r.Codec(k), lastRow: rows,
		pagesOff: r.Start.At(k), pagesLen: r.Compressed.At(k),
		numValues: r.Values.At(k), uncompressedBytes: r.Uncompressed.At(k),
	}
	lo, hi := r.Pages(k)
	if lo == hi || u.Lo == 0 && u.Hi == rows {
		return c
	}
	start := c.pagesOff
	c.dictOff, c.dictLen = start, r.PageOff.At(lo)
	a := lo + sort.Search(hi-lo, func(i int) bool { return r.PageRow.At(lo+i) > u.Lo }) - 1
	b := lo + sort.Search(hi-lo, func(i int) bool { return r.PageRow.At(lo+i) >= u.Hi })
	a = max(a, lo)
	c.noDict = a >= r.CodedPages(k)
	c.firstRow = r.PageRow.At(a)
	c.pagesOff = start + r.PageOff.At(a)
	if b < hi {
		c.lastRow = r.PageRow.At(b)
	}
	c.pagesLen = 0
	if b > a {
		c.pagesLen = start + r.PageOff.At(b-1) + r.PageSize.At(b-1) - c.pagesOff
	}
	return c
}

// read gets the bytes of all chunks.
func (m *Reader) read(ctx context.Context, raw *Raw, lentAlone bool) error {
	if lentAlone {
		if left, err := m.borrow(raw, raw.pieces()); err != nil || len(left) > 0 {
			return cmp.Or(err, ErrNotKept)
		}
	} else if err := m.readPieces(ctx, raw, raw.pieces()); err != nil {
		return err
	}
	missing, err := raw.missing()
	if err != nil {
		return err
	}
	return m.readPieces(ctx, raw, missing)
}

// readPieces gets some bytes: from the shard if it lends them, dictionaries from memory, and the
// rest in one call.
func (m *Reader) readPieces(ctx context.Context, raw *Raw, pieces []footer.Piece) error {
	left, err := m.borrow(raw, pieces)
	if err != nil || len(left) == 0 {
		return err
	}
	s := m.shards[raw.Rows.Shard]
	if m.hot == nil || s.VersionHere() == "" || !slices.ContainsFunc(left, func(p footer.Piece) bool { return p.Dict }) {
		return m.copyPieces(ctx, raw, left)
	}
	dicts := footer.NewDicts(m.hot, footer.NewKey(m.objects.store, s))
	defer dicts.End(false)
	if err := m.copyPieces(ctx, raw, dicts.Take(left)); err != nil {
		return err
	}
	dicts.End(true)
	probe := wait.ProbeOf(ctx)
	probe.Start() // another load's request
	left, err = dicts.Wait(ctx)
	probe.End()
	if err != nil {
		return err
	}
	return m.copyPieces(ctx, raw, left)
}

// borrow fills the pieces that the shard lends and returns the others.
func (m *Reader) borrow(raw *Raw, pieces []footer.Piece) (left []footer.Piece, err error) {
	f := fetched{spans: footer.MergePieces(pieces)}
	f.bytes = make([][]byte, len(f.spans))
	for i, s := range f.spans {
		if s.Off < 0 || s.N < 0 || s.End() > m.shards[raw.Rows.Shard].Size {
			return nil, fmt.Errorf("%w: bytes %d to %d are not in the file", parquet.ErrFooter, s.Off, s.End())
		}
		if raw.copyAll {
			continue
		}
		lease, lent, err := shard.Lend(raw.object, s.Off, s.N)
		if err != nil {
			return nil, err
		}
		if lent {
			raw.mapped = true
			raw.lent = append(raw.lent, s)
			raw.leases = append(raw.leases, lease)
			raw.read, raw.held = raw.read+s.N, raw.held+s.N
			f.bytes[i] = lease.Bytes()
		}
	}
	for _, p := range pieces {
		if *p.To = f.slice(p.Span); *p.To == nil {
			left = append(left, p)
		}
	}
	return left, nil
}

// copyPieces reads pieces into one buffer: adjacent ones as one, and all in one call. They are of
// one row group, so that the store may read the gaps too.
func (m *Reader) copyPieces(ctx context.Context, raw *Raw, pieces []footer.Piece) (err error) {
	defer exceeded(&err)
	f := fetched{spans: footer.MergePieces(pieces)}
	total := int64(0)
	for _, s := range f.spans {
		total += s.N
	}
	if total == 0 {
		return nil
	}
	buf := m.pool.Get(int(total))
	raw.buffers = append(raw.buffers, buf)
	raw.copied = true
	raw.read, raw.held = raw.read+total, raw.held+int64(cap(buf))
	ranges := make([]shard.Range, len(f.spans))
	for i, rest := 0, buf; i < len(ranges); i++ {
		s := f.spans[i]
		ranges[i] = shard.Range{Off: s.Off, P: rest[:s.N:s.N]}
		f.bytes = append(f.bytes, ranges[i].P)
		rest = rest[s.N:]
	}
	if err := shard.ReadRanges(ctx, raw.object, ranges); err != nil {
		return err
	}
	for _, p := range pieces {
		*p.To = f.slice(p.Span)
	}
	return nil
}

// Spans returns the spans that the projection and rules need of group g's shard to read the whole
// group, dictionaries included. They ascend and do not touch.
func (m *Manifest) Spans(g int) []shard.Span {
	r, group := m.groupRecord(g)
	leaves := m.bound[m.files[m.groups[g].Shard].schema].fetched
	spans := make([]shard.Span, len(leaves))
	for i, n := range leaves {
		k := r.Chunk(n.Leaf.Index, group)
		spans[i] = shard.Span{Off: r.Start.At(k), N: r.Compressed.At(k)}
	}
	return footer.MergeSpans(spans)
}

// SpansOf returns the spans that the projection and rules need of a shard to read some rows, which
// are row groups or parts of them in ascending order. The spans ascend and do not touch.
func (m *Reader) SpansOf(rows []Rows) (spans []shard.Span, err error) {
	for _, u := range rows {
		raw, err := m.plan(u, false)
		if err != nil {
			return nil, err
		}
		for _, c := range raw.chunks {
			spans = append(spans, shard.Span{Off: c.pagesOff, N: c.pagesLen}, shard.Span{Off: c.dictOff, N: c.dictLen})
		}
	}
	return footer.MergeSpans(spans), nil
}

// fetched is the bytes of merged spans.
type fetched struct {
	spans []shard.Span // sorted, apart
	bytes [][]byte     // nil before they are read
}

// slice returns the bytes of a span that is within one of the merged ones, nil before they are
// read.
func (f *fetched) slice(s shard.Span) []byte {
	i := sort.Search(len(f.spans), func(i int) bool { return f.spans[i].End() > s.Off })
	if f.bytes[i] == nil {
		return nil
	}
	lo := s.Off - f.spans[i].Off
	return f.bytes[i][lo : lo+s.N : lo+s.N]
}
