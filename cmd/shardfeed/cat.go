package main

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"syscall"

	"github.com/shardfeed/shardfeed/internal/regular"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A catCommand is one run of cat.
type catCommand struct {
	*app
	flags

	format          string
	worker, workers int
	stateFile       string
	saveState       string
	imageInfo       bool
	imageDir        string // of --decode-images

	state     *shuffle.State // of stateFile, or nil
	perSource bool           // each step is of one source
}

func (a *app) cat() *cobra.Command {
	cat := &catCommand{app: a}
	c := &cobra.Command{
		Use:   "cat [flags] ADDRESS...",
		Short: "Print rows as JSON lines, CSV or Arrow, in file order or in training order",
		Long: `cat prints each row as a JSON object on a line of its own: in file order, or with --shuffle in the
order in which training gets them. Over all ranks (and workers) each row is printed once; nothing
is dropped. A rank prints the rows of its steps at batch size 1, or with --batching per_source at
--batch-size. --format csv prints the columns'
names, then a line for each row with nested values as JSON; --format arrow writes a stream that
pyarrow, polars, DuckDB and others read.

--image-info prints format, width, height and bytes of images, {"format":"JPEG","width":640,...}, as
stored, in place of binary values in columns whose first rows hold images.
--decode-images writes the images into a directory too, each under its row's number and its column's
name, and prints the file. Files that are there already stay.

--save-state writes the state after the last row that was printed, also when ctrl-C, SIGTERM, an
error or a reader that goes away (| head) ends it early: the rows that the reader has taken are
before the state, all others after it. An existing file is replaced only if it is a state.
--state continues from there to the end of the epoch. A state brings its order with it: flags that
say the same are allowed, others are an error. Columns, rank, world size and memory may change.`,
		Example: `  shardfeed cat data/part-00000.parquet
  shardfeed cat data/ --columns id,label.name --limit 10
  shardfeed cat data/ --shuffle --seed 7 --epoch 1 --rank 0 --world-size 8
  shardfeed cat data/ --where 'score >= 0.5 and lang in ("en", "de")' --columns id
  shardfeed cat data/ --shuffle --limit 1000 --save-state state.json
  shardfeed cat data/ --state state.json
  shardfeed cat data/ --columns id,label --format csv > labels.csv
  shardfeed cat data/ --format arrow > rows.arrows
  shardfeed cat data/ --image-info --limit 10
  shardfeed cat data/ --where 'label == "cat"' --limit 100 --decode-images cats/`,
	}
	fs := c.Flags()
	cat.register(c, fs)
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := cat.prepare(ctx, fs); err != nil {
			return err
		}
		return cat.run(ctx, fs, addresses)
	})
}

// register adds the flags.
func (c *catCommand) register(of *cobra.Command, fs *pflag.FlagSet) {
	fs.StringVar(&c.format, "format", "jsonl", "form of the rows: jsonl, csv, or arrow for a stream of Arrow's IPC format")
	completeWords(of, "format", rowio.Formats)
	c.add(fs, "what", "ids", "limit", "rows", "sources")
	setting{set: "sources", name: "batch-size", field: &c.BatchSize, help: "rows of a step on each rank under --batching per_source (default: those of --state)", value: "1"}.register(fs)
	c.add(fs, "tokenize", "pack", "bucket", "features", "order", "epochs", "losses", "rank")
	c.looks(fs)
	fs.IntVar(&c.worker, "worker", 0, "this worker of the rank, from 0")
	fs.IntVar(&c.workers, "workers", 1, "number of workers of each rank")
	fs.StringVar(&c.stateFile, "state", "", "continue from the state in this `file`")
	fs.StringVar(&c.saveState, "save-state", "", "write the state after the last row to this `file`")
	fs.BoolVar(&c.imageInfo, "image-info", false, "print format, width, height and bytes of images in place of their bytes")
	fs.StringVar(&c.imageDir, "decode-images", "", "write images into this `directory` as files; adds --image-info and --row-ids")
	_ = of.MarkFlagDirname("decode-images")
	c.add(fs, "storage", "cache")
}

// prepare checks the flags and reads the state.
func (c *catCommand) prepare(ctx context.Context, fs *pflag.FlagSet) error {
	if c.stateFile != "" {
		state, err := readState(c.stateFile)
		if err != nil {
			return err
		}
		if err := c.adopt(fs, state); err != nil {
			return err
		}
	}
	if c.imageDir != "" {
		c.imageInfo, c.RowIDs = true, true
	}
	if err := c.check(ctx, fs); err != nil {
		return err
	}
	if err := c.checkBatching(fs); err != nil {
		return err
	}
	switch {
	case fs.Changed("decode-images") && c.imageDir == "":
		return usagef("--decode-images must name a directory, got an empty name")
	case !slices.Contains(rowio.Formats, c.format):
		return usagef("--format must be %s, got %q", text.OneOf(rowio.Formats), c.format)
	case c.format == "arrow" && term.IsTerminal(c.stdout):
		return usagef("--format arrow is binary, and stdout is a terminal: redirect it to a file or a pipe")
	case c.format != "jsonl" && c.saveState != "":
		return usagef("--save-state counts JSON lines: it needs --format jsonl, got %s", c.format)
	case c.OnError == "mask":
		return usagef("--on-error mask has no meaning for single rows: use --on-error skip")
	case c.workers < 1:
		return usagef("--workers must be at least 1, got %d", c.workers)
	case c.worker < 0 || c.worker >= c.workers:
		return usagef("--worker must be at least 0 and below --workers %d, got %d", c.workers, c.worker)
	case c.saveState != "" && c.workers > 1:
		return usagef("--save-state saves the state of a whole rank: leave out --workers")
	case c.saveState != "":
		if sameFile(c.stdout, c.saveState) && !isDescriptor(c.saveState) {
			return usagef("--save-state %s: the rows are written to it; name another file", c.saveState)
		}
		return c.saveFile().check()
	}
	return nil
}

func (c *catCommand) run(ctx context.Context, fs *pflag.FlagSet, addresses []string) (err error) {
	ds, err := c.open(ctx, addresses, &c.flags)
	if err != nil {
		if c.saveState == "" && c.format != "arrow" { // which need a stream
			err = c.noRows(err)
		}
		return err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	if c.saveState != "" {
		if err := c.saveFile().apart(ctx, ds.Shards(), &c.flags, addresses); err != nil {
			return err
		}
	}
	printer, err := c.openPrinter(ctx, ds)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, printer.images.Close()) }()
	defer printer.close()
	stream, err := ds.Stream(ctx, shuffle.Worker{Rank: c.rank, WorldSize: c.worldSize, Worker: c.worker, Workers: c.workers},
		iterable.StreamOptions{
			BatchSize: c.BatchSize, Tail: shuffle.Short, Epoch: c.epoch, Epochs: c.epochs, State: c.state, LocalWorldSize: mem.LocalWorldSize(), Draws: printer.most,
		})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	if err := c.contradicts(fs, ds.Dataset); err != nil {
		return err
	}
	before := stream.State()
	state, err := c.print(ctx, printer, stream, newEpochClock(cacheOf(ds), before))
	if c.saveState == "" {
		return err
	}
	if err != nil {
		state = printer.stateAfter(before, err)
	}
	return c.save(ctx, ds, state, err)
}

// openPrinter returns a printer of the rows of ds, and of their images.
func (c *catCommand) openPrinter(ctx context.Context, ds *shardfeed.Dataset) (*rowPrinter, error) {
	shape, err := shapeOf(ds)
	if err != nil {
		return nil, err
	}
	if c.format != "arrow" { // which lacks the years that text has
		shape = shape.AsStored()
	}
	facts, err := c.imageFacts(ctx, ds.Dataset, shape)
	if err != nil {
		return nil, err
	}
	schema := shape.Schema()
	if facts != nil {
		schema = facts.Schema()
	}
	format, err := rowio.FormatOf(c.format, schema, math.MaxInt)
	if err != nil {
		return nil, errors.Join(err, facts.Close())
	}
	printer := c.newPrinter(ctx, ds.Dataset, shape, format)
	printer.images = facts
	printer.most = max(1, printer.most/c.BatchSize)
	return printer, nil
}

// save writes the state after the rows that were printed, and returns how printing ended.
func (c *catCommand) save(ctx context.Context, ds *shardfeed.Dataset, state shuffle.State, printed error) error {
	c.keepManifest(ds)
	saved := c.saveFile().writeState(ctx, c.withTail(state))
	switch {
	case saved != nil && errors.Is(printed, syscall.EPIPE): // a closed pipe is not a failure if the state was saved
		return saved
	case saved != nil && ctx.Err() != nil:
		c.saved = "the state is not saved: " + saved.Error()
	case ctx.Err() != nil:
		c.saved = "the state is in " + c.saveState
	}
	return errors.Join(printed, saved)
}

func (c *catCommand) saveFile() saveFile {
	return saveFile{flag: "save-state", name: c.saveState, kind: stateKind()}
}

// newPrinter prints to stdout, with marks where a state is to be saved.
func (c *catCommand) newPrinter(ctx context.Context, ds *iterable.Dataset, shape *loader.Shape, format rowio.Format) *rowPrinter {
	if c.saveState == "" {
		return newRowPrinter(ds, shape, format, term.NewInterruptible(ctx, term.Shown(c.stdout)))
	}
	w := term.NewLineWriter(ctx, c.stdout)
	p := newRowPrinter(ds, shape, format, w)
	p.lineWriter = w
	return p
}

// print prints the rows of the stream up to the limit and returns the state after the last. Rows
// that came before an error are printed before it is returned.
func (c *catCommand) print(ctx context.Context, p *rowPrinter, stream *iterable.Stream, clock *epochClock) (shuffle.State, error) {
	state := stream.State()
	if err := p.begin(); err != nil {
		return state, err
	}
	var printed int64
	for c.limit.left(printed, 1) > 0 {
		draw, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			state = stream.State()
			break
		}
		if err == nil {
			draw.Picks = draw.Picks[:c.limit.left(printed, int64(len(draw.Picks)))]
			printed += int64(len(draw.Picks))
			state = draw.State
			clock.at(state.Epoch)
			err = p.add(draw)
		}
		if err != nil {
			return state, errors.Join(p.flush(), err)
		}
	}
	return state, p.end()
}

// withTail restores the tail of the run that the state came from: cat drops nothing, and that must
// not change the run's plan.
func (c *catCommand) withTail(state shuffle.State) shuffle.State {
	if c.state != nil && c.state.MixState != nil && state.MixState != nil {
		mix := *state.MixState
		mix.Tail = c.state.KeptTail()
		state.MixState = &mix
	}
	if c.state != nil && c.state.Params != nil && state.Params != nil {
		params := *state.Params
		params.Tail = c.state.Params.Tail
		state.Params = &params
	}
	return state
}

// keepManifest keeps the list of shards, so that a resume can name their differences, or use the
// old list.
func (c *catCommand) keepManifest(ds *shardfeed.Dataset) {
	if err := ds.KeepManifest(); err != nil {
		c.note("the list of shards is not kept: %v", regular.Error(err))
	}
}
