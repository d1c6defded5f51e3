package loader

import (
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Options are the options of torch.utils.data.DataLoader under their names, as far as they apply
// here. Shuffling, sampling and the shuffle buffer belong to the dataset. The zero value gives
// batches of one row of the whole dataset, made in the consumer's goroutine.
type Options struct {
	// BatchSize is the rows of a batch, per rank. 0 means 1.
	BatchSize int

	// DropLast leaves out the rows at the end of an epoch that fill no batch on every rank. Without
	// it the last batch is short when WorldSize is 1; else it is filled up with rows that do not
	// count (Batch.Valid), so that all ranks make equally many steps.
	DropLast bool

	// Tail selects the tail in the terms of package shuffle, which has one more: shuffle.Carry
	// leaves the rows to the next epoch. "" follows DropLast.
	Tail shuffle.Tail

	// Workers is the number of goroutines that collate (num_workers). With 0 the consumer's
	// goroutine does it, when it asks for a batch.
	Workers int

	// PrefetchFactor is how many batches per worker are being made or ready ahead of the consumer.
	// 0 means 2.
	PrefetchFactor int

	// Timeout ends the iteration with a [TimeoutError] when the consumer waits longer for a batch.
	// 0 waits for ever. Without workers a transform that does not look at its ctx is not
	// interrupted.
	Timeout time.Duration

	// Unordered hands batches out as they get ready (in_order=False), not by their steps.
	Unordered bool

	// MaxBatches bounds the batches that exist at once: being made, ready, or with the consumer and
	// not yet released. 0 means what Workers and PrefetchFactor ask for and 2 with the consumer. An
	// Allocator of the user's has its own bound; MaxBatches is then how many batches the stream's
	// reservation has room for, so that their memory is within the stream's.
	MaxBatches int

	// Rank and WorldSize are as in torch.distributed. WorldSize 0 means 1.
	Rank, WorldSize int

	// Replication gives that many consecutive ranks the same batches, as tensor and pipeline
	// parallel ranks need: the loader reads for data rank Rank/Replication of
	// WorldSize/Replication. It must divide WorldSize. 0 means 1.
	Replication int

	// LocalWorldSize is how many of the ranks a node has, for a shuffle buffer that is per node. 0
	// is not known.
	LocalWorldSize int

	// Seats assign lanes to ranks, as in iterable.StreamOptions.
	Seats shuffle.Seats

	// Epoch is the first epoch. Epochs is how many one call of Batches goes through, without a
	// stall between them; 0 means 1, and a negative number never ends.
	Epoch, Epochs int

	// UntilEpoch ends an iteration before this epoch, wherever it began: a resumed run ends where
	// the first one would have. 0 leaves the end to Epochs.
	UntilEpoch int

	// Horizon bounds the epochs that an endless loader reads ahead, as in iterable.StreamOptions.
	Horizon *iterable.Horizon

	// State resumes after the batch that it came with; nil starts at Epoch.
	State *shuffle.State

	// NaN puts NaN into the null slots of floats, in lists and structs too. Fill sets the values in
	// null slots of any column, and wins; the default is zero, false or empty.
	NaN  bool
	Fill []Fill

	// Features cast, hash and scale columns, and stack them to matrices; see [Features]. The
	// following options, and Fill, apply to the resulting columns.
	Features Features

	// Images decodes, crops, scales and augments the files in columns of bytes, which become
	// columns of tensors: [B, 3, H, W], or [B, H, W, 3] under images.HWC. The names are columns or
	// dotted paths to members of structs. Augmentations depend only on the data's seed, the epoch,
	// the row and the column's name. A file that cannot be decoded, a null, or one above the limits
	// of images.Options is lost data; see OnError. It needs a data set with RowIDs or RowKeys.
	Images map[string]images.Options

	// Boxes moves the boxes and points in columns with the crop, the resize and the flip of an
	// image, and drops boxes that fall out of it. Boxes become [n, 4] for each row, and points [n,
	// 2] or [n, 3], of float32; points that are all kept stay in their lists.
	Boxes map[string]boxes.Options

	// ImageDecoder makes a decoder of images, which one goroutine uses at a time; nil is codec.Go.
	// Each goroutine that decodes has one for each column of Images.
	ImageDecoder func() (codec.Decoder, error)

	// ImageParallel is the number of goroutines that decode images. Idle ones help with the batch
	// of another. 0 means Workers, and fewer is the same.
	ImageParallel int

	// ImageSplit leaves JPEGs of Images to a device of the consumer; see [ImageSplit]. nil decodes
	// all images.
	ImageSplit *ImageSplit

	// Pad makes ragged lists dense; see [Padding].
	Pad []Padding

	// Packed makes columns of the documents in packed batches. It needs a data set with Pack.
	Packed Packed

	// Seeds adds the column SeedColumn to each batch: an int64 for each row, by the data's seed,
	// the epoch and the row, whatever the number of ranks and the batch size. It needs a data set
	// with RowIDs or RowKeys.
	Seeds bool

	// Hashes asks for Batch.Hashes, for consumers that hand out single rows.
	Hashes bool

	// Transforms are applied to each batch, in order, after Pad.
	Transforms []Transform

	// Allocator gives batches their memory; nil means a pool of the loader's own.
	Allocator Allocator
}

const (
	DefaultPrefetch = 2 // Options.PrefetchFactor when it is 0 and there are workers
	defaultHeld     = 2 // batches with the consumer under the default MaxBatches
)

// withDefaults fills in the defaults of valid options.
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
	if data, err := (shuffle.Worker{Rank: o.Rank, WorldSize: o.WorldSize}).OfReplicas(o.Replication); err == nil {
		o.LocalWorldSize = shuffle.LocalRanks(o.LocalWorldSize, o.Replication)
		o.Rank, o.WorldSize, o.Replication = data.Rank, data.WorldSize, 1
	}
	if o.Epochs == 0 && o.UntilEpoch == 0 {
		o.Epochs = 1
	}
	o.Tail = o.tail()
	return o
}

// Validate lists all problems, each an iterable.OptionError.
func (o Options) Validate() error {
	p := option.List{New: newProblem}
	o.validateTail(&p)
	o.validateWorkers(&p)
	s := o.stream()
	s.Draws, s.Batches = 0, 0 // named by Workers and MaxBatches here
	p.Join(s.Validate())
	if ranks := max(1, o.WorldSize); o.Rank < 0 || o.Rank >= ranks {
		p.Add("Rank", "must be 0 to %d, got %d", ranks-1, o.Rank)
	}
	p.Within("WorldSize", int64(o.WorldSize), option.MaxWorldSize)
	if p.Within("Replication", int64(o.Replication), option.MaxWorldSize); o.Replication > 1 && max(1, o.WorldSize)%o.Replication != 0 {
		p.Add("Replication", "must divide {WorldSize} %d, got %d", max(1, o.WorldSize), o.Replication)
	}
	if o.State != nil && o.Epoch != 0 {
		p.Add("Epoch", "contradicts {State}, which says the epoch; leave one of the two out")
	}
	for i, t := range o.Transforms {
		switch {
		case t.Apply == nil && t.Rows == nil:
			p.Add(fmt.Sprintf("Transforms[%d]", i), "must have a function Apply or Rows, %q has none", t.Name)
		case t.Apply != nil && t.Rows != nil:
			p.Add(fmt.Sprintf("Transforms[%d]", i), "must have a function Apply or Rows, %q has both", t.Name)
		}
	}
	o.Features.validate(&p)
	validateImages(&p, o.Images)
	validateSplit(&p, o.ImageSplit)
	validateBoxes(&p, o.Boxes)
	for i, f := range o.Fill {
		if f.Column == "" {
			p.Add(fmt.Sprintf("Fill[%d].Column", i), "must not be empty")
		}
	}
	for i, pad := range o.Pad {
		pad.validate(&p, i)
	}
	o.Packed.validate(&p)
	return p.Err()
}

func newProblem(field, text string) error { return &iterable.OptionError{Field: field, Text: text} }

func (o Options) validateTail(p *option.List) {
	if o.DropLast && o.Tail != "" && o.Tail != shuffle.Drop {
		p.Add("DropLast", "contradicts {Tail} %q; leave one of the two out", o.Tail)
	}
	if o.carries() && o.tail() != shuffle.Carry {
		p.Add("Tail", "must be %q as in {State}, got %q", shuffle.Carry, o.tail())
	}
}

func (o Options) validateWorkers(p *option.List) {
	p.Within("Workers", int64(o.Workers), option.MaxWorkers)
	p.Within("PrefetchFactor", int64(o.PrefetchFactor), option.MaxBatches/option.MaxWorkers)
	p.Within("MaxBatches", int64(o.MaxBatches), option.MaxBatches)
	p.Within("ImageParallel", int64(o.ImageParallel), option.MaxWorkers)
	if o.Workers == 0 && o.PrefetchFactor > 0 {
		p.Add("PrefetchFactor", "needs {Workers}; set them, or leave it out")
	}
	if o.Workers == 0 && o.Unordered {
		p.Add("Unordered", "needs {Workers}; set them, or leave it out")
	}
	if o.MaxBatches > 0 && o.Workers > 0 && o.MaxBatches <= o.Workers {
		p.Add("MaxBatches", "must be more than the %d {Workers}, so that the consumer gets one, got %d", o.Workers, o.MaxBatches)
	}
	if o.Timeout < 0 {
		p.Add("Timeout", "must not be negative, got %v", o.Timeout)
	}
}

// lenses returns the number of goroutines that decode images.
func (o Options) lenses() int { return max(1, o.Workers, o.ImageParallel) }

// Check lists paddings and fills that do not fit the columns of a data set.
func (o Options) Check(s *column.Schema) error {
	_, err := newRecipe(s, o)
	return err
}

// tail resolves Tail and DropLast. Under shuffle.Carry a state's position may be in the rows that
// an epoch left to the next, so such a state keeps its tail.
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
	return o.State != nil && o.State.KeptTail() == shuffle.Carry
}
