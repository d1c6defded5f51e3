package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"

	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/iterable/internal/tables"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
)

// A Dataset is shards that were found, their footers read, and what the user wants of them. It is
// safe for concurrent use; streams of one data set share its memory pool and budget.
type Dataset struct {
	*common
	options Options
	sources []*source
	blend   blend            // of the sources
	notes   *saved.LaneNotes // nil keeps none

	mu      sync.Mutex
	streams int // open ones
	closed  bool
}

// Open finds the shards that the addresses name, reads their footers, or finds them in the index,
// and projects their schemas.
func Open(ctx context.Context, stores shard.Stores, addresses []string, o Options) (_ *Dataset, err error) {
	if o, err = o.parse(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	o = o.withDefaults()
	if len(o.Sources) > 0 {
		if len(addresses) > 0 {
			return nil, &OptionError{Field: "Sources", Text: "have addresses of their own, and there are others as well; leave one of the two out"}
		}
		return openSources(ctx, stores, o)
	}
	o.listed = o.Manifest.Of(0)
	if o.Plan != nil {
		o.listed = o.Plan.Manifest
		if o.Plan.Params != nil {
			o.UnitRows = o.Plan.Params.UnitRows // by which steps are counted
		}
	}
	known := cmp.Or(o.Plan, o.Inventory.Plan())
	if err := o.Inventory.Fits(addresses); err != nil {
		return nil, err
	}
	shards, t, err := o.discover(ctx, stores, addresses, known, o.listed)
	if err != nil {
		return nil, err
	}
	o.table = t
	shards, known, err = known.Current(ctx, stores, shards)
	if err != nil {
		return nil, err
	}
	if o.Plan != nil {
		o.Plan = known
	}
	c := newCommon(stores, shards, o)
	defer func() { c.closeAfter(err) }()
	all, err := rowgroup.OpenParts(ctx, stores, []rowgroup.Part{{Shards: shards, Table: tables.Part(t, addresses), RuleColumns: o.rule().Columns().List, Screen: o.rule().Screen(), Footers: known.Known()}}, o.rowgroupOptions(c.pool, c.keeping.Images()))
	if err != nil {
		return nil, suggestPattern(err, addresses)
	}
	m := all[0]
	o.tellFound(addresses, all)
	if _, err = transform.Bind(m.Schema(), o.changes()); err != nil {
		if len(o.Tokenize) == 0 { // else rules may name columns of tokens
			_, ruleErr := samples.Bind(o.rule(), m, saved.ManifestOf(m), &transform.Columns{Schema: m.Schema()}) // all that is wrong at once
			err = errors.Join(err, ruleErr)
		}
		return nil, errors.Join(err, m.Close())
	}
	d := &Dataset{common: c, options: o, notes: saved.NewLaneNotes(o.LaneDir)}
	s, err := newSource(ctx, c, "", addresses, m, o)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	d.sources, d.blend = []*source{s}, single{s}
	return d, nil
}

// Schema is the columns of a draw's blocks: the projection, as the transforms change it.
func (d *Dataset) Schema() *column.Schema {
	if k := d.packing(); k != nil {
		return k.Layout.Schema()
	}
	return d.sources[0].transforms.Schema
}

// Transform changes the blocks of a unit of the first source, which the caller has just decoded, as
// streams do. Rows that are not among rows may get empty values; nil is all.
func (d *Dataset) Transform(of *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32) error {
	_, err := d.sources[0].transforms.Apply(of, blocks, rows)
	return err
}

// BatchSchema is the columns of a batch's rows. It is Schema but under Bucket, where a sample is a
// batch.
func (d *Dataset) BatchSchema() *column.Schema {
	if d.Buckets() {
		return d.sources[0].transforms.Schema
	}
	return d.Schema()
}

// Buckets reports whether samples are batches.
func (d *Dataset) Buckets() bool {
	k := d.packing()
	return k != nil && k.Bucket != nil
}

// NumRows of all shards, whether or not the rule keeps them.
func (d *Dataset) NumRows() (n int64) {
	for _, s := range d.sources {
		n += s.manifest.NumRows()
	}
	return n
}

// Now returns the instant that filters use for today() and now(), in the format of states, or "" if
// they use neither.
func (d *Dataset) Now() (now string) {
	for _, s := range d.sources {
		now = max(now, s.data.Now)
	}
	return now
}

// NumSamples of an epoch: the rows that the rule keeps, each as often as it comes. Without a rule
// it is NumRows. In a mixture it is as many as its epoch has.
func (d *Dataset) NumSamples() int64 { return d.blend.samples() }

// Samples of a pass over each source; a plain data set is one.
func (d *Dataset) Samples() (all []int64) {
	for _, s := range d.sources {
		all = append(all, s.samples)
	}
	return all
}

// BufferRows returns how many samples a shuffle buffer of a size over all ranks holds.
func (d *Dataset) BufferRows(size Size) int64 { return d.blend.bufferRows(size, nil) }

// SourceSamples returns how many samples of each source of a mixture come before a state, over all
// epochs and ranks; nil for other states.
func (d *Dataset) SourceSamples(state shuffle.State) map[string]int64 { return d.blend.counts(state) }

// packing returns the third stage of the rule, which all sources share, or nil.
func (d *Dataset) packing() *samples.Packing { return d.sources[0].packing() }

// ShuffleBuffer returns the option.
func (d *Dataset) ShuffleBuffer() Size { return d.options.ShuffleBuffer }

// Rule returns the name of the rule that the options make, in the format of states: 16 hex digits,
// or "" without a rule. It is "" for a mixture, whose sources have their own rules.
func (d *Dataset) Rule() string { return d.blend.rule() }

// Pool is where the data set's blocks live.
func (d *Dataset) Pool() *rowgroup.Pool { return (*rowgroup.Pool)(d.pool) }

// Memory is the limit of a rank's stream, in bytes.
func (d *Dataset) Memory() int64 { return d.memory }

// Seed returns the option.
func (d *Dataset) Seed() uint64 { return d.options.Seed }

// Manifest returns the shards; of a mixture, the shards of its first source.
func (d *Dataset) Manifest() *rowgroup.Reader { return d.sources[0].manifest }

// Manifests of the sources, in order; a plain data set has one.
func (d *Dataset) Manifests() (all []*rowgroup.Reader) {
	for _, s := range d.sources {
		all = append(all, s.manifest)
	}
	return all
}

// Tables of the sources, in order; nil for one of plain files.
func (d *Dataset) Tables() (all []*table.Snapshot) {
	for _, s := range d.sources {
		all = append(all, s.options.table)
	}
	return all
}

// Shards of all sources.
func (d *Dataset) Shards() (all []shard.Shard) {
	for _, s := range d.sources {
		all = append(all, s.manifest.Shards()...)
	}
	return all
}

// List is the same as plans and states know it. The caller does not change it.
func (d *Dataset) List() *shuffle.Manifest { return d.sources[0].data }

// Content returns the hash of the shards with samples, as states have it: of a mixture, over the
// hashes of its sources.
func (d *Dataset) Content() string { return d.hash((*shuffle.Manifest).Content) }

// Versions returns a hash that changes with any shard that has samples.
func (d *Dataset) Versions() string { return d.hash((*shuffle.Manifest).Versions) }

func (d *Dataset) hash(of func(*shuffle.Manifest) string) string {
	return saved.HashSources(d.SavedManifest().Sources, of)
}

// Len is the number of steps of an epoch, the same for every rank, when it starts at position 0.
// Tail "" takes the option.
func (d *Dataset) Len(batchSize, worldSize int, tail shuffle.Tail) (int64, error) {
	if tail == "" {
		tail = d.options.Tail
	}
	s, err := d.blend.steps(batchSize, worldSize, tail, nil)
	if err != nil {
		return 0, err
	}
	return s.Count(0), nil
}

func stepsOf(rows int64, batchSize, worldSize int, tail shuffle.Tail) (shuffle.Steps, error) {
	if batchSize < 1 {
		return shuffle.Steps{}, fmt.Errorf("batch_size: %d is under 1", batchSize)
	}
	if worldSize < 1 {
		return shuffle.Steps{}, fmt.Errorf("world_size: %d is under 1", worldSize)
	}
	s := shuffle.Steps{Rows: rows, GlobalBatch: int64(batchSize) * int64(worldSize), Tail: tail}
	return s, s.Validate()
}

// only returns the source of a data set that has one, for a call that needs the data of several
// sources to have something in common.
func (d *Dataset) only(lacking string) (*source, error) {
	if b, ok := d.blend.(single); ok {
		return b.source, nil
	}
	return nil, &OptionError{Field: "Sources", Text: option.Literal(lacking) + "; open one of the sources as a data set"}
}

// OnError returns how streams treat lost rows.
func (d *Dataset) OnError() OnError { return d.options.Losses.withDefaults().OnError }

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
	d.keeping.Close()
	err := d.sources[0].manifest.Close() // closes the shards of all sources
	d.pool.Close()
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
