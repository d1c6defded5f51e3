package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/iterable/internal/tables"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// findSources lists the shards of several sources.
func (o Options) findSources(ctx context.Context, stores shard.Stores) (parts []rowgroup.Part, err error) {
	for i, s := range o.Sources {
		of := cmp.Or(o.Plan.Of(i), o.Inventory.Of(i).Plan())
		if err := o.Inventory.Of(i).Fits(s.Addresses); err != nil {
			return nil, &SourceError{s.Name, err}
		}
		own := s.options(o)
		if o.MissingIsNull { // as row IDs are in a table without them
			own.Columns = slices.DeleteFunc(slices.Clone(own.Columns), func(name string) bool { return name == table.RowID })
		}
		found, t, err := own.discover(ctx, stores, s.Addresses, of, cmp.Or(of.Listed(), o.Manifest.Of(i)))
		if err != nil {
			return nil, &SourceError{s.Name, err}
		}
		found, of, err = of.Current(ctx, stores, found)
		if err != nil {
			return nil, &SourceError{s.Name, err}
		}
		for j := range found {
			found[j].Source = int32(i)
		}
		o.Sources[i].table = t
		parts = append(parts, rowgroup.Part{Shards: found, Table: tables.Part(t, s.Addresses), RuleColumns: own.rule().Columns().List, Screen: own.rule().Screen(), Rename: s.Rename, Footers: of.Known()})
	}
	return parts, nil
}

// openSources opens the data set of several sources.
func openSources(ctx context.Context, stores shard.Stores, o Options) (_ *Dataset, err error) {
	parts, err := o.findSources(ctx, stores)
	if err != nil {
		return nil, err
	}
	var shards []shard.Shard
	for _, p := range parts {
		shards = append(shards, p.Shards...)
	}
	c := newCommon(stores, shards, o)
	defer func() { c.closeAfter(err) }()
	all, err := rowgroup.OpenParts(ctx, stores, parts, o.rowgroupOptions(c.pool, c.keeping.Images()))
	if err != nil {
		return nil, err
	}
	o.tellFound(nil, all)
	d := &mixture{common: c, options: o}
	if err := d.open(ctx, all, parts); err != nil {
		return nil, errors.Join(err, all[0].Close())
	}
	return &Dataset{common: c, options: o, sources: d.sources, blend: d}, nil
}

// open opens the sources, of whose shards and parts these are the manifests.
func (d *mixture) open(ctx context.Context, all []*rowgroup.Reader, parts []rowgroup.Part) (err error) {
	o := d.options
	if _, err = transform.Bind(all[0].Schema(), o.changes()); err != nil { // the error of a source would name it
		return err
	}
	for i, m := range all {
		of := o.Sources[i].options(o)
		of.Inventory, of.listed = o.Inventory.Of(i), o.Manifest.Of(i)
		if o.Plan != nil {
			of.Plan = o.Plan.Of(i)
			of.listed, of.UnitRows = of.Plan.Manifest, of.Plan.Params.UnitRows
		}
		s, err := newSource(ctx, d.common, o.Sources[i].Name, o.Sources[i].Addresses, m, of)
		if err == nil && s.samples == 0 {
			err = errors.New("it has no rows; leave it out")
		}
		if err != nil {
			return &SourceError{o.Sources[i].Name, err}
		}
		if len(d.sources) > 0 {
			last := d.sources[len(d.sources)-1]
			s.sizes.before = last.sizes.before + len(last.manifest.Groups())
		}
		d.sources = append(d.sources, s)
	}
	if d.tokens, err = d.sourceTokens(ctx, parts); err != nil {
		return err
	}
	for i, n := range d.tokens {
		d.sources[i].tokens = n
	}
	return d.setWeights()
}

// setWeights finds the weights of the sources, and the samples of an epoch.
func (d *mixture) setWeights() (err error) {
	o, names := d.options, d.options.sourceNames()
	first := shuffle.Weights{Weights: make([]float64, len(names))}
	for i, s := range o.Sources {
		first.Weights[i] = s.Weight
		if o.counted() {
			n, err := s.inEpoch(d.sources[i].samples)
			if err != nil {
				return &SourceError{s.Name, err}
			}
			first.Weights[i] = float64(n)
			d.chosen = append(d.chosen, n)
		}
	}
	d.weights = []shuffle.Weights{first}
	for _, c := range o.Curriculum {
		w := slices.Clone(d.weights[len(d.weights)-1].Weights)
		for i, name := range names {
			if v, ok := c.Weights[name]; ok {
				w[i] = v
			}
		}
		d.weights = append(d.weights, shuffle.Weights{From: c.From, Weights: w})
	}
	if _, err := d.ratio(first.Weights); err != nil {
		return err
	}
	d.epoch, _, err = d.epochCounts(1)
	return err
}

// inEpoch is how many of its samples a source has in an epoch that counts them.
func (s Source) inEpoch(samples int64) (n int64, err error) {
	switch {
	case s.Choose > 0:
		return s.Choose, nil
	case s.Repeat == 0:
		return samples, nil
	}
	if n = int64(math.Round(s.Repeat * float64(samples))); n < 1 {
		return 0, fmt.Errorf("no sample of %d comes in an epoch; raise {Repeat}, or leave the source out", samples)
	}
	return n, nil
}
