package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/internal/mem"
)

type demoResult struct {
	Rows              int64              `json:"rows"` // of an epoch
	Shards            int                `json:"shards"`
	RowGroups         int                `json:"row_groups"`
	Ranks             int                `json:"ranks"`
	Epochs            int                `json:"epochs"`
	BatchSize         int                `json:"batch_size"` // per rank
	Steps             int64              `json:"steps"`      // of all epochs
	Seconds           float64            `json:"seconds"`
	FirstBatchSeconds float64            `json:"first_batch_seconds"`
	DecodedBytes      int64              `json:"decoded_bytes"`
	UserSeconds       float64            `json:"user_seconds"`
	SystemSeconds     float64            `json:"system_seconds"`
	PeakRSS           int64              `json:"peak_rss_bytes"`
	BudgetBytes       int64              `json:"budget_bytes"` // reserved, of all ranks
	Memory            int64              `json:"memory_bytes"` // limit, of all ranks
	RowsOnce          bool               `json:"each_row_exactly_once"`
	Mixing            mixed              `json:"mixing"`
	Filter            *demoChoice        `json:"filter"`
	Split             *demoChoice        `json:"split"`
	Waits             map[string]float64 `json:"waits"`

	ledgers []*ledger
}

// verify fails unless each epoch had each row exactly once.
func (d *demoResult) verify() error {
	var errs []error
	for e, l := range d.ledgers {
		if err := l.verify(); err != nil {
			errs = append(errs, fmt.Errorf("epoch %d: %w", e, err))
		}
	}
	for _, c := range []*demoChoice{d.Filter, d.Split} {
		if c != nil {
			errs = append(errs, c.err)
		}
	}
	return errors.Join(errs...)
}

func (d *demoResult) report() *report {
	r := &report{}
	rows := float64(d.Rows) * float64(d.Epochs)
	cpu := d.UserSeconds + d.SystemSeconds
	r.section(fmt.Sprintf("%s in %s with %s, %s to %s", plural(d.Rows, "product"), plural(int64(d.Shards), "shard"),
		plural(int64(d.RowGroups), "row group"), plural(int64(d.Epochs), "shuffled epoch"), plural(int64(d.Ranks), "rank")))
	r.fact("steps", "%s of %d x %d rows", count(d.Steps), d.Ranks, d.BatchSize)
	r.fact("time", "%s, the first batch after %s", seconds(d.Seconds), seconds(d.FirstBatchSeconds))
	r.fact("speed", "%s rows/s, %.1f MB/s decoded", count(int64(rows/d.Seconds)), float64(d.DecodedBytes)/1e6/d.Seconds)
	r.fact("processor", "%.3g s user, %.3g s system: %.1f us a row", d.UserSeconds, d.SystemSeconds, cpu*1e6/rows)
	r.fact("memory", "%v reserved of the limit of %v; peak %v resident", mem.Bytes(d.BudgetBytes), mem.Bytes(d.Memory), mem.Bytes(d.PeakRSS))

	r.section("each row exactly once, by the numbers in unique_id")
	for e, l := range d.ledgers {
		verdict := "yes"
		if err := l.verify(); err != nil {
			verdict = "no: " + err.Error()
		}
		r.fact(fmt.Sprintf("epoch %d", e), "%s (%s rows came, %s different)", verdict, count(l.came), count(l.n-l.missing()))
	}

	r.section("row groups in the mean batch")
	m, full := d.Mixing, math.Max(d.Mixing.Perfect, d.Mixing.Groups)
	inOrder := d.inOrder()
	r.fact("in file order", "%s %5.1f", bar(inOrder, full, barWidth), inOrder)
	r.fact("these epochs", "%s %5.1f", bar(m.Groups, full, barWidth), m.Groups)
	r.fact("a perfect shuffle", "%s %5.1f", bar(m.Perfect, full, barWidth), m.Perfect)
	r.fact("unevenness", "%.2f (how unevenly the row groups share a batch: 1 is a perfect shuffle, less is more even)", m.Uneven)

	r.section("rows that are chosen, without a copy of the data")
	d.Filter.report(r, "a filter")
	d.Split.report(r, "a split")

	reportWaits(r, "waits of all ranks", d.Waits)
	return r
}

const barWidth = 40

// inOrder is the mean number of row groups in a batch of neighbouring rows.
func (d *demoResult) inOrder() float64 {
	groups := float64(d.RowGroups)
	return math.Min(groups, 1+float64(d.Ranks*d.BatchSize-1)*groups/float64(max(1, d.Rows)))
}
