package main

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// A demoChoice is two data sets that together must have each row once.
type demoChoice struct {
	Names [2]string `json:"names"`
	Rows  [2]int64  `json:"rows"`
	Once  bool      `json:"each_row_exactly_once"` // over both

	format string // of the names and rows
	err    error
}

// choices reads the shop under a filter and its opposite, and in two parts.
func (d *demoCommand) choices(ctx context.Context, from shard.Stores, addresses []string, o iterable.Options) (filter, split *demoChoice, err error) {
	const long = "len(token_ids) >= 16"
	filter = &demoChoice{
		Names:  [2]string{long, "not " + long + " or token_ids is null"},
		format: "%[1]s keeps %[2]s rows, its opposite the other %[4]s",
	}
	split = &demoChoice{Names: [2]string{"train", "val"}, format: "train=9,val=1 gives %s %s and %s %s rows, none to both"}
	o.Columns = []string{"unique_id"}
	err = filter.read(ctx, from, addresses, func(name string) iterable.Options {
		o := o
		o.Filters = name
		return o
	})
	if err != nil {
		return nil, nil, err
	}
	err = split.read(ctx, from, addresses, func(name string) iterable.Options {
		o := o
		o.Split = rule.Split{Parts: map[string]float64{"train": 9, "val": 1}, Part: name}
		return o
	})
	return filter, split, err
}

// read streams both data sets, and checks that no row is missing and none is in both.
func (c *demoChoice) read(ctx context.Context, from shard.Stores, addresses []string, options func(name string) iterable.Options) error {
	var all *ledger
	for i, name := range c.Names {
		err := withDataset(ctx, from, addresses, options(name), func(ds *iterable.Dataset) error {
			if all == nil {
				all = newLedger(ds.NumRows())
			}
			c.Rows[i] = ds.NumSamples()
			return readProducts(ctx, ds, all)
		})
		if err != nil {
			return err
		}
	}
	c.err = all.verify()
	c.Once = c.err == nil
	return nil
}

func withDataset(ctx context.Context, from shard.Stores, addresses []string, o iterable.Options, do func(*iterable.Dataset) error) error {
	ds, err := iterable.Open(ctx, from, addresses, o)
	if err != nil {
		return err
	}
	return errors.Join(do(ds), ds.Close())
}

// readProducts notes the products of an epoch.
func readProducts(ctx context.Context, ds *iterable.Dataset, seen *ledger) (err error) {
	l, err := loader.New(ds, loader.Options{BatchSize: maxGather, Workers: 1, Epochs: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for b, err := range l.Batches(ctx) {
		if err != nil {
			return err
		}
		ids, err := b.Column("unique_id")
		if err != nil {
			return err
		}
		texts, err := column.Bytes(ids)
		if err != nil {
			return err
		}
		for i := range b.Valid {
			seen.add(productNumber(texts.At(i)))
		}
		b.Release()
	}
	return nil
}

func (c *demoChoice) report(r *report, what string) {
	verdict := "yes"
	if c.err != nil {
		verdict = "no: " + c.err.Error()
	}
	r.fact(what, c.format+": %s", c.Names[0], count(c.Rows[0]), c.Names[1], count(c.Rows[1]), verdict)
}
