package iterable

import (
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Size is a number of rows or of bytes. The zero value leaves the choice to the default.
type Size struct {
	Rows  int64 // wins over Bytes
	Bytes int64 // uncompressed, of all columns
}

// Options of Open. The zero value reads all columns in file order and drops the rows that fill no global batch.
type Options struct {
	Columns     []string // dotted paths; nil means all. The schema's order is kept
	Missing     rowgroup.MissingColumns
	InvalidUTF8 rowgroup.InvalidUTF8

	// Strict refuses a directory that holds descriptions and checksums (*.md, *.json, *.txt, *.crc) beside its parquet files. They are left
	// out otherwise; see shard.Discover.
	Strict bool

	Shuffle       bool
	ShuffleBuffer Size // rows held for mixing, over all ranks together
	Seed          uint64
	Tail          shuffle.Tail // "" is Drop

	// Pins of the plan; zero leaves them to the rule of package shuffle.
	Lanes        int
	UnitRows     int64
	Start        shuffle.Start
	Spread       int
	Assign       shuffle.Assign
	MaxWorldSize int // the largest world size that is to own whole lanes

	// Memory is the limit in bytes of one rank's stream. 0 takes DefaultMemory, and where that is 0 too mem.DefaultLimit; only a limit that
	// is given here bounds the default shuffle buffer, so that the machine never changes the order.
	Memory        int64
	DefaultMemory int64

	Budget *mem.Budget // what all streams of the process share; nil is one of the data set's own over the machine's memory
	Pool   *mem.Pool   // where blocks live; nil is one of the data set's own

	IndexDir string // where footers are kept for the next start; "" keeps none
	Parallel int    // footers in flight; 0 is the default of package rowgroup
	Fetchers int    // loads of a stream that are fetched at a time; 0 is what the shards' store likes, 64 at most, else 4

	// StoreMemory is the part of Memory that the stores below hold: bytes on their way to a cache, and Hot. A stream is admitted with it. It
	// does not change the order: the default shuffle buffer follows from Memory as it was given.
	StoreMemory int64
	Hot         *rowgroup.Hot // what is kept in memory for all data sets that share it; nil keeps nothing

	Transforms []Transform // of values, applied in this order; they change the schema

	// Plan pins the shards and the parameters of the order, as an earlier run or the other ranks have them; nil leaves them to the rule.
	Plan *SavedPlan

	// Manifest is the saved list of an earlier run, to finish an epoch on it: shards that came since are left out, and each shard of the
	// list must be what it was. nil takes what the addresses name now.
	Manifest *shuffle.Manifest
	// ManifestDir is where manifests of earlier runs are kept by hash; see SaveManifest. It is read only to say how the data differs
	// when a state does not fit. "" does not say.
	ManifestDir string

	Events Events
}

// Events are called when something happens that a user may want to read, if set. They may be called by several goroutines at once.
type Events struct {
	IndexUnusable func(dir string, err error) // footers cannot be kept; said once
	FootersRead   func(n, of int)

	// Noted says what a user may want to know of the addresses: files that were left out of directories, or named twice. Each once.
	Noted func(text string)

	// OverEstimate says that blocks took more than a tenth more memory than the files' metadata foretold. Said once per stream.
	OverEstimate func(measured, estimated int64)

	// BatchChanged says that a state goes on with another global batch: the rows stay the same, the batches differ.
	BatchChanged func(from, to int64)
}

func (o Options) withDefaults() Options {
	if o.Tail == "" {
		o.Tail = shuffle.Drop
	}
	if o.Budget == nil {
		o.Budget = mem.NewBudget(mem.ThisMachine().SharedLimit())
	}
	if o.Pool == nil {
		o.Pool = &mem.Pool{}
	}
	return o
}

// Validate lists everything that is wrong.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.ShuffleBuffer.Rows >= 0, "shuffle_buffer: %d is not a number of rows", o.ShuffleBuffer.Rows)
	check(o.ShuffleBuffer.Bytes >= 0, "shuffle_buffer: %d is not a number of bytes", o.ShuffleBuffer.Bytes)
	check(o.Memory >= 0, "memory: %d is not a number of bytes", o.Memory)
	check(o.DefaultMemory >= 0, "default_memory: %d is not a number of bytes", o.DefaultMemory)
	check(o.StoreMemory >= 0, "store_memory: %d is not a number of bytes", o.StoreMemory)
	check(o.Fetchers >= 0 && o.Fetchers <= mostFetchers, "fetchers: %d is not 1 to %d", o.Fetchers, mostFetchers)
	check(o.UnitRows >= 0, "unit_rows: %d is not a number of rows", o.UnitRows)
	check(o.Start == "" || o.Start == shuffle.Filled || o.Start == shuffle.Direct, "start: %q is neither %q nor %q", o.Start,
		shuffle.Filled, shuffle.Direct)
	if o.Plan != nil {
		errs = append(errs, o.besidePlan()...)
	}
	if o.Tail != "" {
		if err := o.Tail.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := o.planOptions(1).Validate(); err != nil {
		errs = append(errs, err)
	}
	if err := o.rowgroupOptions().Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// besidePlan refuses what contradicts a saved plan.
func (o Options) besidePlan() (errs []error) {
	for _, pin := range []struct {
		name  string
		given bool
	}{
		{"shuffle_buffer", o.ShuffleBuffer != Size{}},
		{"lanes", o.Lanes != 0},
		{"unit_rows", o.UnitRows != 0},
		{"start", o.Start != ""},
		{"spread", o.Spread != 0},
		{"assign", o.Assign != ""},
		{"max_world_size", o.MaxWorldSize != 0},
		{"manifest", o.Manifest != nil},
	} {
		if pin.given {
			errs = append(errs, fmt.Errorf("%s: the plan says it; leave one of the two out", pin.name))
		}
	}
	if o.Shuffle != (o.Plan.Params != nil) {
		errs = append(errs, fmt.Errorf("shuffle: %t, and the plan was saved with %t", o.Shuffle, o.Plan.Params != nil))
	}
	return errs
}

// planOptions are what the user gave of the plan, without the buffer's size.
func (o Options) planOptions(worldSize int) shuffle.Options {
	return shuffle.Options{
		WorldSize: worldSize, MaxWorldSize: o.MaxWorldSize, Lanes: o.Lanes, Start: o.Start, Spread: o.Spread, Assign: o.Assign,
		Tail: o.Tail, UnitRows: o.UnitRows,
	}
}

func (o Options) rowgroupOptions() rowgroup.Options {
	return rowgroup.Options{
		Columns: o.Columns, Missing: o.Missing, IndexDir: o.IndexDir, Parallel: o.Parallel, InvalidUTF8: o.InvalidUTF8, Pool: o.Pool,
		Hot:    o.Hot,
		Events: rowgroup.Events{IndexUnusable: o.Events.IndexUnusable, FootersRead: o.Events.FootersRead},
	}
}
