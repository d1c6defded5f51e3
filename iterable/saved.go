package iterable

import (
	"context"
	"strings"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/saved"
)

// SavePlan writes the plan of streams with these options that start on worldSize ranks, and the
// footers of the shards.
func (d *Dataset) SavePlan(path string, worldSize int, o StreamOptions) error {
	state, err := d.Start(worldSize, o)
	if err != nil {
		return err
	}
	f := saved.NewFile(state.Plan)
	if err := d.blend.save(f, state); err != nil {
		return err
	}
	return f.Write(path, d.Manifests())
}

// save sets the file's part: a plan of one data set has one.
func (b single) save(f *saved.File, state shuffle.State) (err error) {
	f.Part, err = b.planPart(state.Units, state.Params)
	return err
}

// save sets the file's mixture, which has a part for each source.
func (d *mixture) save(f *saved.File, state shuffle.State) error {
	m := saved.Mixture{Batching: state.Batching}
	for i, s := range d.sources {
		of := state.Sources[i]
		params := of.Params.Of(state.Lanes)
		part, err := s.planPart(of.Units, &params)
		if err != nil {
			return err
		}
		m.AddSource(of.Name, part, of.Tokens)
	}
	return f.Mix(&m)
}

// planPart returns the source's part of a plan; params is nil in file order.
func (d *source) planPart(units string, params *shuffle.Params) (saved.Part, error) {
	f, err := saved.NewPart(d.addresses, d.manifest.Shards(), d.data, units, params, d.options.table)
	if err != nil || d.rules == nil {
		return f, err
	}
	c := cut{rows: saved.PinnedRows(params)}
	if params == nil && d.options.UnitRows == 0 {
		c = d.fileCut()
	}
	all, err := d.cutWithin(context.Background(), c)
	if err == nil {
		f.Count(all)
	}
	return f, err
}

// SavedManifest returns the shards of the data set, of each source.
func (d *Dataset) SavedManifest() *SavedManifest {
	m := &SavedManifest{}
	for _, s := range d.sources {
		m.Sources = append(m.Sources, SavedShards{Name: s.name, Manifest: s.data, Sampled: s.sampled.shards})
	}
	return m
}

// SaveManifest writes the list of shards into a directory, under [Dataset.Content], and returns the
// file.
func (d *Dataset) SaveManifest(dir string) (path string, err error) {
	for _, s := range d.sources {
		if lines := s.transforms.Lines(); lines != nil {
			if err := saved.KeepTokens(dir, s.data.Rule, strings.Join(lines, ", ")); err != nil {
				return "", err
			}
		}
	}
	return d.SavedManifest().Save(dir)
}

// Inventory returns the bytes of the data set's inventory, or ErrLargeInventory if they are more
// than most. It fails with an InventoryError if the data cannot be handed on.
func (d *Dataset) Inventory(most int64) ([]byte, error) {
	var w saved.InventoryWriter
	for _, s := range d.sources {
		var units *shuffle.Units
		if s.rules != nil {
			var err error
			if units, err = s.ownUnits(); err != nil {
				return nil, err
			}
		}
		if err := w.AddSource(s.name, s.addresses, s.manifest, s.data, units, s.options.UnitRows, s.tokens, s.options.table); err != nil {
			return nil, err
		}
	}
	return w.Bytes(most)
}

// tellFound passes on the inventory before samples are counted.
func (o Options) tellFound(addresses []string, manifests []*rowgroup.Reader) {
	if o.Events.Found == nil || o.CountShare.Dir == "" {
		return
	}
	sources := o.Sources
	if len(sources) == 0 {
		sources = []Source{{Addresses: addresses, table: o.table}}
	}
	o.Events.Found(func(most int64) ([]byte, error) {
		var w saved.InventoryWriter
		for i, m := range manifests {
			if err := w.AddSource(sources[i].Name, sources[i].Addresses, m, saved.ManifestOf(m), nil, o.UnitRows, 0, sources[i].table); err != nil {
				return nil, err
			}
		}
		return w.Bytes(most)
	})
}

// What pins the data of a run, and passes it to another one; see package internal/saved.
type (
	SavedPlan      = saved.Plan
	SavedSource    = saved.Source
	SavedManifest  = saved.Manifest
	SavedShards    = saved.Shards
	PlanError      = saved.PlanError
	Inventory      = saved.Inventory
	InventoryError = saved.InventoryError
)

// ErrLargeInventory reports that an inventory has more bytes than it may.
var ErrLargeInventory = saved.ErrLargeInventory

// ReadPlan reads a plan that SavePlan wrote: a file of this machine, or a descriptor of this
// process.
func ReadPlan(path string) (*SavedPlan, error) { return saved.ReadPlan(path) }

// FetchPlan reads a plan at an address of a store, in one request if it is small.
func FetchPlan(ctx context.Context, store shard.Store, address string) (*SavedPlan, error) {
	return saved.FetchPlan(ctx, store, address)
}

// ParseManifest reads the JSON of a list of shards, or Compressed, and refuses one that was
// changed.
func ParseManifest(b []byte) (*SavedManifest, error) { return saved.ParseManifest(b) }

// ReadManifest reads a file that has the JSON of a list of shards.
func ReadManifest(path string) (*SavedManifest, error) { return saved.ReadManifest(path) }

// ParseInventory reads the bytes of an inventory. It fails with an InventoryError if they are
// damaged.
func ParseInventory(b []byte) (*Inventory, error) { return saved.ParseInventory(b) }
