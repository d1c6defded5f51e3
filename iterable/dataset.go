package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Dataset is shards that were found, their footers read, and what the user wants of them. It is
// safe for concurrent use; streams of one data set share its memory pool and budget.
type Dataset struct {
	*common
	*source // the only one
	options Options

	mu      sync.Mutex
	streams int // open ones
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
	reads := shard.ReadsOf(stores, shards)
	c := &common{
		stores: stores, pool: &mem.Pool{}, budget: (*mem.Budget)(o.Budget), fetchers: chooseFetchers(o.Fetchers, reads), copied: reads > 0,
		memory: cmp.Or(o.Memory, o.DefaultMemory, mem.DefaultLimit()), lost: o.Events.Lost,
	}
	m, err := rowgroup.Open(ctx, stores, shards, o.rowgroupOptions(c.pool))
	if err != nil {
		return nil, suggestPattern(err, addresses)
	}
	if c.recodes, err = bindVocabulary(m.Schema(), o.Vocabulary, o.Unknown); err != nil {
		_, ruleErr := bindRules(o, m, planManifest(m), m.Schema()) // all that is wrong at once
		return nil, errors.Join(err, ruleErr, m.Close())
	}
	d := &Dataset{common: c, options: o}
	if d.source, err = newSource(ctx, c, m, o); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return d, nil
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
