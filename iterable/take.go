package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/iterable/internal/unitcache"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// TakerOptions limit how much a taker may hold. The zero value takes the data set's memory.
type TakerOptions struct {
	Memory   int64 // limit in bytes; 0 takes the data set's
	Parallel int   // units that are decoded at a time; 0 is one for each processor

	// Batches of BatchRows rows that the layer above wants room for in the account, under
	// mem.Batch.
	Batches, BatchRows int
	Wider              int64 // as in StreamOptions, and so are the next two

	Scratch, MoreScratch int64
}

// Validate lists all problems, each an [OptionError].
func (o TakerOptions) Validate() error {
	p := option.List{New: option.NewError}
	p.Within("Memory", o.Memory, option.MaxBytes)
	p.Within("Parallel", int64(o.Parallel), maxParallel)
	p.Within("Batches", int64(o.Batches), option.MaxBatches)
	p.Within("BatchRows", int64(o.BatchRows), option.MaxBatchRows)
	p.Within("Scratch", o.Scratch, option.MaxBytes)
	p.Within("MoreScratch", o.MoreScratch, option.MaxBytes)
	return p.Err()
}

// A Taker reads rows by number: the rows that the data set's rule keeps, numbered from 0 on in the
// order of the files. It owns a cache of decoded units, within a memory that it reserves when it is
// made, and drops the least recently used ones. All its methods are safe for concurrent use,
// and however many calls want a unit at a time, it is decoded once.
type Taker struct {
	dataset *Dataset
	numbers *numbering
	account *mem.Account
	ahead   *ahead.Reader // which loads units; it has no schedule and no goroutines
	cache   *unitcache.Cache
	loads   chan struct{} // a value for each unit on its way
	ctx     context.Context
	cancel  context.CancelCauseFunc
	loading sync.WaitGroup
	once    sync.Once

	requests sync.Pool // of *request
	draws    sync.Pool // of *Draw
	tally    tally
}

// errTakerClosed ends what a closed taker does.
var errTakerClosed = errors.New("the taker is closed")

// DecodedBytes predicts the memory of all rows that the rule keeps, from the sizes of average rows
// in the files' metadata.
func (d *Dataset) DecodedBytes() (bytes int64) {
	for _, s := range d.sources {
		bytes += s.decodedBytes()
	}
	return bytes
}

func (d *source) decodedBytes() (bytes int64) {
	bytes, _ = d.sizes.total()
	if d.rules != nil {
		return mem.MulDiv(bytes, d.samples, max(1, d.manifest.NumRows()))
	}
	return bytes
}

// Taker reserves memory for rows by number, or fails with a [MemoryError]: at least for the largest
// unit and its load, at most for all units and as many loads as are decoded at a time.
func (d *Dataset) Taker(o TakerOptions) (*Taker, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("taker options: %w", err)
	}
	n, err := d.numbering()
	if err != nil {
		return nil, err
	}
	o.Parallel = cmp.Or(o.Parallel, cores.Number())
	b := d.takerBound(n, o)
	need, loads, account, err := d.reserveTaker(b, o)
	if err != nil {
		return nil, err
	}
	if err := d.enter(); err != nil {
		account.Close()
		return nil, err
	}
	t := &Taker{
		dataset: d, numbers: n, account: account,
		ahead: d.readAhead(n.source.manifest, ahead.Options{Account: account, Decoders: make(chan struct{}, o.Parallel)}),
		loads: make(chan struct{}, loads),
	}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	t.cache = unitcache.New(account, need[mem.Shuffle], t.cost, t.begin)
	least := b.load.Bytes()
	account.Unordered()
	account.Elastic(mem.Shuffle, need[mem.Shuffle]-least, func(n int64) int64 { return t.cache.Yield(n, least) })
	return t, nil
}

// reserveTaker admits what a taker can use within its memory, or as much as other streams leave of
// the budget. It returns how many units may be on their way too.
func (d *Dataset) reserveTaker(b takerBound, o TakerOptions) (mem.Amounts, int, *mem.Account, error) {
	memory, most := cmp.Or(o.Memory, d.memory), max(o.Parallel, d.fetchers)
	need, loads := b.within(memory, most)
	a, err := d.budget.Reserve(memory, need)
	var over *mem.OverLimit
	if errors.As(err, &over) && over.Shared {
		need, loads = b.within(min(memory, over.Limit-over.Admitted), most)
		a, err = d.budget.Reserve(memory, need)
	}
	if err == nil {
		return need, loads, a, nil
	}
	least := b.least()
	e := &MemoryError{Need: Amounts(least), Limit: memory, Err: err}
	if least.Total() > memory && d.room(least.Total()) {
		e.Memory = (least.Total() + 1<<20 - 1) &^ (1<<20 - 1)
	}
	e.Ways = waysOut{dataset: d, batchSize: o.BatchRows, fits: func(d *Dataset, batchRows int) (int64, bool) {
		n, err := d.numbering()
		if err != nil {
			return 0, false
		}
		so := o
		so.BatchRows = batchRows
		need := d.takerBound(n, so).least().Total()
		return need, need <= memory && d.room(need)
	}}.all()
	return need, 0, nil, e
}

// A takerBound has the memory that a taker needs.
type takerBound struct {
	load    estimate.Cost // the largest unit, by each of its costs
	decoded int64         // of all units
	batch   int64
	store   int64

	scratch, moreScratch int64
}

func (d *Dataset) takerBound(n *numbering, o TakerOptions) takerBound {
	b := takerBound{store: d.sharedMemory(), scratch: o.Scratch, moreScratch: o.MoreScratch}
	for _, u := range n.units.All() {
		if u.Samples == 0 {
			continue
		}
		c := n.source.sizes.spanCost(u, wholeUnit(u), false)
		b.load = b.load.Largest(c)
		b.decoded += estimate.InBlocks(c.Bytes(), 1) // what is measured may be more
	}
	b.batch = d.batchBytes(StreamOptions{BatchSize: o.BatchRows, Batches: o.Batches, Wider: o.Wider})
	return b
}

// least is one load, and room for one unit.
func (b takerBound) least() mem.Amounts {
	return mem.Amounts{
		mem.Fetch: b.load.Fetch, mem.Decode: b.load.BeyondFree(), mem.Shuffle: b.load.Bytes(), mem.Batch: b.batch, mem.Store: b.store,
		mem.Scratch: b.scratch,
	}
}

// loadsPart is the part of a taker's memory that loads beyond the first may take before there is
// room for all units.
const loadsPart = 4

// within is least, more scratch, more loads at a time and room for more units, as far as the limit
// goes. It returns the number of loads too.
func (b takerBound) within(limit int64, most int) (need mem.Amounts, loads int) {
	need, loads = b.least(), 1
	need[mem.Scratch] += moreScratch(b.moreScratch, limit-need.Total())
	add := func(room int64) {
		each := b.load.Fetch + b.load.Scratch
		n := min(int64(most-loads), max(0, room)/max(1, each))
		need[mem.Fetch] += n * b.load.Fetch
		need[mem.Decode] += n * b.load.Scratch
		loads += int(n)
	}
	add((limit - need.Total()) / loadsPart)
	need[mem.Shuffle] += max(0, min(b.decoded-b.load.Bytes(), limit-need.Total()))
	add(limit - need.Total())
	return need, loads
}

// Len is how many rows have numbers.
func (t *Taker) Len() int64 { return t.numbers.rows() }

// Room is the bytes that decoded units may take. It shrinks when batches need memory.
func (t *Taker) Room() int64 { return t.cache.Room() }

// Account is the taker's memory.
func (t *Taker) Account() *Account { return (*Account)(t.account) }

// Stats counts what the taker did so far.
func (t *Taker) Stats() Stats { return t.tally.add(Stats{}).with(t.ahead.Counts()) }

// Lose records a loss that leaves rows out of a draw.
func (t *Taker) Lose(x Loss, rows int) {
	t.tally.add(Stats{Lost: int64(rows)})
	t.dataset.tellOf(x)
}

// A request is the scratch of a Take.
type request struct {
	places []int32 // by unit: its place in the request's units plus 1; 0 when it is not in it
	units  []int32 // ascending
}

// Take returns the rows with these numbers, in this order; a number may come more than once. It
// decodes the units that are not in memory, in parallel. Without room for them it waits until draws
// are released, so a caller that holds draws and takes more may wait until ctx ends. Rows of more
// units than the memory holds at a time are a [TakeError], and a number that the data set does not
// have is a [RowError].
func (t *Taker) Take(ctx context.Context, rows []int64) (*Draw, error) {
	if err := cause.Of(ctx); err != nil {
		return nil, err
	}
	d, err := t.draw(rows)
	if err != nil {
		return nil, err
	}
	d.Blocks, err = t.cache.Pin(ctx, d.units, d.Trail, d.Blocks)
	if over := (*unitcache.RoomError)(nil); errors.As(err, &over) {
		return nil, &TakeError{Rows: d.Rows, Units: len(d.units), Need: over.Need, Room: over.Room}
	}
	if err != nil {
		return nil, err
	}
	t.tally.add(Stats{Draws: 1, Rows: int64(d.Rows), Groups: int64(len(d.Blocks))})
	return d, nil
}

// draw returns a draw of these rows, whose units are not in memory yet.
func (t *Taker) draw(rows []int64) (*Draw, error) {
	d, ok := t.draws.Get().(*Draw)
	if !ok {
		d = &Draw{Trail: new(Trail)}
	}
	d.Trail.Reset()
	*d = Draw{
		Blocks: d.Blocks[:0], Picks: d.Picks[:0], Trail: d.Trail, units: d.units[:0], from: t,
		Rows: len(rows), Valid: len(rows), Epoch: -1, Step: -1, Position: -1,
	}
	q, ok := t.requests.Get().(*request)
	if !ok {
		q = &request{places: make([]int32, t.numbers.units.Len())}
	}
	defer func() {
		for _, u := range q.units {
			q.places[u] = 0
		}
		q.units = q.units[:0]
		t.requests.Put(q)
	}()
	n := t.numbers
	unit, first, end := 0, int64(0), int64(0) // of the row before: neighbours come together often
	for _, row := range rows {
		if row < first || row >= end {
			var err error
			if unit, _, err = n.locate(row); err != nil {
				return nil, err
			}
			first, end = n.first(unit), n.ends[unit]
			if q.places[unit] == 0 {
				q.places[unit] = 1
				q.units = append(q.units, int32(unit))
			}
		}
		d.Picks = append(d.Picks, rowgroup.MakePick(unit, int(row-first)))
	}
	slices.Sort(q.units)
	for i, u := range q.units {
		q.places[u] = int32(i) + 1
		d.units = append(d.units, unitcache.Pin{Unit: u})
	}
	for i, p := range d.Picks {
		d.Picks[i] = rowgroup.MakePick(int(q.places[p.Block()])-1, p.Row())
	}
	return d, nil
}

// release takes a draw back.
func (t *Taker) release(d *Draw) {
	t.cache.Unpin(d.units)
	clear(d.Blocks)
	clear(d.units)
	t.draws.Put(d)
}

// cost returns the predicted bytes of a unit.
func (t *Taker) cost(unit int32) int64 {
	u := t.numbers.units.At(int(unit))
	return t.numbers.source.sizes.spanCost(u, wholeUnit(u), false).Bytes()
}

// begin loads a unit in a goroutine of its own. It continues when the call that wanted the unit has
// ended: others may want it.
func (t *Taker) begin(u *unitcache.Unit) {
	t.loading.Go(func() {
		held, err := t.load(u.Number, &u.Trail)
		t.cache.Loaded(u, held, err)
	})
}

// wholeUnit is the span of all rows of a unit.
func wholeUnit(u shuffle.Unit) shuffle.Span { return shuffle.Span{To: u.Samples} }

// load fetches and decodes a unit.
func (t *Taker) load(unit int32, trail *wait.Trail) (*ahead.Held, error) {
	trail.Next(wait.Room)
	select {
	case t.loads <- struct{}{}:
		defer func() { <-t.loads }()
	case <-t.ctx.Done():
		return nil, context.Cause(t.ctx)
	}
	u := t.numbers.units.At(int(unit))
	l := t.numbers.source.sizes.newLoad(u, wholeUnit(u), false)
	l.Wanted = []ahead.Wanted{{Rows: int(u.Samples)}}
	trail.Until(wait.Now(), wait.Room)
	if err := t.ahead.LoadNow(t.ctx, l, trail); err != nil {
		return nil, err
	}
	return t.ahead.Take(l), nil
}

// Close ends what the taker does and frees its memory, except units that draws hold: those are
// freed when the draws are released. It may be called twice.
func (t *Taker) Close() error {
	t.once.Do(func() {
		t.cancel(errTakerClosed)
		t.cache.Close(errTakerClosed)
		t.loading.Wait()
		t.dataset.leave()
	})
	return nil
}

// A TakeError reports that the rows of one call are in more units than the memory holds at a time.
type TakeError struct {
	Rows, Units int
	Need, Room  int64 // bytes of the units, decoded, and what there is for them
}

func (e *TakeError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options as name spells them.
func (e *TakeError) Spelled(name func(field string) string) string {
	return option.Spell(fmt.Sprintf("memory: %d rows lie in %d units of %s, decoded, and the memory has room for %s of them at a time; "+
		"ask for fewer rows at once, raise {Memory}, read fewer {Columns}, or set a smaller {UnitRows}",
		e.Rows, e.Units, mem.Bytes(e.Need), mem.Bytes(e.Room)), name)
}
