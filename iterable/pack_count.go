package iterable

import "github.com/shardfeed/shardfeed/rule"

// lengthScratch is what the lengths of a row take while its unit is counted: as they are read, and
// until the unit is complete.
const lengthScratch = 8

// unitLengths are the documents of a unit that is being counted.
type unitLengths struct {
	tokens int64    // of all, where the number of blocks follows from them
	each   []uint32 // else of each
}

// add takes in the documents that a rule keeps of rows [lo, hi) of a selection.
func (n *unitLengths) add(k *packing, sel selection, lo, hi int) {
	each := k.spec.Strategy != rule.Wrapped && k.spec.Strategy != ""
	sel.each(lo, hi, func(row int) {
		times := 1
		if sel.times != nil {
			times = int(sel.times[row])
		}
		for range times {
			if n.tokens += int64(sel.lengths[row]); each {
				n.each = append(n.each, sel.lengths[row])
			}
		}
	})
}

// pack counts the blocks of a row group whose documents are all there.
func (c *counter) pack(group int) {
	k := c.rules.pack
	if k == nil {
		return
	}
	p := k.spec.NewPacker()
	for u := c.groups[group]; u < c.groups[group+1]; u++ {
		n := c.lengths[u]
		blocks := p.CountTokens(n.tokens)
		if !p.Total() {
			blocks = p.Count(n.each)
		}
		_, lost := p.Truncated(n.each)
		c.mu.Lock()
		c.sums[u], c.lengths[u] = blocks, unitLengths{}
		if !c.gone[u] {
			c.tokens += n.tokens - lost
		}
		c.mu.Unlock()
	}
}
