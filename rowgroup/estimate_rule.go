package rowgroup

import (
	"slices"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
)

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
		of := estimate.RuleColumn{Node: b.node, Depth: b.depth, Whole: b.whole}
		if b.shared >= 0 {
			of.Node, of.Delivered = columns[b.shared], true
		}
		e := estimate.New(&r, group)
		e.Rule(of, rows)
		decoded = mem.Add(decoded, e.RuleBytes())
	}
	return fetch, decoded
}
