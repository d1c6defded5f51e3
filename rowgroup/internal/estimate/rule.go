package estimate

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A RuleColumn is a column that a rule reads: what is Depth structs below a node.
type RuleColumn struct {
	Node      *schema.Node
	Depth     int
	Delivered bool // the block has it too
	Whole     bool // lists with their items, where else their levels are enough
}

// ruleArenas is the arenas of a rule column, each of which may have a buffer that is nearly empty.
const ruleArenas = 3

// RuleBytes returns the memory of a column after Rule.
func (e *Bytes) RuleBytes() int64 { return mem.Add(e.Total(), ruleArenas*mem.ClassBytes(0)) }

// Rule adds a rule column: the vector, and what is made of it for the rule.
func (e *Estimator) Rule(b RuleColumn, rows int64) {
	n := b.Node
	for range b.Depth {
		if n.Missing || n.Leaf != nil {
			return
		}
		e.Alloc(rows / 8)
		n = n.Children[0]
	}
	isList := n.Field.Kind == column.List || n.Field.Kind == column.Map
	if n.Missing || n.Partition != nil {
		return
	}
	e.Alloc(rows / 8) // where rows are a slice
	if isList {
		e.Alloc(mem.MulDiv(rows+1, 4, 1))
	}
	levels := isList && !b.Delivered && !b.Whole
	if levels || n.Field.Kind == column.Struct {
		e.Alloc(rows / 8)
		return
	}
	e.Column(n, rows)
	if isList && b.Whole {
		e.Node(n, rows)
	}
	if n.Field.Kind == column.Binary && n.Leaf != nil {
		k := e.r.Chunk(n.Leaf.Index, e.group)
		e.Alloc(mem.MulDiv(rows+1, 4, 1))
		if e.r.Dict.At(k) > 0 && !e.r.Coded(k) { // values of the dictionary, copied for each row
			e.Alloc(mem.MulDiv(e.r.BinaryBytes(k), footer.PrefixGrowth, 1))
		}
	}
}
