package schema

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// NewGiven makes a Given of the values of shards; a nil one is null.
func NewGiven(values []*PartitionValue) *Given {
	g := &Given{of: make([]int32, len(values))}
	seen := map[string]int32{}
	for i, v := range values {
		key := "null"
		if v != nil && !v.Null {
			key = "=" + string(v.Data)
		}
		at, ok := seen[key]
		if !ok {
			at = int32(len(g.values))
			seen[key] = at
			if v == nil {
				v = &PartitionValue{Null: true}
			}
			g.values = append(g.values, *v)
		}
		g.of[i] = at
	}
	return g
}

// PerShard reports whether each shard has a node of its own; see At. n may be nil.
func (n *Node) PerShard() bool {
	return n != nil && (n.Given != nil || n.Numbers != nil && n.Numbers.first != nil)
}

// At is the node of a bound column in a shard.
func (n *Node) At(shard int) *Node {
	switch {
	case !n.PerShard():
		return n
	case n.Given != nil:
		return n.Given.nodes[n.Given.of[shard]]
	}
	c := *n
	c.Numbers = &Numbers{IDs: true, First: n.Numbers.first[shard]}
	return &c
}

// bindTo gives the values the type of a column of the data set. n is the node that has them.
func (g *Given) bindTo(n *Node, to *column.Field) (*Given, error) {
	b := &Given{of: g.of, nodes: make([]*Node, len(g.values))}
	for i := range g.values {
		v, err := g.values[i].bindTo(n.Field, to)
		if err != nil {
			return nil, err
		}
		b.nodes[i] = &Node{Field: to, path: n.path, Partition: v}
	}
	return b, nil
}

// AtShard returns columns as they are in a shard.
func AtShard(columns []*Node, shard int) []*Node {
	if !slices.ContainsFunc(columns, (*Node).PerShard) {
		return columns
	}
	all := slices.Clone(columns)
	for i, n := range all {
		all[i] = n.At(shard)
	}
	return all
}

// bindTo is the value as one of another field.
func (v *PartitionValue) bindTo(from, to *column.Field) (*PartitionValue, error) {
	if v.Null || to.Kind != column.Fixed || sameLayout(from, to) {
		return v, nil
	}
	run, err := block.NewRecaster(from, to)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", to.Name, err)
	}
	var in, out [32]byte // aligned as numbers are
	copy(in[:], v.Data)
	if err := run.Values(out[:], in[:], 1, &block.CastScratch{}); err != nil {
		return nil, fmt.Errorf("column %q: %w", to.Name, err)
	}
	return &PartitionValue{Data: slices.Clone(out[:to.Width])}, nil
}
