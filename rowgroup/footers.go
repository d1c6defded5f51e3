package rowgroup

import (
	"context"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Footer is what the footer of one shard says.
type Footer struct {
	Bytes     int64 // of the footer itself
	CreatedBy string
	Schema    string // the same for shards whose schemas are
	Leaves    []Leaf

	record record
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

// Footers reads the footers of the shards, or finds them in the index. It uses IndexDir, Parallel,
// Hot and Events of the options.
func Footers(ctx context.Context, store shard.Store, shards []shard.Shard, o Options) ([]Footer, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	all, err := loadFooters(ctx, store, shards, nil, o.withDefaults(store, shards))
	if err != nil {
		return nil, err
	}
	footers := make([]Footer, len(all))
	leaves := map[*schema.File][]Leaf{}
	for i, l := range all {
		r, err := parseRecord(l.record)
		if err != nil {
			return nil, footerError(shards[i], err)
		}
		if leaves[l.schema] == nil {
			leaves[l.schema] = schemaPrimitives(l.schema)
		}
		footers[i] = Footer{Bytes: r.footerBytes, CreatedBy: string(r.createdBy), Schema: string(l.schema.ID[:]), Leaves: leaves[l.schema], record: r}
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
func (f *Footer) Groups() int { return f.record.groups }

// Group is the rows and the uncompressed bytes of row group g.
func (f *Footer) Group(g int) (rows, bytes int64) { return f.record.rows.at(g), f.record.bytes.at(g) }

// Chunk is the column of a leaf in row group g.
func (f *Footer) Chunk(l Leaf, g int) Chunk {
	r := &f.record
	k := r.chunk(l.index, g)
	c := Chunk{
		Data: r.start.at(k) + r.dict.at(k), DataBytes: r.compressed.at(k) - r.dict.at(k),
		Compressed: r.compressed.at(k), Uncompressed: r.uncompressed.at(k), Values: r.values.at(k),
		Codec: r.codec(k).String(), Unreadable: r.readable(k),
	}
	for e := format.Encoding(0); e <= parquet.UnknownEncoding; e++ {
		if r.uses(k, e) {
			c.Encodings = append(c.Encodings, e.String())
		}
	}
	lo, hi := r.pages(k)
	for i := lo; i < hi; i++ {
		c.Pages = append(c.Pages, r.pageSize.at(i))
	}
	return c
}
