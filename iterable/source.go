package iterable

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/keep"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/iterable/internal/tables"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
)

// common is shared by the sources of a data set.
type common struct {
	stores   shard.Stores
	pool     *mem.Pool // where blocks live
	budget   *mem.Budget
	memory   int64 // limit of a rank's stream
	fetchers int   // of a stream
	copied   bool  // some shards are read, not lent
	sharing  ahead.Sharing
	losses   lossList
	lost     func(Loss) // may be nil
	lengths  samples.LengthStore
	keeping  *keep.Keeping
}

// newCommon returns what the sources of these shards share.
func newCommon(stores shard.Stores, shards []shard.Shard, o Options) *common {
	reads := shard.ReadsOf(stores, shards)
	c := &common{
		stores: stores, budget: (*mem.Budget)(o.Budget), fetchers: ahead.Fetchers(o.Fetchers, reads), copied: reads > 0,
		memory: o.Memory, lost: o.Events.Lost,
	}
	c.pool = c.budget.NewPool(o.DecodeLimit)
	if c.memory == 0 {
		c.memory = o.DefaultMemory
	}
	if c.memory == 0 {
		c.memory = mem.DefaultLimit()
	}
	c.keeping = keep.New(c.budget, c.memory, o.Tier, o.TierLimit)
	return c
}

// closeAfter frees the memory of a data set that was not opened.
func (c *common) closeAfter(err error) {
	if err != nil {
		c.pool.Close()
	}
}

// A source is shards, the rule that makes samples of their rows, and the order of these. A plain
// data set has one. It is safe for concurrent use.
type source struct {
	*common
	name       string            // in a mixture; else ""
	options    Options           // with the rule of this source
	transforms transform.Columns // of loads
	addresses  []string          // of the shards
	manifest   *rowgroup.Reader
	data       *shuffle.Manifest // the same, as the plan sees it
	bytes      int64             // uncompressed, of all columns
	sizes      *sizes
	rules      *samples.Rules // nil: each row is a sample
	reading    samples.Data
	samples    int64 // of an epoch
	sampled    sampled
	tokens     int64 // of its samples, where the weights of a mixture are in tokens

	fileMemory int64 // for which units are cut in file order

	cutting chan struct{} // a value while units are cut and counted
	mu      sync.Mutex
	units   map[cut]*shuffle.Units
	totals  samples.Totals // of all counting
	like    *shuffle.Units // of a trial: units that share their samples with other cuts, or nil
	last    *shuffle.Plan  // that was made last
}

// newSource binds the rule of the options to shards, and counts its samples.
func newSource(ctx context.Context, c *common, name string, addresses []string, m *rowgroup.Reader, o Options) (*source, error) {
	t, err := transform.Bind(m.Schema(), o.changes().Within(c.memory))
	if err != nil {
		return nil, err
	}
	t.KeepIn(m)
	d := &source{
		common: c, name: name, options: o, transforms: t, addresses: addresses, manifest: m, data: saved.SharedManifest(m, o.listed), fileMemory: c.memory, units: map[cut]*shuffle.Units{}, cutting: make(chan struct{}, 1),
	}
	d.sizes = newSizes(m, &d.transforms, shard.ReadsOf(c.stores, m.Shards()) > 0) // no reads: a disk, whose bytes are lent
	d.reading = samples.Data{
		Manifest: m, List: d.data, Budget: c.budget, Memory: c.memory, StoreMemory: o.StoreMemory, Fetchers: c.fetchers, TooLarge: c.tooLarge,
		StepFrom: o.stepFrom, PruneFrom: o.pruneFrom,
	}
	for _, g := range m.Groups() {
		d.bytes += g.Bytes
	}
	if err = tables.Check(o.table, m); err == nil {
		err = d.bind()
	}
	if err == nil {
		err = d.check()
	}
	if err == nil {
		err = d.countSamples(ctx)
	}
	return d, err
}

// bind binds the rule to the data.
func (d *source) bind() error {
	var err error
	d.rules, err = samples.Bind(d.options.rule(), d.manifest, d.data, &d.transforms)
	d.data.Rule, d.data.EachRow = d.rules.NameWith(d.transforms.Lines(), d.options.table), d.rules == nil
	d.data.Snapshot = tables.Name(d.options.table)
	if d.reading.Rules = d.rules; d.rules != nil {
		d.data.Now = d.rules.Now
		d.sizes.rules, d.sizes.ruled, d.sizes.repeats = d.rules, true, d.rules.Weight >= 0
		d.data.Numbered = d.rules.Numbered()
	}
	if k := d.packing(); k != nil {
		d.sizes.pack, d.sizes.packed, k.Known = k, newPackSizes(k, d.manifest), &d.common.lengths
	}
	if p := d.options.Plan; p != nil && err == nil && p.Rule != d.data.Rule {
		err = &shuffle.MismatchError{Field: "rule", Saved: cmp.Or(p.Rule, "none"), Here: cmp.Or(d.data.Rule, "none")}
		err = d.otherTokens(p.Rule, err)
	}
	return err
}

// packing returns the third stage of the rule, or nil.
func (d *source) packing() *samples.Packing { return d.reading.Packing() }

// countSamples finds out how many samples an epoch has.
func (d *source) countSamples(ctx context.Context) error {
	d.samples = d.manifest.NumRows()
	if d.rules == nil {
		d.sampled = d.newSampled(shuffle.Units{})
		return nil
	}
	units, err := d.cutWithin(ctx, d.ownCut())
	if err != nil {
		return err
	}
	d.samples = 0
	for _, u := range units.All() {
		d.samples += u.Samples
	}
	d.sampled = d.newSampled(*units)
	if d.samples == 0 && d.manifest.NumRows() > 0 {
		err := d.rules.ErrNothing(d.manifest.NumRows())
		if lost := d.losses.list(); len(lost) > 0 {
			err = fmt.Errorf("%w; %v", err, lost[0])
		}
		return err
	}
	return nil
}

// check refuses data that no plan can be made of, and a saved manifest that the files do not match.
func (d *source) check() error {
	if err := d.data.Validate(); err != nil {
		return err
	}
	if listed := d.options.listed; listed != nil && listed.Content() != d.data.Content() {
		return &ManifestError{Differences: listed.Differences(d.data, maxDifferences)}
	}
	return nil
}

// plan makes the shuffled order that the options ask for from worldSize ranks on. buffer is the
// shuffle buffer in rows; 0 leaves it to the options, where memory, if not 0, bounds the default.
func (d *source) plan(worldSize int, so StreamOptions, buffer, memory int64) (*shuffle.Plan, error) {
	if d.options.Plan != nil {
		return d.planned(so.Tail)
	}
	units, err := d.cut(d.options.UnitRows)
	if err != nil {
		return nil, err
	}
	o := d.options.planOptions(worldSize)
	o.Tail, o.Buffer = so.Tail, buffer
	if buffer == 0 {
		size, err := d.options.ShuffleBuffer.total(worldSize, so.LocalWorldSize)
		if err != nil {
			return nil, err
		}
		size.Memory = memory
		o.Buffer = size.Resolve(d.samples, d.sampleBytes(), units.MostSamples())
	}
	params, err := o.Params(*units)
	if err != nil {
		return nil, err
	}
	return d.newPlan(units, params, d.options.Seed)
}

// newPlan makes the plan of units of this source, or returns the last one if it is the same. All
// ranks of an engine have the same plan, which is large beside a stream.
func (d *source) newPlan(units *shuffle.Units, params shuffle.Params, seed uint64) (*shuffle.Plan, error) {
	d.mu.Lock()
	last := d.last
	d.mu.Unlock()
	if last != nil && last.Seed() == seed && last.Params() == params {
		return last, nil
	}
	p, err := shuffle.New(d.data, *units, params, seed)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = p
	return p, nil
}

// sampleBytes is the uncompressed bytes of all columns of the samples, as of mean rows.
func (d *source) sampleBytes() int64 {
	if k := d.packing(); k != nil {
		return mem.MulDiv(d.samples, k.SampleBytes(), 1)
	}
	return mem.MulDiv(d.sampled.bytes, d.samples, max(1, d.sampled.rows))
}

// resume makes the shuffled order of a state, with another tail when that does not move rows.
func (d *source) resume(state shuffle.State, tail shuffle.Tail) (*shuffle.Plan, error) {
	if state.Params == nil {
		return nil, state.Fits(nil)
	}
	units, err := d.cut(state.Params.UnitRows)
	if err != nil {
		return nil, err
	}
	p, err := d.newPlan(units, *state.Params, state.Seed)
	if err != nil {
		return nil, err
	}
	if err := state.Fits(p); err != nil || state.Params.Tail == tail {
		return p, err
	}
	params, err := withTail(*state.Params, tail)
	if err != nil {
		return nil, err
	}
	return d.newPlan(units, params, state.Seed)
}

// sequence makes the order without shuffle.
func (d *source) sequence(state *shuffle.State) (*shuffle.Sequence, error) {
	units, err := d.cutWithin(context.Background(), d.fileCut())
	if err != nil {
		return nil, err
	}
	q, err := shuffle.NewSequence(d.data, *units)
	if err != nil || state == nil {
		return q, err
	}
	return q, state.FitsSequence(q)
}

// lose records a loss, and reports it once.
func (d *source) lose(rows rowgroup.Rows, err error) { d.loseOf(d.manifest, rows, err) }

// loseOf is lose for rows of any source.
func (c *common) loseOf(m *rowgroup.Reader, rows rowgroup.Rows, err error) {
	c.tellOf(newLoss(m.Shards()[rows.Shard].URI, rows, err))
}

// tellOf records a loss, and reports it once.
func (c *common) tellOf(x Loss) {
	if c.losses.add(x) && c.lost != nil {
		c.lost(x)
	}
}

// room reports whether the budget of all streams would admit need bytes now.
func (c *common) room(need int64) bool {
	a, err := c.budget.Reserve(0, mem.Amounts{mem.Shuffle: need})
	if err != nil {
		return false
	}
	a.Close()
	return true
}

// tooLarge returns the error of reading the columns of a rule that needs more memory than a stream
// may have.
func (c *common) tooLarge(need mem.Amounts, err error) error {
	e := &MemoryError{Need: Amounts(need), Limit: c.memory, Err: err}
	if most := (need.Total() + 1<<20 - 1) &^ (1<<20 - 1); most > c.memory && c.room(most) {
		e.Memory = most
	}
	return fmt.Errorf("counting the rows that are kept: %w", e)
}
