package rowgroup

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// maxDeepBytes bounds a dictionary, a bloom filter or a column index that is worth a read.
const maxDeepBytes = 16 << 20

// Deepen reads what the shard has beyond its footer of the rule columns in row group g: the
// dictionaries of chunks whose data pages are all coded, else their bloom filters. Group knows them
// afterwards. It takes a request for each, so it is for groups that Group leaves open.
func (s *ShardStats) Deepen(ctx context.Context, g int) error {
	if s.groups[g] != nil {
		return nil
	}
	all := s.group(g)
	for i := range s.rules {
		n := s.rules[i].statLeaf()
		if n == nil || n.Leaf.Convert == schema.ConvertNull || n.Numbers != nil { // IDs differ: no dictionary codes them
			continue
		}
		if err := s.deepen(ctx, g, n, &all[i]); err != nil {
			return s.wrong(g, n, err)
		}
	}
	s.groups[g] = all
	return nil
}

// Dictionary reads the dictionary of rule column i in row group g, as Deepen does, and keeps
// nothing. It is nil where data pages are not coded or the dictionary is large. Values that no row
// has may be in it; nulls are not.
func (s *ShardStats) Dictionary(ctx context.Context, g, i int) (*column.Array, error) {
	n := s.rules[i].statLeaf()
	if n == nil || n.Leaf.Convert == schema.ConvertNull || n.Numbers != nil || !s.allCoded(g, n) {
		return nil, nil
	}
	a, err := s.dictionary(ctx, g, n)
	if err != nil {
		return nil, s.wrong(g, n, err)
	}
	return a, nil
}

func (s *ShardStats) wrong(g int, n *schema.Node, err error) error {
	return &Error{Op: "statistics", URI: s.m.shards[s.shard].URI, RowGroup: g, Column: n.Leaf.Path, Page: -1, Err: err}
}

// allCoded reports whether a dictionary that is worth a read codes all data pages of a chunk.
func (s *ShardStats) allCoded(g int, n *schema.Node) bool {
	chunk := s.record.Chunk(n.Leaf.Index, g)
	dict := s.record.Dict.At(chunk)
	return dict > 0 && dict <= maxDeepBytes && s.record.Coded(chunk) && s.record.Readable(chunk) == nil
}

func (s *ShardStats) deepen(ctx context.Context, g int, n *schema.Node, k *rule.ColumnStats) (err error) {
	if s.allCoded(g, n) {
		k.Distinct, err = s.dictionary(ctx, g, n)
		return err
	}
	k.MayContain, err = s.mayContain(ctx, g, n)
	return err
}

// mayContain returns a function that queries a leaf's bloom filter, or nil without a usable one.
func (s *ShardStats) mayContain(ctx context.Context, g int, n *schema.Node) (func(v []byte) bool, error) {
	place := s.details.Group(g).Chunks[n.Leaf.Index].Bloom
	if place.Off < parquet.MagicBytes || !s.bloomFits(n) {
		return nil, nil
	}
	bloom, err := s.bloom(ctx, place)
	if err != nil || bloom == nil {
		return nil, err
	}
	return func(v []byte) bool {
		b, ok := n.EncodedValue(v)
		return ok && bloom.MayContain(b)
	}, nil
}

// bloomFits reports whether values have one encoding, so that a filter can be asked for it.
func (s *ShardStats) bloomFits(n *schema.Node) bool {
	if n.Leaf.Convert == schema.ConvertRecast {
		return false
	}
	switch n.Field.Type {
	case column.TypeBool, column.TypeInt96, column.TypeInterval:
		return false
	case column.TypeString:
		return !s.m.replace
	case column.TypeDecimal:
		return n.Field.Kind == column.Fixed && n.Leaf.StoredWidth() > 0
	}
	return true
}

// bloom reads a bloom filter; nil when it is of a kind that is not known, or too large.
func (s *ShardStats) bloom(ctx context.Context, p parquet.Place) (*parquet.Bloom, error) {
	left := s.m.shards[s.shard].Size - p.Off
	first := min(left, parquet.BloomHeaderBytes)
	if p.Bytes > 0 {
		first = min(left, p.Bytes)
	}
	if first <= 0 || first > maxDeepBytes {
		return nil, nil
	}
	b, err := s.read(ctx, shard.Span{Off: p.Off, N: first})
	if err != nil {
		return nil, err
	}
	header, size, err := parquet.ParseBloomHeader(b)
	if err != nil || size > maxDeepBytes || int64(header)+int64(size) > left {
		return nil, nil // what the file says of its filter does not hold: no row is lost without it
	}
	if len(b) < header+size {
		rest, err := s.read(ctx, shard.Span{Off: p.Off + first, N: int64(header+size) - first})
		if err != nil {
			return nil, err
		}
		b = append(b, rest...)
	}
	return parquet.NewBloom(b[header : header+size]), nil
}

// dictionary reads the values of a chunk whose data pages are all coded.
func (s *ShardStats) dictionary(ctx context.Context, g int, n *schema.Node) (*column.Array, error) {
	k := s.record.Chunk(n.Leaf.Index, g)
	c := rawChunk{
		leaf: n.Leaf, codec: s.record.Codec(k), numValues: s.record.Values.At(k), uncompressedBytes: s.record.Uncompressed.At(k),
		dictOff: s.record.Start.At(k), dictLen: s.record.Dict.At(k),
	}
	raw := &Raw{reader: s.m, Rows: Rows{Shard: s.shard, RowGroup: g}, uri: s.m.shards[s.shard].URI, chunks: []rawChunk{c}}
	defer raw.Release()
	o, err := s.m.objects.acquire(ctx, s.m.firstShard+s.shard)
	if err != nil {
		return nil, err
	}
	raw.object = o.object
	raw.release = func() { s.m.objects.release(s.m.firstShard+s.shard, o) }
	if err := s.m.readPieces(ctx, raw, raw.pieces()); err != nil {
		return nil, err
	}
	d := s.m.NewDecoder()
	defer d.Close()
	var a *column.Array
	err = raw.Refetching(ctx, func() error {
		err := raw.use(func() (err error) {
			a, err = d.dictionaryOf(raw, n)
			return err
		})
		if damaged := raw.recheck(); damaged != nil {
			err = damaged
		}
		d.forget()
		if err != nil {
			return d.failed(raw, err)
		}
		return nil
	})
	return a, err
}

// dictionaryOf decodes the dictionary of a Raw's one chunk, into memory of its own.
func (d *Decoder) dictionaryOf(r *Raw, n *schema.Node) (a *column.Array, err error) {
	defer caught(&err)
	arena := d.newArena()
	defer arena.Free()
	d.raw, d.rows, d.chunks, d.arena, d.dict = r, r.Rows, r.chunks, arena, arena
	if _, err := d.nextChunk(n); err != nil {
		return nil, err
	}
	c := &d.col
	*c = leafDecoder{
		d: d, arena: arena, keep: arena, chunk: &r.chunks[0], leaf: n.Leaf, field: n.Field, scan: &d.scan,
		stored: n.Leaf.StoredWidth(), form: codes, unit: 4,
	}
	if _, err := d.scan.scan(c.chunk, d.rows, d.largePage()); err != nil {
		return nil, err
	}
	if c.field.Kind == column.Binary && c.stored == 0 {
		if err := c.prepareText(0); err != nil {
			return nil, err
		}
	}
	if err := c.readDictionary(); err != nil {
		return nil, err
	}
	h := heldRules{arena: arena}
	v := c.dictVector()
	a = &column.Array{Field: n.Field, Len: v.Len, Data: v.Data}
	if v.Field.Kind == column.Binary {
		if err := h.text(a, v, 0); err != nil {
			return nil, err
		}
		a.Offsets = slices.Clone(a.Offsets)
		a.Data = a.Data[:a.Offsets[a.Len]]
	}
	a.Data = slices.Clone(a.Data)
	return a, nil
}
