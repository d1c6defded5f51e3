package rowgroup

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// ruleArenas is the arenas of a rule column, each of which may have a buffer that is nearly empty.
const ruleArenas = 3

// RuleBytes predicts what the rule columns of group g take, rather too high than too low: the bytes
// that FetchRule reads, and the memory that DecodeRule's columns hold. That memory comes beside the
// block and [Scratch], until Decode has taken over the columns that are delivered too.
func (m *Manifest) RuleBytes(g int) (fetch, decoded int64) {
	r, group := m.groupRecord(g)
	s, rows := int(m.groups[g].Shard), m.groups[g].Rows
	for _, n := range m.bound[m.files[s].schema].ruled {
		fetch = mem.Add(fetch, r.Compressed.At(r.Chunk(n.Leaf.Index, group)))
	}
	rules, columns := m.rulesOf(s), m.columnsOf(s)
	for i := range rules {
		b := &rules[i]
		if b.node == nil || b.shared >= 0 && slices.ContainsFunc(rules[:i], func(o boundRule) bool { return o.shared == b.shared }) {
			continue
		}
		e := estimator{r: &r, group: group}
		var shared *schema.Node
		if b.shared >= 0 {
			shared = columns[b.shared]
		}
		e.rule(b, shared, rows)
		large := mem.Add(e.narrow, e.wide)
		decoded = mem.Add(decoded, mem.Add(large, e.smallBytes(large)+ruleArenas*mem.ClassBytes(0)))
	}
	return fetch, decoded
}

// rule adds a rule column: the vector, and what is made of it for the rule.
func (e *estimator) rule(b *boundRule, shared *schema.Node, rows int64) {
	n := b.node
	if b.shared >= 0 {
		n = shared
	}
	for range b.depth {
		if n.Missing || n.Leaf != nil {
			return
		}
		e.alloc(rows / 8)
		n = n.Children[0]
	}
	isList := n.Field.Kind == column.List || n.Field.Kind == column.Map
	if n.Missing || n.Partition != nil {
		return
	}
	e.alloc(rows / 8) // where rows are a slice
	if isList {
		e.alloc(mem.MulDiv(rows+1, 4, 1))
	}
	levels := isList && b.shared < 0 && !b.whole
	if levels || n.Field.Kind == column.Struct {
		e.alloc(rows / 8)
		return
	}
	e.column(n, rows)
	if isList && b.whole {
		e.node(n, rows)
	}
	if n.Field.Kind == column.Binary && n.Leaf != nil {
		k := e.r.Chunk(n.Leaf.Index, e.group)
		e.alloc(mem.MulDiv(rows+1, 4, 1))
		if e.r.Dict.At(k) > 0 && !e.r.Coded(k) { // values of the dictionary, copied for each row
			e.alloc(mem.MulDiv(e.r.BinaryBytes(k), footer.PrefixGrowth, 1))
		}
	}
}
