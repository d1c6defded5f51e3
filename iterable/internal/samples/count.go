package samples

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	countEvaluator = "count/1" // changes when a rule keeps other rows than it did
	textEvaluator  = "texts/1"
)

// A counter finds out how many samples units have under the data set's rule: from a saved plan,
// from what is kept in the index directory, by arithmetic, and for the rest by reading the columns
// of the rule.
type counter struct {
	dataset *Data
	rules   *Rules
	how     Counting
	totals  Totals
	units   []shuffle.Unit // whose samples it sets
	shards  []int          // first unit of each shard, and their number
	groups  []int          // first unit of each row group, and their number
	dir     *countDir      // nil keeps nothing
	shared  *sharing       // nil: no other node counts too
	keys    []countKey     // by shard; with dir or shared

	textKeys   []countKey // by shard, likewise, where tokens of texts are counted
	texts      []Texts    // by unit, likewise
	textsKnown []bool     // by unit
	toCount    int64      // bytes of the texts that are read
	cold       Work       // that filled the caches of encoders

	mu    sync.Mutex
	known []bool  // by unit
	left  []int   // units of each row group that are not known
	done  int64   // row groups whose units are known
	sums  []int64 // of units that are being counted
	gone  []bool  // units whose data is lost

	lengths []unitLengths // of the documents of units that are being counted; with a packing
	tokens  int64         // in all blocks that were counted
	blocks  int64
	padded  int64 // tokens of all batches with padding
	spread  spread

	begun     int   // row groups that the reading has begun, or skipped
	fresh     []int // row groups whose counts are complete and not published
	every     time.Duration
	published time.Time
	said      bool // that the directory is unusable
}

// Counting has the means and the events of counting.
type Counting struct {
	IndexDir string // where counts are kept; "" keeps nothing
	Share    Share  // with other nodes

	// What counts depend on besides the rule and the units.
	Identity func(uri string) string
	Reading  string // how columns are read

	Counted   func(done, of int64) // row groups; may be nil
	Estimated func(TextEstimate)   // of counting tokens of texts, once, when some were counted; may be nil
	measure   int64                // bytes of text that it measures; 0 means measuredText of each processor
	every     time.Duration        // between two segments of counts; 0 means publishEvery

	Unusable func(err error)                     // IndexDir cannot be used
	Lose     func(rows rowgroup.Rows, err error) // data that is lost has no samples; nil makes it an error
}

// Totals has what counting found besides the samples of units.
type Totals struct {
	Read bool // columns of the rule were read

	All            bool  // this process counted all blocks, and knows the rest
	Tokens, Padded int64 // in all blocks, and in all batches with padding
	Sorted         bool  // rows are sorted by length

	Texts *Texts // all documents, where tokens of texts are counted; nil if they are unknown
	Work  Work   // of this start

	Predicted *TextEstimate // of this start, if it counts much text
}

// Keep takes what another count of the same units, or of some of them, found.
func (t *Totals) Keep(more Totals) {
	t.Read = t.Read || more.Read
	t.Work.add(more.Work)
	t.Predicted = cmp.Or(more.Predicted, t.Predicted)
	if more.All {
		t.All, t.Tokens, t.Padded, t.Sorted = true, more.Tokens, more.Padded, more.Sorted
	}
	if more.Texts != nil {
		t.Texts = more.Texts
	}
}

// Count sets the samples of units.
func (d *Data) Count(ctx context.Context, units []shuffle.Unit, how Counting) (Totals, error) {
	c := d.newCounter(units, how)
	err := c.count(ctx)
	c.totals.Texts = c.sumTexts()
	return c.totals, err
}

func (c *counter) count(ctx context.Context) error {
	if !c.rules.Reads() {
		return c.arithmetic(ctx)
	}
	c.foretell()
	if c.how.IndexDir != "" && !c.complete() {
		dir, err := openCounts(c.how.IndexDir)
		if err != nil {
			c.how.Unusable(err)
		} else {
			defer func() { _ = dir.Close() }() // nothing was written through it
			c.dir = dir
		}
	}
	if c.how.Share.Dir != "" && !c.complete() {
		if c.join(); c.shared != nil {
			defer c.shared.close()
		}
	}
	if c.dir != nil || c.shared != nil {
		c.keep()
	}
	c.report()
	if c.complete() {
		return nil
	}
	if err := c.footers(ctx); err != nil || c.complete() {
		return err
	}
	return c.read(ctx)
}

func (d *Data) newCounter(units []shuffle.Unit, how Counting) *counter {
	c := &counter{dataset: d, rules: d.Rules, how: how, units: units, known: make([]bool, len(units)), gone: make([]bool, len(units)), every: cmp.Or(how.every, publishEvery)}
	if c.countsTexts() {
		c.texts, c.textsKnown = make([]Texts, len(units)), make([]bool, len(units))
	}
	c.groups = make([]int, len(d.List.Groups)+1)
	c.shards = make([]int, len(d.List.Shards)+1)
	c.left = make([]int, len(d.List.Groups))
	for _, u := range units {
		c.left[u.Group]++
		c.groups[u.Group+1]++
		c.shards[d.List.Groups[u.Group].Shard+1]++
	}
	for g := range d.List.Groups {
		c.groups[g+1] += c.groups[g]
		if c.left[g] == 0 {
			c.done++
		}
	}
	for s := range d.List.Shards {
		c.shards[s+1] += c.shards[s]
	}
	return c
}

// complete reports whether the samples of all units are known.
func (c *counter) complete() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done == int64(len(c.left))
}

// set notes the samples of a unit, if they are not known.
func (c *counter) set(unit int, samples int64) {
	if c.known[unit] {
		return
	}
	u := &c.units[unit]
	u.Samples, c.known[unit] = samples, true
	if c.left[u.Group]--; c.left[u.Group] == 0 {
		c.done++
		c.fresh = append(c.fresh, u.Group)
	}
}

// arithmetic counts without reading.
func (c *counter) arithmetic(ctx context.Context) error {
	var next sync.Mutex
	group := 0
	var workers sync.WaitGroup
	for range cores.Number() {
		workers.Go(func() {
			s := c.rules.NewSelector()
			for ctx.Err() == nil {
				next.Lock()
				g := group
				group++
				next.Unlock()
				if g >= len(c.left) {
					return
				}
				for u := c.groups[g]; u < c.groups[g+1]; u++ {
					c.units[u].Samples = s.count(g, c.units[u].Lo, c.units[u].Hi)
				}
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// count returns how many rows the rule keeps by their numbers.
func (s *Selector) count(group int, lo, hi int64) int64 {
	r := s.Rules
	switch ratio := r.part != nil && r.key < 0; {
	case ratio && (r.list != nil || r.live != nil), r.list != nil && r.live != nil:
		return s.Begin(group, lo, hi).Samples(0, int(hi-lo))
	case r.live != nil:
		return r.live.Count(group, lo, hi)
	case ratio:
		return s.marker.Count(rule.Slice{First: r.first[group], Rows: r.rows[group], Lo: lo, Hi: hi})
	case r.list != nil:
		return r.list.Count(group, lo, hi)
	}
	return hi - lo
}

// foretell finds the units without samples by what is known before reading: the values of
// partition columns, and the list of rows.
func (c *counter) foretell() {
	for s := range c.dataset.List.Shards {
		none := c.rules.prunePartition(c.dataset.Manifest, s) == rule.None
		for u := c.shards[s]; u < c.shards[s+1]; u++ {
			unit := &c.units[u]
			if none || c.rules.list != nil && c.rules.list.Count(unit.Group, unit.Lo, unit.Hi) == 0 ||
				c.rules.live != nil && c.rules.live.Count(unit.Group, unit.Lo, unit.Hi) == 0 {
				c.set(u, 0)
			}
		}
	}
}

// keep finds the counts that were kept.
func (c *counter) keep() {
	c.keys = make([]countKey, len(c.dataset.List.Shards))
	for s := range c.keys {
		c.keys[s] = c.keyOf(s, countEvaluator)
	}
	if c.countsTexts() {
		c.textKeys = make([]countKey, len(c.keys))
		for s := range c.textKeys {
			c.textKeys[s] = c.keyOf(s, textEvaluator)
		}
	}
	if c.fresh = nil; c.dir == nil { // known without reading
		return
	}
	c.dir.each(func(s *countSegment) { c.found(s) })
	kept := c.fresh
	c.fresh = nil
	c.offer(kept)
}

// keyOf is under what the counts of a shard's units are kept: the shard, the rule, how the units
// are cut, and all else that the rule depends on.
func (c *counter) keyOf(s int, evaluator string) (k countKey) {
	d := c.dataset
	of := d.Manifest.Shards()[s]
	id := sha256.Sum256([]byte(c.how.Identity(of.URI)))
	version := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", of.Size, of.VersionHere()))
	copy(k.shard[:], id[:])
	copy(k.version[:], version[:])
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00", evaluator, c.rules.text, c.how.Reading)
	d.Manifest.DescribeRules(h, s)
	var b []byte
	if c.rules.live != nil {
		h.Write(c.rules.live.Digest(s))
	}
	for _, u := range c.units[c.shards[s]:c.shards[s+1]] {
		b = b[:0]
		for _, n := range []int64{int64(d.List.Groups[u.Group].Index), u.Lo, u.Hi} {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		if c.rules.list != nil { // how a shard is found in the list depends on the others
			b = binary.LittleEndian.AppendUint64(b, uint64(c.rules.list.Count(u.Group, u.Lo, u.Hi)))
		}
		if c.rules.Numbered() {
			b = binary.LittleEndian.AppendUint64(b, uint64(c.rules.first[u.Group]))
		}
		h.Write(b)
	}
	copy(k.rule[:], h.Sum(nil))
	return k
}

// found takes the counts of a segment, and returns the row groups that are known by them.
func (c *counter) found(s *countSegment) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.fresh)
	for i := range c.keys {
		if c.shards[i] < c.shards[i+1] && c.dataset.Manifest.Shards()[i].VersionHere() != "" { // else a change would go unseen
			s.find(c.keys[i], func(e countEntry) { c.take(c.shards[i], c.shards[i+1], e) })
			if c.countsTexts() {
				s.find(c.textKeys[i], func(e countEntry) { c.takeTexts(c.shards[i], c.shards[i+1], e) })
			}
		}
	}
	return slices.Clone(c.fresh[before:])
}

// take takes the counts of an entry for the units [first, end) of its shard, if they can be true.
func (c *counter) take(first, end int, e countEntry) {
	if e.first > end-first || len(e.counts) > end-first-e.first {
		return
	}
	most := int64(1)
	switch {
	case c.rules.Pack != nil: // a row may fill any number of blocks
		most = math.MaxInt32
	case c.rules.Weight >= 0:
		most = maxTimes
	}
	for i, n := range e.counts {
		if u := first + e.first + i; n <= min(most*c.units[u].Rows(), math.MaxInt32) {
			c.set(u, n)
		}
	}
}

// maxTimes is how often a row can come.
const maxTimes = 255

// report calls Counted with the number of row groups that are counted.
func (c *counter) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if say := c.how.Counted; say != nil {
		say(c.done, int64(len(c.left)))
	}
}

// unusable says once that counts cannot be kept.
func (c *counter) unusable(err error) {
	if !c.said {
		c.said = true
		c.how.Unusable(err)
	}
}

// entries are the numbers of the units [first, end), which are in one or several shards. Units that
// are lost are left out: the next start looks again.
func (c *counter) entries(keys []countKey, first, end int, numbers func(unit int) []int64) (all []countEntry) {
	data := c.dataset.List
	for first < end {
		s := int(data.Groups[c.units[first].Group].Shard)
		last := first
		e := countEntry{countKey: keys[s], first: first - c.shards[s]}
		for ; last < min(end, c.shards[s+1]) && !c.gone[last]; last++ {
			e.counts = append(e.counts, numbers(last)...)
		}
		if c.dataset.Manifest.Shards()[s].VersionHere() != "" && last > first {
			all = append(all, e)
		}
		first = max(last, first+1)
	}
	return all
}

// prune asks the filter about statistics of the rule columns.
func (r *Rules) prune(s rule.Stats) rule.Verdict {
	if r.filter == nil {
		return rule.Some
	}
	return r.filter.Prune(inputStats{stats: s, inputs: r.inputs})
}

// inputStats maps statistics of the rule columns to the filter's inputs.
type inputStats struct {
	stats  rule.Stats
	inputs []int
}

func (s inputStats) Column(i int) rule.ColumnStats { return s.stats.Column(s.inputs[i]) }
