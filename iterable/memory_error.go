package iterable

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// MemoryError reports that a stream's memory is too small for its plan, and what would fit.
type MemoryError struct {
	Need   Amounts
	Limit  int64
	Buffer int64    // a ShuffleBuffer in rows that would fit, or 0
	Memory int64    // if Buffer is 0, a Memory in bytes that would fit, or 0 if this machine has too little
	Ways   []string // what else would fit, with options in braces
	Err    error    // the numbers
}

func (e *MemoryError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options as name spells them.
func (e *MemoryError) Spelled(name func(field string) string) string {
	return "memory: the stream " + e.Err.Error() + "; " + option.Spell(e.advice(), name)
}

func (e *MemoryError) advice() string {
	if e.Buffer > 0 {
		return fmt.Sprintf("a {ShuffleBuffer} of %d rows would fit", e.Buffer)
	}
	var ways []string
	over := (*mem.OverLimit)(nil)
	switch {
	case e.Memory > 0:
		ways = append(ways, fmt.Sprintf("raise {Memory} to %dMiB", e.Memory>>20))
	case errors.As(e.Err, &over) && over.Shared && over.Admitted > 0:
		ways = append(ways, "end one of the others")
	}
	ways = append(ways, e.Ways...)
	if e.Need[mem.Store] > 0 {
		ways = append(ways, "leave the stores less")
	}
	if len(ways) == 0 {
		return "nothing smaller fits: write the data with smaller row groups"
	}
	return strings.Join(ways, ", or ")
}

func (e *MemoryError) Unwrap() error { return e.Err }

// A remedy makes the advice of a stream's MemoryError.
type remedy struct {
	dataset *Dataset
	options StreamOptions
	buffer  int64 // the refused buffer; 0 if none can be set
	inFiles bool  // the order is the files'

	// need returns the need of a stream of a data set under a limit, with a buffer in rows; 0
	// selects the options' buffer.
	need func(d *Dataset, o StreamOptions, buffer, memory int64) (bound, error)

	// again is the need of a new run under a limit, whose default buffer may be larger than the
	// state's; nil without a state, and with one in mid-epoch.
	again func(memory int64) (bound, error)
}

// remedy returns the remedy of a worker whose portion of an order does not fit.
func (d *Dataset) remedy(r order, w shuffle.Worker, start stepper, o StreamOptions) remedy {
	y := remedy{dataset: d, options: o, inFiles: r.buffer() == 0, need: func(d *Dataset, so StreamOptions, buffer, memory int64) (bound, error) {
		from := start
		if so.BatchSize != o.BatchSize {
			var err error
			if from, err = d.begin(w.WorldSize, so); err != nil {
				return bound{}, err
			}
		}
		r, err := d.orderOf(w.WorldSize, so, buffer, memory)
		if err != nil {
			return bound{}, err
		}
		p, err := d.portion(r, w, from, so)
		return p.bound, err
	}}
	switch {
	case r.buffer() == 0 || d.options.Plan != nil:
	case o.State == nil:
		y.buffer = r.buffer()
	case o.State.Position == 0: // it may be the state of a start, which an engine agrees on with all ranks
		begun := o
		begun.State = nil
		y.again = func(memory int64) (bound, error) {
			r, err := d.orderOf(w.WorldSize, begun, 0, memory)
			if err != nil {
				return bound{}, err
			}
			p, err := d.portion(r, w, start, o)
			return p.bound, err
		}
	}
	return y
}

// advise fills in what would have been admitted.
func (r remedy) advise(e *MemoryError) {
	e.Buffer = r.bufferThatFits()
	if e.Buffer > 0 {
		return
	}
	if e.Need.Total() > r.dataset.memory { // else the streams of others have the memory
		e.Memory = r.memoryThatFits()
	}
	d, o := r.dataset, r.options
	e.Ways = waysOut{
		dataset: d, batchSize: o.BatchSize, pinned: d.options.Plan != nil || o.State != nil && o.State.Shuffle,
		fits: func(d *Dataset, batchSize int) (int64, bool) {
			so := o
			so.BatchSize = batchSize
			b, err := r.need(d, so, 0, d.memory)
			need := b.least().Total()
			return need, err == nil && need <= d.memory && d.room(need)
		},
	}.all()
}

// bufferThatFits looks for a large shuffle buffer, in rows, that is smaller than the refused one;
// it returns 0 if it finds none that fits.
func (r remedy) bufferThatFits() int64 {
	d, best := r.dataset, int64(0)
	for step, tries := r.buffer/2, 0; step > 0 && tries < 8; step, tries = step/2, tries+1 {
		b, err := r.need(d, r.options, best+step, d.memory)
		if need := b.least().Total(); err == nil && need <= d.memory && d.room(need) {
			best += step
		}
	}
	return best
}

// memoryTries bounds the search for the memory that fits. A larger limit may come with a larger
// shuffle buffer by default.
const memoryTries = 24

// memoryThatFits is the smallest limit, in whole MiB, under which the stream would be admitted: 0
// when this machine has less.
func (r remedy) memoryThatFits() int64 {
	d := r.dataset
	memory := d.memory
	for range memoryTries {
		within := d
		if r.inFiles {
			within = d.trial(d.options.UnitRows, memory)
		}
		b, err := r.need(within, r.options, 0, memory)
		if err != nil {
			return 0
		}
		// What the stores may hold grows with the limit, and no faster.
		b.store = max(b.store, mem.MulDiv(b.store, memory, max(1, d.memory)))
		need := b.least().Total()
		if r.again != nil {
			begun, err := r.again(memory)
			if err != nil {
				return 0
			}
			begun.store = b.store
			need = max(need, begun.least().Total())
		}
		if !d.room(need) {
			return 0
		}
		if need <= memory && memory > d.memory {
			return memory
		}
		memory = max(need, memory+1)
		memory = (memory + 1<<20 - 1) &^ (1<<20 - 1)
	}
	return 0
}
