package samples

import (
	"cmp"
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
	how := Reading{Next: c.next, Found: c.add, Done: c.counted, Worked: c.worked}
	if c.how.Lose != nil {
		how.lost, how.pieces = c.lose, c.pieces
	}
	c.published = time.Now()
	err := c.dataset.Read(ctx, how)
	if err == nil {
		c.keepTokens()
	}
	c.publish() // also after an error: the next start has less to count then
	if c.dir != nil {
		if err := c.dir.tidy(); err != nil {
			c.unusable(err)
		}
	}
	return err
}

// next returns the next row group with units to count, and publishes counts from time to time.
func (c *counter) next(context.Context) (group int, ok bool) {
	c.receive()
	if time.Since(c.published) >= c.every {
		c.publish()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.begun < len(c.left) {
		g := c.how.Share.group(c.begun, len(c.left))
		if c.begun++; c.left[g] > 0 {
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
	if c.dir == nil && c.shared == nil {
		return
	}
	c.mu.Lock()
	fresh := c.fresh
	c.fresh, c.published = nil, time.Now()
	slices.Sort(fresh)
	all := c.entriesOf(fresh)
	c.mu.Unlock()
	c.offer(fresh)
	if c.dir != nil {
		if err := c.dir.write(all); err != nil {
			c.unusable(err)
		}
	}
}

// entriesOf returns the entries of row groups, which ascend. The counter's mutex is held.
func (c *counter) entriesOf(groups []int) (all []countEntry) {
	for i := 0; i < len(groups); {
		j := i + 1
		for j < len(groups) && groups[j] == groups[j-1]+1 {
			j++
		}
		first, end := c.groups[groups[i]], c.groups[groups[j-1]+1]
		all = append(all, c.entries(c.keys, first, end, func(u int) []int64 { return []int64{c.units[u].Samples} })...)
		if c.countsTexts() {
			all = append(all, c.entries(c.textKeys, first, end, c.textsOf)...)
		}
		i = j
	}
	return all
}

// add adds the samples of some rows to their units.
func (c *counter) add(g int, lo, hi int64, sel Selection) {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// join opens the directories. A node that cannot counts everything.
func (c *counter) join() {
	s, err := c.how.Share.open()
	if err != nil {
		c.how.Unusable(err)
		return
	}
	c.shared, c.every = s, min(c.every, cmp.Or(c.how.every, shareEvery))
}

// receive takes the counts of other nodes that have come.
func (c *counter) receive() {
	s := c.shared
	if s == nil || time.Since(s.looked) < min(receiveEvery, c.every) {
		return
	}
	s.looked = time.Now()
	files, _ := s.theirs.Newest()
	for _, f := range files {
		if s.seen[f.Name()] {
			continue
		}
		s.seen[f.Name()] = true
		if segment := s.theirs.read(f); segment != nil {
			for _, g := range c.found(segment) {
				s.came[g] = true
			}
		}
	}
	c.report()
}

// offer gives the other nodes the counts of row groups that this node knows.
func (c *counter) offer(groups []int) {
	s := c.shared
	if s == nil {
		return
	}
	own := slices.DeleteFunc(slices.Sorted(slices.Values(groups)), func(g int) bool { return s.came[g] })
	c.mu.Lock()
	entries := c.entriesOf(own)
	c.mu.Unlock()
	if err := s.offer(entries); err != nil {
		c.unusable(err)
	}
}
