package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// A globalBatch is one step of all ranks, put together from their parts.
type globalBatch struct {
	rows  []int64 // places among all rows
	parts int     // ranks that have given theirs
}

// A trainer stands for training: ranks hand their batches in, and it checks each row and measures
// the mixing. It is safe for concurrent use.
type trainer struct {
	ranks int

	mu      sync.Mutex
	ledgers []*ledger // by epoch
	mixing  *mixing
	waiting map[[2]int64]*globalBatch // by epoch and step: steps that not all ranks have taken
	steps   int64
	bytes   int64
}

// newTrainer is for row groups of these many rows.
func newTrainer(ranks, epochs int, rows []int64) *trainer {
	t := &trainer{ranks: ranks, mixing: newMixing(rows), waiting: map[[2]int64]*globalBatch{}}
	for range epochs {
		t.ledgers = append(t.ledgers, newLedger(t.mixing.total))
	}
	return t
}

// take is one rank's part of a step; rows are places among all rows, -1 for one that is unknown.
func (t *trainer) take(epoch, step int64, rows []int64, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += bytes
	for _, r := range rows {
		t.ledgers[epoch].add(r)
	}
	key := [2]int64{epoch, step}
	b := t.waiting[key]
	if b == nil {
		b = &globalBatch{}
		t.waiting[key] = b
	}
	b.rows = append(b.rows, rows...)
	if b.parts++; b.parts == t.ranks {
		delete(t.waiting, key)
		t.steps++
		t.mixing.add(b.rows)
	}
}

func (d *demoCommand) train(ctx context.Context, ds *iterable.Dataset, budget *mem.Budget) (*demoResult, error) {
	var groups []int64
	for _, g := range ds.Manifest().Groups() {
		groups = append(groups, g.Rows)
	}
	t := newTrainer(demoRanks, demoEpochs, groups)
	bar := newProgress(d.stderr, "demo", demoEpochs*ds.NumRows())
	defer bar.close()

	begin := time.Now()
	user, system := cpuTime()
	stats := make([]loader.Stats, demoRanks)
	first := make([]time.Duration, demoRanks)
	var reserved int64
	var once sync.Once
	all, ctx := errgroup.WithContext(ctx)
	for rank := range demoRanks {
		all.Go(func() error {
			var err error
			stats[rank], err = d.rank(ctx, ds, rank, func(b *loader.Batch) error {
				if first[rank] == 0 {
					first[rank] = time.Since(begin)
					once.Do(func() { reserved = budget.Admitted() })
				}
				bar.add(b.Valid)
				return t.consume(b)
			})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	seconds := time.Since(begin).Seconds()
	userEnd, systemEnd := cpuTime()
	r := &demoResult{
		Rows: ds.NumRows(), Shards: len(ds.Manifest().Shards()), RowGroups: len(t.mixing.ends), Ranks: demoRanks, Epochs: demoEpochs,
		BatchSize: d.batchSize, Steps: t.steps, Seconds: seconds, FirstBatchSeconds: max(first[0], first[1]).Seconds(), DecodedBytes: t.bytes,
		UserSeconds: (userEnd - user).Seconds(), SystemSeconds: (systemEnd - system).Seconds(), PeakRSS: peakRSS(),
		BudgetBytes: reserved, Memory: demoRanks * cmp.Or(int64(d.memory), mem.DefaultLimit()), Mixing: t.mixing.result(), Waits: waits(stats...), ledgers: t.ledgers,
	}
	r.RowsOnce = r.verify() == nil
	return r, nil
}

func (d *demoCommand) rank(ctx context.Context, ds *iterable.Dataset, rank int, consume func(*loader.Batch) error) (s loader.Stats, err error) {
	l, err := loader.New(ds, loader.Options{
		BatchSize: d.batchSize, Workers: max(1, cores.Number()/demoRanks), Rank: rank, WorldSize: demoRanks, LocalWorldSize: demoRanks, Epochs: demoEpochs,
	})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for batch, err := range l.Batches(ctx) {
		if err != nil {
			return s, err
		}
		err = consume(batch)
		batch.Release()
		if err != nil {
			return s, err
		}
	}
	return l.Stats(), nil
}

// consume touches every byte of a batch and hands in its rows.
func (t *trainer) consume(b *loader.Batch) error {
	var touched toucher
	touched.touch(b.Columns)
	unique, err := b.Column("unique_id")
	if err != nil {
		return err
	}
	ids, err := column.Bytes(unique)
	if err != nil {
		return err
	}
	rows := make([]int64, b.Valid)
	for i := range rows {
		rows[i] = productNumber(ids.At(i))
	}
	if b.Epoch < 0 || b.Epoch >= int64(len(t.ledgers)) {
		return fmt.Errorf("a batch is of epoch %d, of %d", b.Epoch, len(t.ledgers))
	}
	t.take(b.Epoch, b.Step, rows, touched.bytes)
	return nil
}
