package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
)

// A ruleReading reads the columns of a rule, and nothing else, of row groups in parallel.
type ruleReading struct {
	// next is the row group that is read next; false when there is none left, or ctx ends. One
	// goroutine calls it.
	next func(ctx context.Context) (group int, ok bool)

	// found is called with what the rule keeps of rows [lo, hi) from which it keeps any, and done
	// when nothing more comes of a row group. Several goroutines call them.
	found func(group int, lo, hi int64, sel selection)
	done  func(group int)

	// lost is called with rows whose data is lost, and pieces cuts a run into rows that are lost
	// together. nil: the reading fails. Several goroutines call them.
	lost   func(group int, lo, hi int64, err error)
	pieces func(group int, lo, hi int64) []ruleRun
}

const (
	runBytes  = 64 << 20  // of decoded rule columns: what is more is read in runs, where the page index tells their bytes
	stepBytes = 256 << 20 // where it does not: what is more, or than memory/stepPart, is read together and decoded in steps
	leastStep = 16 << 20  // of such a step
	stepPart  = 8
	edgeBytes = 32 << 20 // the most that pages across the edges of a run or a step are taken to hold
)

// A ruleRun is rows of a row group that are read together.
type ruleRun struct {
	group  *readGroup
	lo, hi int64
	step   int64 // rows that are decoded at a time, 0 for all
	passed bool  // all of them pass the filter
	raw    *rowgroup.Raw
	bytes  int64 // that the account counts
}

// A readGroup is a row group on its way.
type readGroup struct {
	number int
	left   int // runs
}

// A ruleReader is a reading at work.
type ruleReader struct {
	ruleReading
	dataset *source
	account *mem.Account
	decode  chan *ruleRun
	stop    context.CancelFunc

	footers footers

	mu  sync.Mutex
	err error
}

// readRules reads what a reading asks for. It reserves its memory first, and ends with ctx.
func (d *source) readRules(ctx context.Context, how ruleReading) error {
	account, fetchers, decoders, err := d.reserveRules()
	if err != nil {
		return err
	}
	defer account.Close()
	within, stop := context.WithCancel(ctx)
	defer stop()
	r := &ruleReader{ruleReading: how, dataset: d, account: account, decode: make(chan *ruleRun), stop: stop}
	groups := make(chan int)
	var fetching, all sync.WaitGroup
	for range fetchers {
		fetching.Go(func() {
			for g := range groups {
				r.fail(r.fetchGroup(within, g))
			}
		})
	}
	for range decoders {
		all.Go(func() { r.decodeAll(within) })
	}
	for within.Err() == nil {
		g, ok := r.next(within)
		if !ok {
			break
		}
		select {
		case groups <- g:
		case <-within.Done():
		}
	}
	close(groups)
	fetching.Wait()
	close(r.decode)
	all.Wait()
	if err := cause.Of(ctx); err != nil {
		return err
	}
	return r.err
}

// reserveRules reserves the memory of a reading: as many row groups on their way as there is room
// for.
func (d *source) reserveRules() (a *mem.Account, fetchers, decoders int, err error) {
	var fetch, decoded int64
	for g := range d.data.Groups {
		f, c := d.runBytes(g)
		fetch, decoded = max(fetch, f), max(decoded, c)
	}
	fetchers, decoders = d.fetchers, cores.Number()
	for {
		need := mem.Amounts{mem.Fetch: int64(fetchers+decoders) * fetch, mem.Decode: int64(decoders) * decoded, mem.Store: d.options.StoreMemory}
		a, err = d.budget.Reserve(d.memory, need)
		switch {
		case err == nil:
			return a, fetchers, decoders, nil
		case fetchers > 1:
			fetchers /= 2
		case decoders > 1:
			decoders /= 2
		default:
			e := &MemoryError{Need: Amounts(need), Limit: d.memory, Err: err}
			if most := (need.Total() + 1<<20 - 1) &^ (1<<20 - 1); most > d.memory && d.room(most) {
				e.Memory = most
			}
			return nil, 0, 0, fmt.Errorf("counting the rows that are kept: %w", e)
		}
	}
}

// runBytes bounds what a run of a row group takes: fetched, and decoded.
func (d *source) runBytes(g int) (fetch, decoded int64) {
	fetch, decoded = d.manifest.RuleBytes(g)
	if d.packing() != nil {
		decoded += d.data.Groups[g].Rows * lengthScratch
	}
	runs, steps := d.runs(g)
	if runs > 1 {
		fetch = fetch/runs + fetch/edgePart
	}
	if n := runs * steps; n > 1 {
		decoded = decoded/n + min(decoded/edgePart, edgeBytes)
	}
	return fetch, decoded
}

// runs is into how many runs a row group is cut at least, and in how many steps each is decoded.
func (d *source) runs(g int) (runs, steps int64) {
	_, decoded := d.manifest.RuleBytes(g)
	runs = 1
	if len(d.manifest.PageEdges(g)) > 0 {
		runs = max(1, decoded/runBytes)
	}
	return runs, max(1, decoded/runs/cmp.Or(d.options.stepFrom, min(stepBytes, max(leastStep, d.memory/stepPart))))
}

// fail keeps the first error, and ends the reading.
func (r *ruleReader) fail(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.stop()
}

// fetchGroup finds out what is to be read of a row group, fetches it and hands it to the decoders.
func (r *ruleReader) fetchGroup(ctx context.Context, g int) error {
	group := &readGroup{number: g, left: 1}
	runs, err := r.look(ctx, g)
	if err = r.give(g, 0, r.dataset.data.Groups[g].Rows, err); err != nil {
		return err
	}
	group.left += len(runs)
	for _, run := range runs {
		run.group = group
		run.bytes, _ = r.dataset.runBytes(g)
		r.account.Charge(mem.Fetch, run.bytes)
		if err := r.fetch(ctx, run); err != nil {
			r.release(run)
			if err = r.give(g, run.lo, run.hi, err); err != nil {
				return err
			}
			r.ended(group)
			continue
		}
		select {
		case r.decode <- run:
		case <-ctx.Done():
			r.release(run)
			return ctx.Err()
		}
	}
	r.ended(group)
	return nil
}

// fetch reads the bytes of a run.
func (r *ruleReader) fetch(ctx context.Context, run *ruleRun) (err error) {
	defer r.caught(run, &err)
	run.raw, err = r.dataset.manifest.FetchRule(ctx, r.dataset.rowsOf(run.group.number, run.lo, run.hi))
	return err
}

// rowsOf is rows of a row group as package rowgroup names them.
func (d *source) rowsOf(g int, lo, hi int64) rowgroup.Rows {
	group := d.data.Groups[g]
	return rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.Index), Lo: lo, Hi: hi}
}

func (r *ruleReader) release(run *ruleRun) {
	if run.raw != nil {
		run.raw.Release()
		run.raw = nil
	}
	r.account.Release(mem.Fetch, run.bytes)
}

// ended notes that a run is read, or that no more come.
func (r *ruleReader) ended(g *readGroup) {
	r.mu.Lock()
	g.left--
	last := g.left == 0
	r.mu.Unlock()
	if last {
		r.done(g.number)
	}
}

// decodeAll decodes runs until there are no more.
func (r *ruleReader) decodeAll(ctx context.Context) {
	d, s := r.dataset.manifest.NewDecoder(), r.dataset.rules.newSelector()
	defer func() { d.Close() }()
	for run := range r.decode {
		err := ctx.Err()
		if err == nil {
			err = r.decodeRun(ctx, d, s, run)
		}
		if panics.Is(err) {
			d.Close()
			d = r.dataset.manifest.NewDecoder() // the old one may be in any state
		}
		if err != nil && !panics.Is(err) {
			err = r.salvage(ctx, d, s, run, err)
		}
		r.release(run)
		if r.fail(err); err == nil {
			r.ended(run.group)
		}
	}
}

func (r *ruleReader) decodeRun(ctx context.Context, d *rowgroup.Decoder, s *selector, run *ruleRun) (err error) {
	defer r.caught(run, &err)
	_, bytes := r.dataset.runBytes(run.group.number)
	r.account.Charge(mem.Decode, bytes)
	defer func() { r.account.Release(mem.Decode, bytes) }()
	d.Allow(bytes, r.account.Growing(mem.Decode, &bytes))
	for run.lo < run.hi && err == nil {
		hi := run.hi
		if run.step > 0 {
			hi = min(hi, run.lo+run.step)
		}
		err = r.decodeStep(ctx, d, s, run, hi)
		if rows := hi - run.lo; errors.Is(err, rowgroup.ErrTooLarge) && rows > 1 { // these rows are longer than most
			run.step, err = (rows+1)/2, nil
		}
	}
	return err
}

// decodeStep decodes the rows of a run up to hi, and takes them off the run.
func (r *ruleReader) decodeStep(ctx context.Context, d *rowgroup.Decoder, s *selector, run *ruleRun, hi int64) error {
	run.raw.Narrow(run.lo, hi)
	var columns []rule.Column
	err := run.raw.Refetching(ctx, func() (err error) {
		columns, err = d.DecodeRule(run.raw)
		return err
	})
	if err != nil {
		return err
	}
	sel, err := s.finish(run.group.number, run.lo, hi, columns, run.passed)
	if err != nil {
		return ruleError(r.dataset.manifest, run.raw.Rows, err)
	}
	if !sel.empty() {
		r.found(run.group.number, run.lo, hi, sel)
	}
	run.lo = hi
	return nil
}

// ruleError says where the rule cannot be applied.
func ruleError(m *rowgroup.Manifest, rows rowgroup.Rows, err error) error {
	return &rowgroup.Error{Op: "filter", URI: m.Shards()[rows.Shard].URI, RowGroup: rows.RowGroup, Page: -1, Err: err}
}

// caught makes a panic an error that says where it happened. It is deferred.
func (r *ruleReader) caught(run *ruleRun, err *error) {
	if v := recover(); v != nil {
		*err = panics.New("filter", r.dataset.manifest, r.dataset.rowsOf(run.group.number, run.lo, run.hi), v)
	}
}
