package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Dataset is shards that were found, their footers read, and what the user wants of them. It is
// safe for concurrent use; streams of one data set share its memory pool and budget.
type Dataset struct {
	options  Options
	manifest *rowgroup.Manifest
	data     *shuffle.Manifest // the same, as the plan sees it
	bytes    int64             // uncompressed, of all columns
	memory   int64             // limit of a rank's stream
	pool     *mem.Pool         // where blocks live
	fetchers int               // of a stream
	sizes    *sizes
	recodes  recodes
	sharing  sharing
	stores   shard.Stores
	rules    *rules // nil: each row is a sample
	samples  int64  // of an epoch
	losses   lossList

	packedTokens atomic.Int64 // in all blocks of an epoch, where this process counted all of them

	cutting chan struct{} // a value while units are cut and counted
	mu      sync.Mutex
	units   map[int64][]shuffle.Unit // by unit_rows
	streams int                      // open ones
	closed  bool
}

// Open finds the shards that the addresses name, reads their footers, or finds them in the index,
// and projects their schemas.
func Open(ctx context.Context, stores shard.Stores, addresses []string, o Options) (*Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	o = o.withDefaults()
	if o.Plan != nil {
		o.Manifest = o.Plan.Manifest
		if o.Plan.Params != nil {
			o.UnitRows = o.Plan.Params.UnitRows // by which steps are counted
		}
	}
	shards, err := shard.Discover(ctx, stores, addresses, shard.DiscoverOptions{Strict: o.Strict, Noted: o.Events.Noted})
	if err != nil {
		return nil, err
	}
	if o.Manifest != nil {
		if shards, err = onlySaved(shards, o.Manifest); err != nil {
			return nil, err
		}
	}
	pool := &mem.Pool{}
	m, err := rowgroup.Open(ctx, stores, shards, o.rowgroupOptions(pool))
	if err != nil {
		return nil, suggestPattern(err, addresses)
	}
	d := &Dataset{options: o, manifest: m, pool: pool, memory: o.Memory, units: map[int64][]shuffle.Unit{}, stores: stores, cutting: make(chan struct{}, 1)}
	reads := shard.ReadsOf(stores, shards) // none: a disk, whose bytes are lent
	d.fetchers, d.sizes = chooseFetchers(o.Fetchers, reads), newSizes(m, reads > 0)
	if d.memory == 0 {
		d.memory = cmp.Or(o.DefaultMemory, mem.DefaultLimit())
	}
	d.data = planManifest(m)
	for _, g := range m.Groups() {
		d.bytes += g.Bytes
	}
	if err = d.bind(); err == nil {
		err = d.check()
	}
	if err == nil {
		err = d.countSamples(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return d, nil
}

// bind binds the vocabularies and the rule to the data.
func (d *Dataset) bind() error {
	var err, ruleErr error
	d.recodes, err = bindVocabulary(d.manifest.Schema(), d.options.Vocabulary, d.options.Unknown)
	d.rules, ruleErr = bindRules(d.options, d.manifest, d.data, d.recodes.schema)
	if d.rules != nil {
		d.data.Rule, d.sizes.ruled, d.sizes.repeats = d.rules.name, true, d.rules.weight >= 0
		if k := d.rules.pack; k != nil {
			d.sizes.pack, d.sizes.packed = k, k.newPackSizes(d.manifest)
		}
	}
	if p := d.options.Plan; p != nil && ruleErr == nil && p.Rule != d.data.Rule {
		ruleErr = &shuffle.MismatchError{Field: "rule", Saved: cmp.Or(p.Rule, "none"), Here: cmp.Or(d.data.Rule, "none")}
	}
	return errors.Join(err, ruleErr)
}

// countSamples finds out how many samples an epoch has.
func (d *Dataset) countSamples(ctx context.Context) error {
	d.samples = d.manifest.NumRows()
	if d.rules == nil {
		return nil
	}
	units, err := d.cutWithin(ctx, d.options.UnitRows)
	if err != nil {
		return err
	}
	d.samples = 0
	for _, u := range units {
		d.samples += u.Samples
	}
	if d.samples == 0 && d.manifest.NumRows() > 0 {
		err := d.rules.errNothing(d.manifest.NumRows())
		if lost := d.Losses(); len(lost) > 0 {
			err = fmt.Errorf("%w; %v", err, lost[0])
		}
		return err
	}
	return nil
}

// check refuses data that no plan can be made of, and a saved manifest that the files do not match.
func (d *Dataset) check() error {
	if err := d.data.Validate(); err != nil {
		return err
	}
	if saved := d.options.Manifest; saved != nil && saved.Content() != d.data.Content() {
		return &ManifestError{Differences: saved.Differences(d.data, maxDifferences)}
	}
	return nil
}

// planManifest is the manifest as package shuffle wants it.
func planManifest(m *rowgroup.Manifest) *shuffle.Manifest {
	shards, groups := m.Shards(), m.Groups()
	p := &shuffle.Manifest{Shards: make([]shuffle.Shard, len(shards)), Groups: make([]shuffle.Group, len(groups))}
	for i, path := range shard.RelativePaths(shards) {
		p.Shards[i] = shuffle.Shard{Path: path, Size: shards[i].Size, Version: shards[i].Version}
	}
	if len(shards) > 0 {
		p.Base = strings.TrimSuffix(addresses(shards[:1])[0], p.Shards[0].Path)
	}
	for i, g := range groups {
		p.Groups[i] = shuffle.Group{Shard: g.Shard, Index: g.RowGroup, Rows: g.Rows}
	}
	return p
}

// Schema is the columns of a draw's blocks: the projection, as the transforms change it.
func (d *Dataset) Schema() *column.Schema {
	if k := d.packing(); k != nil {
		return k.layout.Schema()
	}
	return d.recodes.schema
}

// packing is the third stage of the rule, or nil.
func (d *Dataset) packing() *packing {
	if d.rules == nil {
		return nil
	}
	return d.rules.pack
}

// NumRows of all shards, whether or not the rule keeps them.
func (d *Dataset) NumRows() int64 { return d.manifest.NumRows() }

// NumSamples of an epoch: the rows that the rule keeps, each as often as it comes. Without a rule
// it is NumRows.
func (d *Dataset) NumSamples() int64 { return d.samples }

// Rule names the rule that the options make, as states do: 16 hex digits, "" without one.
func (d *Dataset) Rule() string { return d.data.Rule }

// Pool is where the data set's blocks live.
func (d *Dataset) Pool() *rowgroup.Pool { return (*rowgroup.Pool)(d.pool) }

// Manifest of the shards.
func (d *Dataset) Manifest() *rowgroup.Manifest { return d.manifest }

// List is the same as plans and states know it. The caller does not change it.
func (d *Dataset) List() *shuffle.Manifest { return d.data }

// Len is the number of steps of an epoch, the same for every rank, when it begins at position 0.
// Tail "" is that of the options.
func (d *Dataset) Len(batchSize, worldSize int, tail shuffle.Tail) (int64, error) {
	if tail == "" {
		tail = d.options.Tail
	}
	s, err := d.steps(batchSize, worldSize, tail)
	if err != nil {
		return 0, err
	}
	return s.Count(0), nil
}

func (d *Dataset) steps(batchSize, worldSize int, tail shuffle.Tail) (shuffle.Steps, error) {
	if batchSize < 1 {
		return shuffle.Steps{}, fmt.Errorf("batch_size: %d is under 1", batchSize)
	}
	if worldSize < 1 {
		return shuffle.Steps{}, fmt.Errorf("world_size: %d is under 1", worldSize)
	}
	units, err := d.cut(d.options.UnitRows)
	if err != nil {
		return shuffle.Steps{}, err
	}
	s := shuffle.Steps{GlobalBatch: int64(batchSize) * int64(worldSize), Tail: tail}
	for _, u := range units {
		s.Rows += u.Samples
	}
	return s, s.Validate()
}

// neverCut is the bytes and the rows under which CutUnits leaves a group whole, unless unit_rows is
// pinned.
const neverCut = 16 << 20

// cut returns the units of the manifest, with their samples; unitRows pins their size.
func (d *Dataset) cut(unitRows int64) ([]shuffle.Unit, error) {
	return d.cutWithin(context.Background(), unitRows)
}

// cutWithin is cut; ctx ends the counting that a rule may need.
func (d *Dataset) cutWithin(ctx context.Context, unitRows int64) ([]shuffle.Unit, error) {
	if u := d.unitsOf(unitRows); u != nil {
		return u, nil
	}
	select {
	case d.cutting <- struct{}{}:
		defer func() { <-d.cutting }()
	case <-ctx.Done():
		return nil, cause.Of(ctx)
	}
	if u := d.unitsOf(unitRows); u != nil {
		return u, nil
	}
	groups := d.manifest.Groups()
	u, err := shuffle.CutUnits(d.data, func(g int) shuffle.Layout {
		if unitRows == 0 && groups[g].Bytes < neverCut && groups[g].Rows < neverCut {
			return shuffle.Layout{Bytes: groups[g].Bytes} // its pages would not be asked for
		}
		return shuffle.Layout{
			Bytes: groups[g].Bytes, Pages: d.manifest.PageEdges(g),
			Decoded: func(edges []int64) int64 { return d.manifest.SlicedBytes(g, edges) },
		}
	}, unitRows)
	if err == nil && d.rules != nil {
		err = d.count(ctx, u, unitRows)
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units[unitRows] = u
	return u, nil
}

// unitsOf returns units that were cut before, else nil.
func (d *Dataset) unitsOf(unitRows int64) []shuffle.Unit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.units[unitRows]
}

// plan makes the shuffled order that the options ask for from worldSize ranks on. buffer is the
// shuffle buffer in rows; 0 leaves it to the options, where memory, if not 0, bounds the default.
func (d *Dataset) plan(worldSize int, tail shuffle.Tail, buffer, memory int64) (*shuffle.Plan, error) {
	if d.options.Plan != nil {
		return d.planned(tail)
	}
	units, err := d.cut(d.options.UnitRows)
	if err != nil {
		return nil, err
	}
	o := d.options.planOptions(worldSize)
	o.Tail, o.Buffer = tail, buffer
	if buffer == 0 {
		o.Buffer = shuffle.BufferSize{
			Rows: d.options.ShuffleBuffer.Rows, Bytes: d.options.ShuffleBuffer.Bytes, Memory: memory, WorldSize: worldSize,
		}.Resolve(d.samples, d.sampleBytes())
	}
	params, err := o.Params(units)
	if err != nil {
		return nil, err
	}
	return shuffle.New(d.data, units, params, d.options.Seed)
}

// sampleBytes is the uncompressed bytes of all columns of the samples, as of mean rows.
func (d *Dataset) sampleBytes() int64 {
	if d.rules == nil {
		return d.bytes
	}
	if k := d.packing(); k != nil {
		return mem.MulDiv(d.samples, k.sampleBytes(), 1)
	}
	return mem.MulDiv(d.bytes, d.samples, max(1, d.NumRows()))
}

// resume makes the shuffled order of a state, with another tail when that does not move rows.
func (d *Dataset) resume(state shuffle.State, tail shuffle.Tail) (*shuffle.Plan, error) {
	units, err := d.cut(state.Params.UnitRows)
	if err != nil {
		return nil, err
	}
	p, err := shuffle.New(d.data, units, *state.Params, state.Seed)
	if err != nil {
		return nil, err
	}
	if err := d.explain(state, state.Fits(p)); err != nil || state.Params.Tail == tail {
		return p, err
	}
	params, err := withTail(*state.Params, tail)
	if err != nil {
		return nil, err
	}
	return shuffle.New(d.data, units, params, state.Seed)
}

// sequence makes the order without shuffle.
func (d *Dataset) sequence(state *shuffle.State) (*shuffle.Sequence, error) {
	units, err := d.cut(d.options.UnitRows)
	if err != nil {
		return nil, err
	}
	q, err := shuffle.NewSequence(d.data, units)
	if err != nil || state == nil {
		return q, err
	}
	return q, d.explain(*state, state.FitsSequence(q))
}

// Close closes the shards. It fails, and closes nothing, while streams are open; it may be called
// twice.
func (d *Dataset) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	if d.streams > 0 {
		return fmt.Errorf("%d streams of the data set are still open", d.streams)
	}
	d.closed = true
	err := d.manifest.Close()
	d.pool.Trim(0)
	return err
}

// enter counts an open stream.
func (d *Dataset) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.New("the data set is closed")
	}
	d.streams++
	return nil
}

func (d *Dataset) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams--
}
