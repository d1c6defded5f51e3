package samples

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Data is row groups, the rule that makes samples of their rows, and the means to read the columns
// of the rule.
type Data struct {
	Manifest *rowgroup.Reader
	List     *shuffle.Manifest // the same, as a plan has it
	Rules    *Rules            // nil: each row is a sample

	Budget      *mem.Budget
	Memory      int64 // limit of a reading
	StoreMemory int64 // of the stores below
	Fetchers    int

	// TooLarge returns the error of a reading that needs more than its limit.
	TooLarge func(need mem.Amounts, err error) error

	StepFrom  int64 // bytes of decoded rule columns from which they are decoded in steps; 0 means stepBytes
	PruneFrom int64 // bytes of rule columns from which statistics are read; 0 means prunedBytes
}

// Packing returns the third stage of the rule, or nil.
func (d *Data) Packing() *Packing {
	if d.Rules == nil {
		return nil
	}
	return d.Rules.Pack
}

// A Reading reads the columns of a rule, and nothing else, of row groups in parallel.
type Reading struct {
	// Next returns the row group to read next; false at the end, or if ctx ends. One
	// goroutine calls it.
	Next func(ctx context.Context) (group int, ok bool)

	// Found is called with what the rule keeps of rows [lo, hi) from which it keeps any, and done
	// when nothing more comes of a row group. Several goroutines call them.
	Found func(group int, lo, hi int64, sel Selection)
	Done  func(group int)

	// Worked is called while tokens of texts are counted, with the work since the last call. nil is
	// not called. Several goroutines call it.
	Worked func(Work)

	// lost is called with rows whose data is lost, and pieces cuts a run into rows that are lost
	// together. nil: the reading fails. Several goroutines call them.
	lost   func(group int, lo, hi int64, err error)
	pieces func(group int, lo, hi int64) []Run
}

const (
	runBytes  = 64 << 20  // of decoded rule columns: more is read in runs, if the page index has their bytes
	stepBytes = 256 << 20 // else more, or more than memory/stepPart, is read together and decoded in steps
	leastStep = 16 << 20  // of such a step
	stepPart  = 8
	EdgePart  = 16       // a slice of a row group is charged 1/edgePart of the group more, for pages across its edges and dictionaries
	EdgeBytes = 32 << 20 // the most that pages across the edges of a run or a step are taken to hold
)

// A Run is rows of a row group that are read together.
type Run struct {
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
	Reading
	dataset *Data
	account *mem.Account
	decode  chan *Run
	stop    context.CancelFunc

	footers footers

	mu  sync.Mutex
	err error
}

// Read reads what a reading asks for. It reserves its memory first, and ends with ctx.
func (d *Data) Read(ctx context.Context, how Reading) error {
	account, fetchers, decoders, err := d.reserveRules()
	if err != nil {
		return err
	}
	defer account.Close()
	within, stop := context.WithCancel(ctx)
	defer stop()
	r := &ruleReader{Reading: how, dataset: d, account: account, decode: make(chan *Run), stop: stop}
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
		g, ok := r.Next(within)
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
func (d *Data) reserveRules() (a *mem.Account, fetchers, decoders int, err error) {
	var fetch, decoded int64
	for g := range d.List.Groups {
		f, c := d.runBytes(g)
		fetch, decoded = max(fetch, f), max(decoded, c)
	}
	fetchers, decoders = d.Fetchers, cores.Number()
	for {
		need := mem.Amounts{mem.Fetch: int64(fetchers+decoders) * fetch, mem.Decode: int64(decoders) * decoded, mem.Store: d.StoreMemory + d.Packing().textTables()}
		a, err = d.Budget.Reserve(d.Memory, need)
		switch {
		case err == nil:
			return a, fetchers, decoders, nil
		case fetchers > 1:
			fetchers /= 2
		case decoders > 1:
			decoders /= 2
		default:
			return nil, 0, 0, d.TooLarge(need, err)
		}
	}
}

// runBytes bounds what a run of a row group takes: fetched, and decoded.
func (d *Data) runBytes(g int) (fetch, decoded int64) {
	fetch, decoded = d.Manifest.RuleBytes(g)
	k := d.Packing()
	if k != nil {
		decoded += d.List.Groups[g].Rows * k.rowScratch()
	}
	runs, steps := d.runs(g)
	if runs > 1 {
		fetch = fetch/runs + fetch/EdgePart
	}
	if n := runs * steps; n > 1 {
		decoded = decoded/n + min(decoded/EdgePart, EdgeBytes)
	}
	if k != nil {
		decoded += k.encoderScratch()
	}
	return fetch, decoded
}

// runs is into how many runs a row group is cut at least, and in how many steps each is decoded.
func (d *Data) runs(g int) (runs, steps int64) {
	_, decoded := d.Manifest.RuleBytes(g)
	runs = 1
	if d.Manifest.HasPages(g) {
		runs = max(1, decoded/runBytes)
	}
	return runs, max(1, decoded/runs/cmp.Or(d.StepFrom, min(stepBytes, max(leastStep, d.Memory/stepPart))))
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
	if err = r.give(g, 0, r.dataset.List.Groups[g].Rows, err); err != nil {
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
func (r *ruleReader) fetch(ctx context.Context, run *Run) (err error) {
	defer r.caught(run, &err)
	run.raw, err = r.dataset.Manifest.FetchRule(ctx, r.dataset.RowsOf(run.group.number, run.lo, run.hi))
	return err
}

// RowsOf is rows of a row group as package rowgroup names them.
func (d *Data) RowsOf(g int, lo, hi int64) rowgroup.Rows {
	group := d.List.Groups[g]
	return rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.Index), Lo: lo, Hi: hi}
}

func (r *ruleReader) release(run *Run) {
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
		r.Done(g.number)
	}
}

// decodeAll decodes runs until there are no more.
func (r *ruleReader) decodeAll(ctx context.Context) {
	d, s := r.dataset.Manifest.NewDecoder(), r.dataset.Rules.NewSelector()
	s.worked = r.Worked
	defer func() { d.Close() }()
	for run := range r.decode {
		err := ctx.Err()
		if err == nil {
			err = r.decodeRun(ctx, d, s, run)
		}
		if panics.Is(err) {
			d.Close()
			d = r.dataset.Manifest.NewDecoder() // the old one may be in any state
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

func (r *ruleReader) decodeRun(ctx context.Context, d *rowgroup.Decoder, s *Selector, run *Run) (err error) {
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
func (r *ruleReader) decodeStep(ctx context.Context, d *rowgroup.Decoder, s *Selector, run *Run, hi int64) error {
	run.raw.Narrow(run.lo, hi)
	var columns []rule.Column
	err := run.raw.Refetching(ctx, func() (err error) {
		columns, err = d.DecodeRule(run.raw)
		return err
	})
	if err != nil {
		return err
	}
	sel, err := s.Finish(run.group.number, run.lo, hi, columns, run.passed)
	if err != nil {
		return Error(r.dataset.Manifest, run.raw.Rows, err)
	}
	if !sel.empty() {
		r.Found(run.group.number, run.lo, hi, sel)
	}
	run.lo = hi
	return nil
}

// Error names the rows to which the rule cannot be applied.
func Error(m *rowgroup.Reader, rows rowgroup.Rows, err error) error {
	return &rowgroup.Error{Op: "filter", URI: m.Shards()[rows.Shard].URI, RowGroup: rows.RowGroup, Page: -1, Err: err, Hint: transform.Hint(err)}
}

// caught makes a panic an error that names its rows. It is deferred.
func (r *ruleReader) caught(run *Run, err *error) {
	if v := recover(); v != nil {
		*err = panics.New("filter", r.dataset.Manifest, r.dataset.RowsOf(run.group.number, run.lo, run.hi), v)
	}
}
