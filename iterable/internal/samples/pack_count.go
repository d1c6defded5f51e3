package samples

import (
	"cmp"
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/rule"
)

const (
	lengthScratch = 8  // of a row's length while its unit is counted: when it is read, and until the unit is complete
	textScratch   = 12 // of a row whose tokens are counted
)

// unitLengths are the documents of a unit that is being counted.
type unitLengths struct {
	tokens int64    // of all, where the number of blocks follows from them
	each   []uint32 // else of each
	texts  Texts    // where tokens of texts are counted
}

// add takes in the documents that a rule keeps of rows [lo, hi) of a selection.
func (n *unitLengths) add(k *Packing, sel Selection, lo, hi int) {
	each := k.Bucket != nil || k.Spec.PackStrategy() != rule.Wrapped
	sel.Each(lo, hi, func(row int) {
		times := 1
		if sel.Times != nil {
			times = int(sel.Times[row])
		}
		if sel.texts != nil {
			n.texts.add(sel.texts[row], times)
		}
		for range times {
			if n.tokens += int64(sel.Lengths[row]); each {
				n.each = append(n.each, sel.Lengths[row])
			}
		}
	})
}

// pack counts the blocks of a row group whose documents are all there.
func (c *counter) pack(group int) {
	k := c.rules.Pack
	if k == nil {
		return
	}
	p := k.NewFit()
	for u := c.groups[group]; u < c.groups[group+1]; u++ {
		n := c.lengths[u]
		blocks := p.CountTokens(n.tokens)
		if !p.Total() {
			blocks = p.Count(n.each)
		}
		_, lost := p.Truncated(n.each)
		if k.Bucket == nil {
			k.Known.keep(LengthKey{k, group, c.units[u].Lo}, n.each)
		}
		c.mu.Lock()
		c.sums[u], c.lengths[u] = blocks, unitLengths{}
		if !c.gone[u] {
			c.tokens, c.blocks, c.padded = c.tokens+n.tokens-lost, c.blocks+blocks, c.padded+p.PaddedTokens
			c.spread.add(n)
			if c.countsTexts() {
				c.texts[u], c.textsKnown[u] = n.texts, true
			}
		}
		c.mu.Unlock()
	}
}

// keepTokens notes how many tokens are in all blocks, if this process has counted all of them.
func (c *counter) keepTokens() {
	all := int64(0)
	for _, u := range c.units {
		all += u.Samples
	}
	if c.blocks == all {
		c.totals.All, c.totals.Tokens, c.totals.Padded, c.totals.Sorted = true, c.tokens, c.padded, c.spread.between() > sortedShare
	}
}

// footersAtOnce is how many footers are read at once.
const footersAtOnce = 16

// footers counts blocks by the footers' numbers of items, if the number of blocks follows from the
// tokens: of whole row groups whose documents are all packed. It reads each footer once, which is
// little beside the lists.
func (c *counter) footers(ctx context.Context) error {
	k := c.rules.Pack
	if k == nil || k.Bucket != nil || k.Declared || k.texts != nil || len(c.rules.Given) > 1 || !k.Spec.NewPacker().Total() {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(footersAtOnce)
	for s := range c.dataset.List.Shards {
		if c.worthAFooter(s) {
			g.Go(func() error { return c.footer(ctx, s) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if c.keepTokens(); !c.complete() {
		return nil
	}
	c.report()
	c.publish()
	return nil
}

// worthAFooter reports whether the lists that a shard has to read are larger than its footer.
func (c *counter) worthAFooter(shard int) bool {
	var bytes int64
	for u := c.shards[shard]; u < c.shards[shard+1]; u++ {
		if !c.known[u] {
			fetch, _ := c.dataset.Manifest.RuleBytes(c.units[u].Group)
			bytes += fetch
		}
	}
	return bytes > 0 && bytes >= cmp.Or(c.dataset.PruneFrom, prunedBytes)
}

// footer counts the row groups of a shard by its footer.
func (c *counter) footer(ctx context.Context, shard int) error {
	d := c.dataset
	stats, err := d.Manifest.ShardStats(ctx, shard)
	if err != nil {
		return nil // the pass reads the shard, and returns its error
	}
	k, p := c.rules.Pack, c.rules.Pack.Spec.NewPacker()
	c.mu.Lock()
	defer c.mu.Unlock()
	for u := c.shards[shard]; u < c.shards[shard+1]; u++ {
		unit := c.units[u]
		group := d.List.Groups[unit.Group]
		if c.known[u] || unit.Rows() < group.Rows {
			continue
		}
		if items, ok := stats.Items(int(group.Index), k.lengths[0]); ok {
			tokens := items + group.Rows*int64(k.Spec.Extra())
			blocks := p.CountTokens(tokens)
			c.set(u, blocks)
			c.tokens, c.blocks = c.tokens+tokens, c.blocks+blocks
		}
	}
	return nil
}

// spread measures whether rows are sorted by length: how much of the variance of lengths is between
// units.
type spread struct {
	rows, sum, squares float64
	between2           float64 // the sum of each unit's squared sum by its rows
}

func (s *spread) add(n unitLengths) {
	if len(n.each) == 0 {
		return
	}
	for _, l := range n.each {
		s.squares += float64(l) * float64(l)
	}
	rows, sum := float64(len(n.each)), float64(n.tokens)
	s.rows, s.sum, s.between2 = s.rows+rows, s.sum+sum, s.between2+sum*sum/rows
}

// between returns the share of the variance that is between units.
func (s *spread) between() float64 {
	mean := s.sum * s.sum / max(1, s.rows)
	if all := s.squares - mean; all > 0 {
		return (s.between2 - mean) / all
	}
	return 0
}

// sortedShare is the share from which rows count as sorted by length.
const sortedShare = 0.5

// countsTexts reports whether tokens of texts are counted.
func (c *counter) countsTexts() bool { return c.rules.Pack != nil && c.rules.Pack.texts != nil }

// worked adds the work of some texts. It predicts the rest, if that is much text, once enough was
// measured.
func (c *counter) worked(w Work) {
	if e := c.predict(w); e != nil && c.how.Estimated != nil {
		c.how.Estimated(*e)
	}
}

// predict adds some work, and returns the prediction when it can be made.
func (c *counter) predict(w Work) *TextEstimate {
	least := cmp.Or(c.how.measure, measuredText*int64(cores.Number()))
	c.mu.Lock()
	defer c.mu.Unlock()
	all, cold := &c.totals.Work, &c.cold
	if all.Bytes < least/coldPart {
		*cold = *all
		cold.add(w)
	}
	all.add(w)
	if c.totals.Predicted != nil || all.Bytes < least || c.toCount < muchText*least || all.Took <= cold.Took {
		return nil
	}
	c.totals.Predicted = &TextEstimate{
		Bytes: c.toCount, Speed: float64(all.Bytes-cold.Bytes) / (all.Took - cold.Took).Seconds(),
		Processors: cores.Number(), Nodes: max(1, c.how.Share.Of),
	}
	return c.totals.Predicted
}

// fileTexts returns the bytes of the texts of row groups whose units are not known.
func (c *counter) fileTexts() (bytes int64) {
	for g, left := range c.left {
		if left == 0 {
			continue
		}
		n := int64(0)
		for _, col := range c.rules.Pack.texts.From {
			n += c.dataset.Manifest.FileBytes(g, col, nil)
		}
		if n == 0 { // the footer does not have it
			n, _ = c.dataset.Manifest.RuleBytes(g)
		}
		bytes += n
	}
	return bytes
}

// textsOf returns the numbers of the texts of a unit.
func (c *counter) textsOf(u int) (all []int64) {
	for _, n := range c.texts[u].numbers() {
		all = append(all, *n)
	}
	return all
}

// takeTexts takes the texts that were kept of the units [first, end) of a shard, four numbers each.
func (c *counter) takeTexts(first, end int, e countEntry) {
	if len(e.counts)%textNumbers != 0 || e.first > end-first || len(e.counts)/textNumbers > end-first-e.first {
		return
	}
	for i := range len(e.counts) / textNumbers {
		u := first + e.first + i
		for j, n := range c.texts[u].numbers() {
			*n = e.counts[i*textNumbers+j]
		}
		c.textsKnown[u] = true
	}
}

// sumTexts sums the texts of all units. It returns nil if the texts of a unit are unknown, as with
// counts that an earlier version kept.
func (c *counter) sumTexts() *Texts {
	if !c.countsTexts() {
		return nil
	}
	var all Texts
	for u := range c.units {
		if !c.textsKnown[u] && c.units[u].Samples > 0 {
			return nil
		}
		all.Add(c.texts[u])
	}
	return &all
}
