package footer

import (
	"context"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Footer describes the footer of one shard.
type Footer struct {
	Bytes     int64 // of the footer itself
	CreatedBy string
	Schema    string // the same for shards whose schemas are
	Leaves    []Leaf

	record Record
}

// A Leaf is one primitive column of a shard.
type Leaf struct {
	Path     string // names joined by dots
	Type     string
	Tensor   []int // shape of the tensors whose items the values are; nil without one
	Physical schema.Physical
	Repeated bool // or part of something repeated

	index int
}

// A Chunk is one column of one row group.
type Chunk struct {
	Data, DataBytes          int64 // the data pages' first byte in the shard, and how many there are
	Compressed, Uncompressed int64 // bytes, the dictionary's included
	Values                   int64
	Codec                    string
	Encodings                []string
	Pages                    []int64 // bytes of each, as stored; empty when there is no page index
	Unreadable               error   // why no data set can read it, or nil
}

// Describe reads the footers of the shards, or finds them in the index.
func Describe(ctx context.Context, store shard.Store, shards []shard.Shard, o Options) ([]Footer, error) {
	all, err := Load(ctx, store, shards, nil, o)
	if err != nil {
		return nil, err
	}
	footers := make([]Footer, len(all))
	leaves := map[*schema.File][]Leaf{}
	for i, l := range all {
		r, err := ParseRecord(l.Record)
		if err != nil {
			return nil, ShardError(shards[i], err)
		}
		if leaves[l.Schema] == nil {
			leaves[l.Schema] = schemaPrimitives(l.Schema)
		}
		footers[i] = Footer{Bytes: r.FooterBytes, CreatedBy: string(r.CreatedBy), Schema: string(l.Schema.ID[:]), Leaves: leaves[l.Schema], record: r}
	}
	return footers, nil
}

func schemaPrimitives(s *schema.File) []Leaf {
	all := []Leaf{}
	for _, column := range s.Columns {
		all = appendPrimitives(all, column, nil)
	}
	return all
}

// appendPrimitives appends the leaves of a node, which are items of tensors of a shape if there is
// one.
func appendPrimitives(all []Leaf, n *schema.Node, tensor []int) []Leaf {
	if n.Field.Tensor != nil {
		tensor = n.Field.Tensor.Shape
	}
	if n.Leaf != nil {
		all = append(all, Leaf{
			Path: n.Leaf.Path, Type: n.Field.String(), Tensor: tensor, Physical: n.Leaf.Type, Repeated: n.Leaf.MaxRep > 0, index: n.Leaf.Index,
		})
	}
	for _, c := range n.Children {
		all = appendPrimitives(all, c, tensor)
	}
	return all
}

// Groups is the number of row groups.
func (f *Footer) Groups() int { return f.record.Groups }

// Group is the rows and the uncompressed bytes of row group g.
func (f *Footer) Group(g int) (rows, bytes int64) { return f.record.Rows.At(g), f.record.Bytes.At(g) }

// Chunk is the column of a leaf in row group g.
func (f *Footer) Chunk(l Leaf, g int) Chunk {
	r := &f.record
	k := r.Chunk(l.index, g)
	c := Chunk{
		Data: r.Start.At(k) + r.Dict.At(k), DataBytes: r.Compressed.At(k) - r.Dict.At(k),
		Compressed: r.Compressed.At(k), Uncompressed: r.Uncompressed.At(k), Values: r.Values.At(k),
		Codec: r.Codec(k).String(), Unreadable: r.Readable(k),
	}
	for e := format.Encoding(0); e <= parquet.UnknownEncoding; e++ {
		if r.Uses(k, e) {
			c.Encodings = append(c.Encodings, e.String())
		}
	}
	lo, hi := r.Pages(k)
	for i := lo; i < hi; i++ {
		c.Pages = append(c.Pages, r.PageSize.At(i))
	}
	return c
}
