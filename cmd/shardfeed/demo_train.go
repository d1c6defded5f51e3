package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// A demoShop is the data of the demo, and how it is read.
type demoShop struct {
	from      shard.Stores
	addresses []string
	options   iterable.Options
}

func (s demoShop) open(ctx context.Context, do func(*iterable.Dataset) error) error {
	ds, err := iterable.Open(ctx, s.from, s.addresses, s.options)
	if err != nil {
		return err
	}
	return errors.Join(do(ds), ds.Close())
}

// train streams all epochs to all ranks at once.
func (d *demoCommand) train(ctx context.Context, shop demoShop, budget *mem.Budget, r *demoResult) error {
	return shop.open(ctx, func(ds *iterable.Dataset) error {
		r.Rows, r.Shards, r.RowGroups = ds.NumRows(), len(ds.Manifest().Shards()), len(ds.Manifest().Groups())
		for range demoEpochs {
			r.ledgers = append(r.ledgers, newLedger(r.Rows))
		}
		bar := term.NewProgress(d.stderr, "demo", demoEpochs*r.Rows)
		defer bar.Close()
		begin := time.Now()
		all, ctx := errgroup.WithContext(ctx)
		for rank := range demoRanks {
			o := loader.Options{BatchSize: d.BatchSize, Rank: rank, WorldSize: demoRanks, LocalWorldSize: demoRanks}
			all.Go(func() error {
				return readProducts(ctx, ds, o, r.ledgers, func(b *loader.Batch) {
					bar.Add(b.Valid)
					if rank == 0 {
						r.Steps, r.BudgetBytes = r.Steps+1, budget.Admitted()
					}
				})
			})
		}
		err := all.Wait()
		r.Seconds, r.PeakRSS, r.Memory = time.Since(begin).Seconds(), process.PeakRSS(), demoRanks*cmp.Or(d.memoryLimit(), mem.DefaultLimit())
		r.RowsOnce = r.verify() == nil
		return err
	})
}

// readProducts notes the products of each epoch, and calls each with the batches.
func readProducts(ctx context.Context, ds *iterable.Dataset, o loader.Options, epochs []*ledger, each func(*loader.Batch)) (err error) {
	o.Epochs, o.Workers = len(epochs), max(1, cores.Number()/max(1, o.WorldSize))
	l, err := loader.New(ds, o)
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
			epochs[b.Epoch].add(productNumber(texts.At(i)))
		}
		each(b)
		b.Release()
	}
	return nil
}

// A demoChoice is two choices of rows that together have each row once.
type demoChoice struct {
	Names [2]string `json:"names"`
	Rows  [2]int64  `json:"rows"`
	Once  bool      `json:"each_row_exactly_once"` // over both

	all *ledger
}

// filtered reads the shop under a filter and its opposite.
func (s demoShop) filtered(ctx context.Context) (*demoChoice, error) {
	const long = "len(token_ids) >= 16"
	return s.both(ctx, [2]string{long, "not " + long + " or token_ids is null"}, func(o *iterable.Options, name string) { o.Filters = name })
}

// split reads the shop in two parts.
func (s demoShop) split(ctx context.Context) (*demoChoice, error) {
	return s.both(ctx, [2]string{"train", "val"}, func(o *iterable.Options, name string) {
		o.Split = rule.Split{Parts: map[string]float64{"train": 9, "val": 1}, Part: name}
	})
}

func (s demoShop) both(ctx context.Context, names [2]string, choose func(o *iterable.Options, name string)) (*demoChoice, error) {
	c := &demoChoice{Names: names}
	s.options.Columns = []string{"unique_id"}
	for i, name := range names {
		some := s
		choose(&some.options, name)
		err := some.open(ctx, func(ds *iterable.Dataset) error {
			if c.all == nil {
				c.all = newLedger(ds.NumRows())
			}
			c.Rows[i] = ds.NumSamples()
			return readProducts(ctx, ds, loader.Options{BatchSize: rowio.MaxGather}, []*ledger{c.all}, func(*loader.Batch) {})
		})
		if err != nil {
			return nil, err
		}
	}
	c.Once = c.all.verify() == nil
	return c, nil
}

type demoResult struct {
	Rows        int64       `json:"rows"` // of an epoch
	Shards      int         `json:"shards"`
	RowGroups   int         `json:"row_groups"`
	Ranks       int         `json:"ranks"`
	Epochs      int         `json:"epochs"`
	BatchSize   int         `json:"batch_size"` // per rank
	Steps       int64       `json:"steps"`      // of all epochs
	Seconds     float64     `json:"seconds"`
	PeakRSS     int64       `json:"peak_rss_bytes"`
	BudgetBytes int64       `json:"budget_bytes"` // reserved, of all ranks
	Memory      int64       `json:"memory_bytes"` // limit, of all ranks
	RowsOnce    bool        `json:"each_row_exactly_once"`
	Filter      *demoChoice `json:"filter"`
	Split       *demoChoice `json:"split"`

	ledgers []*ledger
}

// verify fails unless each epoch, and each choice with its opposite, had each row exactly once.
func (d *demoResult) verify() error {
	var errs []error
	for e, l := range d.ledgers {
		if err := l.verify(); err != nil {
			errs = append(errs, fmt.Errorf("epoch %d: %w", e, err))
		}
	}
	for _, c := range []*demoChoice{d.Filter, d.Split} {
		if c != nil {
			errs = append(errs, c.all.verify())
		}
	}
	return errors.Join(errs...)
}

func (d *demoResult) report() *term.Report {
	r := &term.Report{}
	r.Section(fmt.Sprintf("%s in %s with %s, %s to %s", text.Plural(d.Rows, "product"), text.Plural(int64(d.Shards), "shard"),
		text.Plural(int64(d.RowGroups), "row group"), text.Plural(int64(d.Epochs), "shuffled epoch"), text.Plural(int64(d.Ranks), "rank")))
	r.Fact("steps", "%s of %d x %d rows", text.Count(d.Steps), d.Ranks, d.BatchSize)
	r.Fact("speed", "%s, %s rows/s", term.Seconds(d.Seconds), text.Count(int64(float64(d.Rows*int64(d.Epochs))/d.Seconds)))
	r.Fact("memory", "%v reserved of the limit of %v; peak %v resident", mem.Bytes(d.BudgetBytes), mem.Bytes(d.Memory), mem.Bytes(d.PeakRSS))

	r.Section("each row exactly once, by the numbers in unique_id")
	for e, l := range d.ledgers {
		r.Fact(fmt.Sprintf("epoch %d", e), "%s (%s rows came, %s different)", l.verdict(), text.Count(l.came), text.Count(l.n-l.missing()))
	}

	r.Section("rows that are chosen, without a copy of the data")
	f, s := d.Filter, d.Split
	r.Fact("a filter", "%s keeps %s rows, its opposite the other %s: %s", f.Names[0], text.Count(f.Rows[0]), text.Count(f.Rows[1]), f.all.verdict())
	r.Fact("a split", "train=9,val=1 gives train %s and val %s rows, none to both: %s", text.Count(s.Rows[0]), text.Count(s.Rows[1]), s.all.verdict())
	return r
}
