package main

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

const defaultBatch = 256

// flags are all flags that more than one verb may take. Each verb registers the groups that mean
// something to it.
type flags struct {
	columns     []string
	strict      bool
	rowIDs      bool
	manifest    string
	missing     string
	partitions  castFlag
	invalidUTF8 string

	rowFlags
	sourceFlags
	packFlags
	featureFlags

	shuffle       bool
	shuffleBuffer bufferSize
	seed          uint64
	epoch         int
	lanes         int
	unitRows      int64
	start         string
	maxWorldSize  int
	resumed       bool                // a state says the order
	plan          string              // file
	pinned        *iterable.SavedPlan // what is in it

	batchSize int
	tail      string
	epochs    int

	onError string
	maxLost float64

	rank, worldSize int
	memory          byteSize
	look            bool // memory is the limit of a verb that looks at data
	limit           rowLimit
	json            bool
	device          deviceName

	storageFlags
	cacheFlags
}

func (f *flags) remote(fs *pflag.FlagSet) {
	f.storage(fs)
	f.cache(fs)
}

// ids registers the flag that adds where rows come from.
func (f *flags) ids(fs *pflag.FlagSet) {
	fs.BoolVar(&f.rowIDs, "row-ids", false, "add _row, the row's number in the list of shards, and source, the number of the address that found its shard")
}

// what registers the flags that say which columns of which shards to read.
func (f *flags) what(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.columns, "columns", nil, "read these columns only: names, dotted paths or patterns (num_*), with commas or repeated; the schema's order is kept")
	fs.BoolVar(&f.strict, "strict", false, "refuse a directory that holds *.md, *.json, *.txt or *.crc beside its parquet files (default: leave them out)")
	fs.StringVar(&f.manifest, "manifest", "", "use the list of shards in this `file`, kept by an earlier run, and ignore shards that were added since")
	f.reading(fs)
}

// reading registers the flags that say how to read columns, of verbs that deliver or choose rows.
func (f *flags) reading(fs *pflag.FlagSet) {
	fs.StringVar(&f.missing, "missing", "error", "columns that some shards lack: error or null")
	fs.Var(&f.partitions, "partition-types", "types of partition columns, as in month=int32,zip=string (default: what the values show)")
	fs.StringVar(&f.invalidUTF8, "invalid-utf8", "refuse", "strings that are not UTF-8: refuse, or replace by U+FFFD")
}

func (f *flags) order(fs *pflag.FlagSet) { group(fs, orderGroup, f.orderFlags) }

func (f *flags) orderFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&f.shuffle, "shuffle", false, "training order instead of file order")
	fs.Var(&f.shuffleBuffer, "shuffle-buffer", "rows that are mixed at once, over all ranks: a number of rows or bytes, or of each, as in 1GiB/rank or 8GiB/node (default: 1% of the data within 256MiB and 2GiB; less of data under 2GiB)")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the order")
	fs.IntVar(&f.epoch, "epoch", 0, "the first epoch, from 0; each has an order of its own")
	fs.IntVar(&f.lanes, "lanes", 0, "pin the plan's number of lanes (default: by the rule)")
	fs.Int64Var(&f.unitRows, "unit-rows", 0, "pin the rows of the units that are loaded and mixed as one; with a page index, no fewer than a page has (default: by the rule)")
	fs.StringVar(&f.start, "start", string(shuffle.Filled), "filled: mixed from the first batch on; direct: the first batch sooner")
	fs.StringVar(&f.plan, "plan", "", "pin shards and order to what plan --save wrote into this `file`, a path or an address such as s3://bucket/run.plan")
	fs.IntVar(&f.maxWorldSize, "max-world-size", 0, "the largest world size that the run will ever have (default: the world size)")
}

// steps registers the flags that say how rows become batches.
func (f *flags) steps(fs *pflag.FlagSet) {
	fs.IntVar(&f.batchSize, "batch-size", defaultBatch, "rows of a batch, per rank")
	fs.StringVar(&f.tail, "tail", "", "the rows at the end that do not fill a batch on every rank: drop, pad, short or carry (default: pad, or short at world size 1)")
}

// tailOrDefault is what becomes of the rows that fill no global batch; by default none is lost.
func (f *flags) tailOrDefault() shuffle.Tail {
	switch {
	case f.tail != "":
		return shuffle.Tail(f.tail)
	case f.worldSize <= 1:
		return shuffle.Short
	}
	return shuffle.Pad
}

// losses registers the flags that say what becomes of rows that cannot be read.
func (f *flags) losses(fs *pflag.FlagSet) {
	fs.StringVar(&f.onError, "on-error", "raise", "rows whose data is corrupt, gone or changed: raise, mask (other rows stand in their places, and do not count) or skip")
	fs.Float64Var(&f.maxLost, "max-lost", 0, "the share of an epoch's rows that may be lost under mask and skip, from 0 to 1; one place always may (default: 0.001)")
}

func (f *flags) manyEpochs(fs *pflag.FlagSet) {
	fs.IntVar(&f.epochs, "epochs", 1, "how many epochs")
}

func (f *flags) split(fs *pflag.FlagSet) {
	fs.IntVar(&f.rank, "rank", 0, "this rank, from 0")
	fs.IntVar(&f.worldSize, "world-size", 1, "number of ranks")
	fs.Var(&f.memory, "memory", "limit of a rank in bytes, as in 512MiB (default: a quarter of the machine's or cgroup's)")
}

// lookMemory is the default of --memory where rows are looked at.
const lookMemory = 2 << 30

// looks registers the limit of memory of a verb that looks at data. It replaces the help of a flag
// that is registered.
func (f *flags) looks(fs *pflag.FlagSet) {
	f.look = true
	const usage = "limit in bytes, as in 512MiB, of what is in memory (default: 2GiB, or a quarter of the machine's or cgroup's if that is less)"
	if flag := fs.Lookup("memory"); flag != nil {
		flag.Usage = usage
		return
	}
	fs.Var(&f.memory, "memory", usage)
}

// lookLimit is the limit of a verb that looks at data. It also bounds Go's own heap.
func (f *flags) lookLimit() int64 {
	if !f.look {
		return 0
	}
	limit := cmp.Or(int64(f.memory), min(lookMemory, mem.DefaultLimit()))
	debug.SetMemoryLimit(limit)
	return limit
}

// describesFooters keeps Go's heap small for a verb that describes footers, which are nearly all it
// keeps: the heap grows by half between collections.
func describesFooters() {
	if before := debug.SetGCPercent(50); before < 50 {
		debug.SetGCPercent(before)
	}
}

func (f *flags) rows(fs *pflag.FlagSet) {
	fs.Var(&f.limit, "limit", "stop after so many rows")
}

func (f *flags) object(fs *pflag.FlagSet) {
	fs.BoolVar(&f.json, "json", false, "print one JSON object and nothing else")
}

// needShuffle are the flags that have no effect in file order.
var needShuffle = [...]string{"shuffle-buffer", "seed", "lanes", "start", "max-world-size"}

// check checks the flags. Verbs that registered fewer flags have zeros in the others.
func (f *flags) check(ctx context.Context, fs *pflag.FlagSet) error {
	for _, name := range needShuffle {
		if fs.Lookup("shuffle") != nil && fs.Changed(name) && !f.shuffle && f.plan == "" && !f.resumed {
			return usagef("--%s has no effect without --shuffle: add it", name)
		}
	}
	if err := f.trimColumns(fs); err != nil {
		return err
	}
	if err := f.checkRows(fs); err != nil {
		return err
	}
	if err := f.checkPack(fs); err != nil {
		return err
	}
	if len(f.bucket) > 0 && !fs.Changed("batch-size") {
		f.batchSize = 1 // a sample is a batch
	}
	for _, n := range []struct {
		name         string
		value, least int64
	}{
		{"batch-size", int64(f.batchSize), 1},
		{"epoch", int64(f.epoch), 0},
		{"epochs", int64(f.epochs), 1},
		{"world-size", int64(f.worldSize), 1},
		{"max-world-size", int64(f.maxWorldSize), 1},
		{"rank", int64(f.rank), 0},
		{"lanes", int64(f.lanes), 1},
		{"unit-rows", f.unitRows, 1},
	} {
		if fs.Changed(n.name) && n.value < n.least {
			return usagef("--%s must be at least %d, got %d", n.name, n.least, n.value)
		}
	}
	switch {
	case f.rank > 0 && f.rank >= f.worldSize:
		return usagef("--rank must be below --world-size %d, got %d: ranks count from 0", f.worldSize, f.rank)
	case fs.Changed("max-world-size") && f.maxWorldSize < f.worldSize:
		return usagef("--max-world-size must be at least --world-size %d, got %d", f.worldSize, f.maxWorldSize)
	}
	if err := f.checkRemote(fs); err != nil {
		return err
	}
	if err := f.adoptPlan(ctx, fs.Changed); err != nil {
		return err
	}
	if f.epoch > lastEpoch || f.epochs-1 > lastEpoch-f.epoch {
		return usagef("--epoch and --epochs must end at epoch %d at the latest, got --epoch %d --epochs %d", lastEpoch, f.epoch, f.epochs)
	}
	if f.worldSize > option.MaxWorldSize {
		return usagef("--world-size must be at most %d, got %d", option.MaxWorldSize, f.worldSize)
	}
	return f.checkSpec()
}

// trimColumns allows spaces after commas, as in 'id, label'.
func (f *flags) trimColumns(fs *pflag.FlagSet) error {
	for i, column := range f.columns {
		f.columns[i] = strings.TrimSpace(column)
	}
	if fs.Changed("columns") && (len(f.columns) == 0 || slices.Contains(f.columns, "")) {
		return usagef("--columns must be names with commas between them, got %q", strings.Join(f.columns, ","))
	}
	return nil
}

// adoptPlan takes the order from the plan's file, and refuses flags that contradict it.
func (f *flags) adoptPlan(ctx context.Context, given func(flag string) bool) error {
	if f.plan == "" {
		return nil
	}
	for _, name := range [...]string{"shuffle-buffer", "lanes", "unit-rows", "start", "max-world-size", "manifest"} {
		if given(name) {
			return usagef("--%s is set by the plan in %s: leave one out", name, f.plan)
		}
	}
	var err error
	if f.pinned, err = f.spec(nil).ReadPlan(ctx); err != nil {
		return fileError(err)
	}
	f.start = ""
	if !f.pinned.Shuffled() && given("seed") {
		return usagef("--seed has no effect on the plan in %s, which was saved without --shuffle", f.plan)
	}
	switch shuffled := f.pinned.Shuffled(); {
	case f.shuffle && !shuffled:
		return usagef("--shuffle contradicts the plan in %s, which was saved without it", f.plan)
	case given("shuffle") && !f.shuffle && shuffled:
		return usagef("--shuffle=false contradicts the plan in %s, which was saved with --shuffle", f.plan)
	default:
		f.shuffle = shuffled
	}
	return nil
}

func (f *flags) checkRemote(fs *pflag.FlagSet) error {
	if err := f.checkStorage(fs); err != nil {
		return err
	}
	return f.checkCache(fs)
}

// lastEpoch is the last whose end has a state: states hold epochs up to 2^53 - 1.
const lastEpoch = 1<<53 - 2

// completeValues lets shells complete the flags that take one of a few words, or a directory.
func completeValues(c *cobra.Command) {
	for _, f := range [...]struct {
		name  string
		words []string
	}{
		{"tail", []string{"drop", "pad", "short", "carry"}},
		{"start", []string{"filled", "direct"}},
		{"missing", []string{"error", "null"}},
		{"invalid-utf8", []string{"refuse", "replace"}},
		{"stop", []string{"first", "all"}},
		{"batching", []string{"stratified", "per_source"}},
		{"weights-in", []string{"samples", "tokens"}},
		{"on-error", []string{"raise", "mask", "skip"}},
		{"rows-new", []string{"error", "keep", "drop"}},
		{"pack-strategy", []string{"wrapped", "bfd", "bfd_split"}},
		{"device", []string{"auto", "host", "cuda", "cuda:0"}},
		{"cache-policy", []string{"keep", "lru"}},
		{"request-payer", []string{"requester"}},
	} {
		if c.Flags().Lookup(f.name) != nil {
			// It fails for flags that do not exist, and this one does.
			_ = c.RegisterFlagCompletionFunc(f.name, cobra.FixedCompletions(f.words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	for _, name := range [...]string{"cache-dir", "hdfs-conf"} {
		if c.Flags().Lookup(name) != nil {
			_ = c.MarkFlagDirname(name)
		}
	}
}
