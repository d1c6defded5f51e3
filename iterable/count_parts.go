package iterable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

const (
	partBytes    = 64 << 20        // of rule columns: what nodes divide the counting by
	publishEvery = 5 * time.Second // after which counts are published though more are to come
)

// A countPart is row groups that one node counts.
type countPart struct {
	groups [2]int // [from, to)
	claim  string
	taken  bool // by this process
	mine   bool // claimed by this process
	next   int  // row group that is handed out next
	left   int  // row groups that need something still
}

// divide cuts the row groups into parts: on every node in the same way, whatever it knows already.
func (c *counter) divide() {
	d := c.dataset
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", c.rules.text, d.data.Versions(), len(c.units)))
	name := hex.EncodeToString(sum[:8])
	from, bytes := 0, int64(0)
	for g := range d.data.Groups {
		fetch, _ := d.manifest.RuleBytes(g)
		bytes += fetch
		if bytes >= c.partBytes || g == len(d.data.Groups)-1 {
			c.parts = append(c.parts, &countPart{groups: [2]int{from, g + 1}, next: from, claim: fmt.Sprintf("%s-%d", name, len(c.parts))})
			from, bytes = g+1, 0
		}
	}
	if c.dir != nil && len(c.parts) > 0 {
		c.at = rand.IntN(len(c.parts)) // nodes begin at different places
	}
	c.published = c.now()
}

// next is the next row group to count; false when there is none left.
func (c *counter) next(context.Context) (group int, ok bool) {
	for {
		p := c.open
		if p == nil {
			if p = c.choose(); p == nil {
				return 0, false
			}
		}
		for p.next < p.groups[1] {
			g := p.next
			if p.next++; c.unknown(g) {
				return g, true
			}
			c.passed(g)
		}
		c.open = nil
	}
}

// unknown says that units of a row group are not counted.
func (c *counter) unknown(group int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left[group] > 0
}

// choose begins the next part: one that no node has claimed, else one that another node claimed and
// did not publish yet, since nothing tells whether it will.
func (c *counter) choose() *countPart {
	if c.dir != nil {
		c.dir.refresh(c.found)
		if c.now().Sub(c.published) >= c.every {
			c.publish()
		}
	}
	for _, anyone := range []bool{false, true} {
		for i := range c.parts {
			p := c.parts[(c.at+i)%len(c.parts)]
			if p.taken || !c.begins(p, anyone) {
				continue
			}
			c.at = (c.at + i) % len(c.parts)
			c.open = p
			return p
		}
		if c.dir == nil {
			return nil
		}
		c.publish() // others wait for nothing, and may be about to count the same
	}
	return nil
}

// begins takes a part, unless it is counted or claimed by another node.
func (c *counter) begins(p *countPart, anyone bool) bool {
	p.left = p.groups[1] - p.groups[0]
	if p.taken = !slices.ContainsFunc(c.left[p.groups[0]:p.groups[1]], func(n int) bool { return n > 0 }); p.taken {
		return false
	}
	if c.dir != nil && !anyone {
		if p.mine = c.dir.claim(p.claim); !p.mine {
			return false
		}
	}
	p.taken = true
	return true
}

// counted notes that a row group was read.
func (c *counter) counted(group int) {
	c.mu.Lock()
	for u := c.groups[group]; u < c.groups[group+1]; u++ {
		if c.gone[u] {
			c.sums[u] = 0
		}
		c.set(u, c.sums[u])
	}
	c.mu.Unlock()
	c.report()
	c.passed(group)
}

// passed notes that a row group of a part needs nothing more.
func (c *counter) passed(group int) {
	if c.dir == nil {
		return
	}
	i := sort.Search(len(c.parts), func(i int) bool { return c.parts[i].groups[1] > group })
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[i]
	if p.left--; p.left == 0 {
		c.waiting = append(c.waiting, p)
	}
}

// publish writes the counts of the parts that were counted since the last time.
func (c *counter) publish() {
	c.mu.Lock()
	waiting := c.waiting
	c.waiting, c.published = nil, c.now()
	var fresh []countEntry
	for _, p := range waiting {
		fresh = append(fresh, c.entries(c.groups[p.groups[0]], c.groups[p.groups[1]])...)
	}
	c.mu.Unlock()
	err := c.dir.publish(fresh)
	c.release(waiting)
	if err != nil {
		c.unusable(err)
	}
}

// release ends the claims of parts.
func (c *counter) release(parts []*countPart) {
	for _, p := range parts {
		if p.mine {
			p.mine = false
			c.dir.unclaim(p.claim)
		}
	}
}

// read counts the units that are not known by reading the columns of the rule.
func (c *counter) read(ctx context.Context) error {
	c.divide()
	c.sums, c.gone = make([]int64, len(c.units)), make([]bool, len(c.units))
	how := ruleReading{next: c.next, found: c.add, done: c.counted}
	if on := c.dataset.options.OnError; on == Mask || on == Skip {
		how.lost, how.pieces = c.lose, c.pieces
	}
	err := c.dataset.readRules(ctx, how)
	if c.dir != nil { // also after an error: the next start has less to count then
		c.publish()
		c.release(c.parts)
		if err := c.dir.tidy(); err != nil {
			c.unusable(err)
		}
	}
	return err
}

// add adds the samples of some rows to those of their units.
func (c *counter) add(g int, lo, hi int64, sel selection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for u := c.groups[g]; u < c.groups[g+1]; u++ {
		if from, to := max(lo, c.units[u].Lo), min(hi, c.units[u].Hi); from < to {
			c.sums[u] += sel.samples(int(from-lo), int(to-lo))
		}
	}
}

// pieces cuts rows of a row group at the edges of units.
func (c *counter) pieces(g int, lo, hi int64) (all []ruleRun) {
	for _, u := range c.units[c.groups[g]:c.groups[g+1]] {
		if from, to := max(lo, u.Lo), min(hi, u.Hi); from < to {
			all = append(all, ruleRun{lo: from, hi: to})
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
	c.dataset.lose(c.dataset.rowsOf(g, lo, hi), err)
}
