package samples

import (
	"context"
	"slices"
	"time"
)

// publishEvery is how often counts are written while row groups are still being read: a start that
// is killed leaves them to the next.
const publishEvery = 5 * time.Second

// read counts the units that are not known by reading the columns of the rule.
func (c *counter) read(ctx context.Context) error {
	c.totals.Read = true
	c.sums = make([]int64, len(c.units))
	if c.rules.Pack != nil {
		c.lengths = make([]unitLengths, len(c.units))
	}
	if c.countsTexts() {
		c.toCount = c.fileTexts()
	}
	how := Reading{Next: c.next, Found: c.add, Done: c.counted}
	if c.how.Lose != nil {
		how.lost, how.pieces = c.lose, c.pieces
	}
	c.published = time.Now()
	err := c.dataset.Read(ctx, how)
	if err == nil {
		c.keepTokens()
	}
	if c.dir != nil { // also after an error: the next start has less to count then
		c.publish()
		if err := c.dir.tidy(); err != nil {
			c.unusable(err)
		}
	}
	return err
}

// next returns the next row group with units to count, and publishes counts from time to time.
func (c *counter) next(context.Context) (group int, ok bool) {
	if time.Since(c.published) >= c.every {
		c.publish()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for g := c.begun; g < len(c.left); g++ {
		if c.left[g] > 0 {
			c.begun = g + 1
			return g, true
		}
	}
	return 0, false
}

// counted notes that a row group was read.
func (c *counter) counted(group int) {
	c.pack(group)
	c.mu.Lock()
	for u := c.groups[group]; u < c.groups[group+1]; u++ {
		if c.gone[u] {
			c.sums[u] = 0
		}
		c.set(u, c.sums[u])
	}
	c.mu.Unlock()
	c.report()
}

// publish writes the counts that were found since the last time.
func (c *counter) publish() {
	if c.dir == nil {
		return
	}
	c.mu.Lock()
	fresh := c.fresh
	c.fresh, c.published = nil, time.Now()
	slices.Sort(fresh)
	var all []countEntry
	for i := 0; i < len(fresh); {
		j := i + 1
		for j < len(fresh) && fresh[j] == fresh[j-1]+1 {
			j++
		}
		first, end := c.groups[fresh[i]], c.groups[fresh[j-1]+1]
		all = append(all, c.entries(c.keys, first, end, func(u int) []int64 { return []int64{c.units[u].Samples} })...)
		if c.countsTexts() {
			all = append(all, c.entries(c.textKeys, first, end, c.textsOf)...)
		}
		i = j
	}
	c.mu.Unlock()
	if err := c.dir.write(all); err != nil {
		c.unusable(err)
	}
}

// add adds the samples of some rows to their units.
func (c *counter) add(g int, lo, hi int64, sel Selection) {
	c.mu.Lock()
	estimate := c.measured(sel.work)
	defer func() {
		c.mu.Unlock()
		if estimate != nil {
			c.how.Estimated(*estimate)
		}
	}()
	for u := c.groups[g]; u < c.groups[g+1]; u++ {
		switch from, to := max(lo, c.units[u].Lo), min(hi, c.units[u].Hi); {
		case from >= to:
		case c.rules.Pack != nil:
			c.lengths[u].add(c.rules.Pack, sel, int(from-lo), int(to-lo))
		default:
			c.sums[u] += sel.Samples(int(from-lo), int(to-lo))
		}
	}
}

// pieces cuts rows of a row group at the edges of units.
func (c *counter) pieces(g int, lo, hi int64) (all []Run) {
	for _, u := range c.units[c.groups[g]:c.groups[g+1]] {
		if from, to := max(lo, u.Lo), min(hi, u.Hi); from < to {
			all = append(all, Run{lo: from, hi: to})
		}
	}
	return all
}

// lose notes that the units of some rows have no samples, since their data is lost.
func (c *counter) lose(g int, lo, hi int64, err error) {
	c.mu.Lock()
	for u := c.groups[g]; u < c.groups[g+1]; u++ {
		if unit := c.units[u]; max(lo, unit.Lo) < min(hi, unit.Hi) {
			c.gone[u] = true
			lo, hi = min(lo, unit.Lo), max(hi, unit.Hi)
		}
	}
	c.mu.Unlock()
	c.how.Lose(c.dataset.RowsOf(g, lo, hi), err)
}
