package loader

import (
	"errors"
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Options are those of torch.utils.data.DataLoader under their names, as far as they mean something here. Shuffling, sampling and the
// shuffle buffer are the dataset's. The zero value gives batches of one row of the whole dataset, made in the consumer's goroutine.
type Options struct {
	// BatchSize is the rows of a batch, per rank. 0 means 1.
	BatchSize int

	// DropLast leaves out the rows at the end of an epoch that fill no batch on every rank. Without it the last batch is short when
	// WorldSize is 1; else it is filled up with rows that do not count (Batch.Valid), so that all ranks make equally many steps.
	DropLast bool

	// Tail says it in the words of package shuffle, which knows one more: shuffle.Carry leaves the rows to the next epoch. "" is what
	// DropLast says.
	Tail shuffle.Tail

	// Workers is the number of goroutines that collate (num_workers). With 0 the consumer's goroutine does it, when it asks for a batch.
	Workers int

	// PrefetchFactor is how many batches per worker are being made or ready ahead of the consumer. 0 means 2.
	PrefetchFactor int

	// Timeout ends the iteration with a [TimeoutError] when the consumer waits longer for a batch. 0 waits for ever. Without workers a
	// collate or transform that does not look at its ctx is not interrupted.
	Timeout time.Duration

	// Unordered hands batches out as they get ready (in_order=False), not by their steps.
	Unordered bool

	// MaxBatches bounds the batches that exist at once: being made, ready, or with the consumer and not yet released. 0 means what
	// Workers and PrefetchFactor ask for and 2 with the consumer. An Allocator of the user's has its own bound; MaxBatches is then how many
	// batches the stream's reservation has room for, so that their memory is within the stream's.
	MaxBatches int

	// Rank and WorldSize are those of torch.distributed. WorldSize 0 means 1.
	Rank, WorldSize int

	// Epoch is the first epoch. Epochs is how many one call of Batches goes through, without a stall between them; 0 means 1, and below 0
	// there is no last one.
	Epoch, Epochs int

	// State resumes after the batch that it came with; nil begins at Epoch.
	State *shuffle.State

	// NaN puts NaN under the nulls of floats, in lists and structs too, wherever they occur. Fill says for any column what stands under its
	// nulls, and wins; else that is zero, false or empty.
	NaN  bool
	Fill []Fill

	// Pad makes ragged lists dense; see [Padding].
	Pad []Padding

	// Collate, when not nil, changes the batch after the default collate and Pad: columns replaced, or anything put into Batch.Data.
	Collate Collate

	// Transforms are applied to each batch, in order, after Collate.
	Transforms []Transform

	// Allocator gives batches their memory; nil means a pool of the loader's own.
	Allocator Allocator
}

const (
	DefaultPrefetch = 2 // Options.PrefetchFactor when it is 0 and there are workers
	defaultHeld     = 2 // batches with the consumer under the default MaxBatches
)

// withDefaults is called on valid options.
func (o Options) withDefaults() Options {
	if o.BatchSize == 0 {
		o.BatchSize = 1
	}
	if o.Workers > 0 && o.PrefetchFactor == 0 {
		o.PrefetchFactor = DefaultPrefetch
	}
	if o.MaxBatches == 0 {
		o.MaxBatches = o.Workers*o.PrefetchFactor + defaultHeld
	}
	if o.WorldSize == 0 {
		o.WorldSize = 1
	}
	if o.Epochs == 0 {
		o.Epochs = 1
	}
	o.Tail = o.tail()
	return o
}

// Validate lists all that is wrong in one error.
func (o Options) Validate() error {
	var errs []error
	check := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("loader: "+format, args...))
		}
	}
	check(o.BatchSize < 0, "batch_size should be a positive integer value, but got batch_size=%d", o.BatchSize)
	check(o.DropLast && o.Tail != "" && o.Tail != shuffle.Drop, "drop_last option is mutually exclusive with tail %q", o.Tail)
	if o.Tail != "" {
		if err := o.Tail.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	check(o.Workers < 0, "num_workers option should be non-negative; use num_workers=0 to disable background collation, but got num_workers=%d", o.Workers)
	check(o.PrefetchFactor < 0, "prefetch_factor option should be non-negative, but got prefetch_factor=%d", o.PrefetchFactor)
	check(o.Workers == 0 && o.PrefetchFactor > 0, "prefetch_factor option could only be specified with workers; let num_workers > 0 or leave prefetch_factor out")
	check(o.Workers == 0 && o.Unordered, "in_order=False could only be specified with workers; let num_workers > 0 or leave in_order out")
	check(o.Timeout < 0, "timeout option should be non-negative, but got timeout=%v", o.Timeout)
	check(o.WorldSize < 0, "world_size should be a positive integer value, but got world_size=%d", o.WorldSize)
	check(o.WorldSize >= 0 && (o.Rank < 0 || o.Rank >= max(1, o.WorldSize)),
		"invalid rank %d, rank should be in the interval [0, %d]", o.Rank, max(1, o.WorldSize)-1)
	check(o.Epoch < 0, "epoch should be non-negative, but got epoch=%d", o.Epoch)
	check(o.carries() && o.tail() != shuffle.Carry, "the state has the tail %q, and tail %q contradicts it", shuffle.Carry, o.tail())
	check(o.State != nil && o.Epoch != 0, "state option is mutually exclusive with epoch")
	check(o.MaxBatches < 0, "max_batches should be a positive integer value, but got max_batches=%d", o.MaxBatches)
	check(o.MaxBatches > 0 && o.Workers > 0 && o.MaxBatches <= o.Workers,
		"max_batches=%d leaves none for the consumer when num_workers=%d are at work; let it be greater", o.MaxBatches, o.Workers)
	for i, t := range o.Transforms {
		check(t.Apply == nil, "transform %s has no function", t.place(i))
	}
	for _, p := range o.Pad {
		errs = append(errs, p.validate()...)
	}
	return errors.Join(errs...)
}

// Check lists what does not fit the columns of a data set: what is padded or filled and cannot be.
func (o Options) Check(s *rowgroup.Schema) error {
	_, err := newRecipe(s, o)
	return err
}

// tail is what the options say of the end of an epoch. Under shuffle.Carry a state's position may lie in the rows that an epoch has left to
// the next, so such a state keeps its tail.
func (o Options) tail() shuffle.Tail {
	switch {
	case o.Tail != "":
		return o.Tail
	case o.DropLast:
		return shuffle.Drop
	case o.carries():
		return shuffle.Carry
	case o.WorldSize <= 1:
		return shuffle.Short
	}
	return shuffle.Pad
}

// carries reports whether the state has the tail shuffle.Carry.
func (o Options) carries() bool {
	return o.State != nil && o.State.Params != nil && o.State.Params.Tail == shuffle.Carry
}
