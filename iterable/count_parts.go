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
	// Nodes divide the counting by parts, into some wantedParts, of so many bytes of rule columns
	// each.
	wantedParts    = 256
	leastPartBytes = 16 << 20
	mostPartBytes  = 64 << 20

	publishEvery = 5 * time.Second // after which counts are published though more are to come

	// openParts are begun at once, and one more for each that was finished: a fast network is soon
	// full, and nodes that start together leave parts to each other.
	openParts = 2

	lookEvery = 200 * time.Millisecond // for what others publish, when no part is left to claim
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
	fetches, total := make([]int64, len(d.data.Groups)), int64(0)
	for g := range fetches {
		fetches[g], _ = d.manifest.RuleBytes(g)
		total += fetches[g]
	}
	part := c.partBytes
	if part == 0 {
		part = min(max(total/wantedParts, leastPartBytes), mostPartBytes)
	}
	from, bytes := 0, int64(0)
	for g := range d.data.Groups {
		bytes += fetches[g]
		if bytes >= part || g == len(d.data.Groups)-1 {
			c.parts = append(c.parts, &countPart{groups: [2]int{from, g + 1}, next: from, claim: fmt.Sprintf("%s-%d", name, len(c.parts))})
			from, bytes = g+1, 0
		}
	}
	if c.dir != nil && len(c.parts) > 0 {
		c.at = rand.IntN(len(c.parts)) // nodes begin at different places
	}
	c.published = c.now()
}

// next is the next row group to count; false when there is none left, or ctx ends.
func (c *counter) next(ctx context.Context) (group int, ok bool) {
	for {
		p := c.open
		if p == nil {
			if p = c.choose(ctx); p == nil {
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

// choose begins the next part: one that no node has claimed; and when this node is done with its
// own, one that another claimed and did not publish yet, since nothing tells whether it will.
func (c *counter) choose(ctx context.Context) *countPart {
	if c.dir == nil {
		return c.begin(true)
	}
	for ctx.Err() == nil {
		c.dir.refresh(c.found)
		begun, finished := c.underWay()
		if begun >= openParts+finished {
			c.await(ctx, nil)
			continue
		}
		if p := c.begin(false); p != nil {
			if c.now().Sub(c.published) >= c.every {
				c.publish()
			}
			return p
		}
		c.publish() // others wait for nothing, and may be about to count the same
		if c.complete() {
			c.stop() // what is still being read was counted elsewhere
			return nil
		}
		if begun == 0 {
			return c.begin(true)
		}
		c.await(ctx, time.After(c.look))
	}
	return nil
}

// underWay is how many parts this node has begun and not finished, and how many it finished.
func (c *counter) underWay() (begun, finished int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun, c.finished
}

// await returns when a part is finished, at the time of a look, or when ctx ends.
func (c *counter) await(ctx context.Context, look <-chan time.Time) {
	select {
	case <-c.ended:
	case <-look:
	case <-ctx.Done():
	}
}

// begin takes the first part that is not counted; unless anyone's may be taken, one that this node
// can claim.
func (c *counter) begin(anyone bool) *countPart {
	for i := range c.parts {
		p := c.parts[(c.at+i)%len(c.parts)]
		if p.taken || !c.begins(p, anyone) {
			continue
		}
		c.at = (c.at + i) % len(c.parts)
		c.open = p
		c.mu.Lock()
		c.begun++
		c.mu.Unlock()
		return p
	}
	return nil
}

// begins takes a part, unless it is counted or claimed by another node.
func (c *counter) begins(p *countPart, anyone bool) bool {
	p.left = p.groups[1] - p.groups[0]
	if p.taken = c.isCounted(p); p.taken {
		return false
	}
	if c.dir != nil && !anyone {
		if p.mine = c.dir.Claim(p.claim); !p.mine {
			return false
		}
	}
	p.taken = true
	return true
}

// isCounted says that all row groups of a part are counted.
func (c *counter) isCounted(p *countPart) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(c.left[p.groups[0]:p.groups[1]], func(n int) bool { return n > 0 })
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
	if p.left--; p.left > 0 {
		return
	}
	c.waiting = append(c.waiting, p)
	c.begun--
	c.finished++
	select {
	case c.ended <- struct{}{}:
	default: // a waiter looks anyway
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
			c.dir.Unclaim(p.claim)
		}
	}
}

// read counts the units that are not known by reading the columns of the rule.
func (c *counter) read(ctx context.Context) error {
	c.divide()
	c.dataset.countedRows.Store(true)
	c.sums = make([]int64, len(c.units))
	if c.rules.pack != nil {
		c.lengths = make([]unitLengths, len(c.units))
	}
	how := ruleReading{next: c.next, found: c.add, done: c.counted}
	if on := c.dataset.options.OnError; on == Mask || on == Skip {
		how.lost, how.pieces = c.lose, c.pieces
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	c.stop = stop
	err := c.dataset.readRules(within, how)
	if ctx.Err() == nil && c.complete() {
		err = nil
	}
	if err == nil {
		c.keepTokens()
	}
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
		switch from, to := max(lo, c.units[u].Lo), min(hi, c.units[u].Hi); {
		case from >= to:
		case c.rules.pack != nil:
			c.lengths[u].add(c.rules.pack, sel, int(from-lo), int(to-lo))
		default:
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
