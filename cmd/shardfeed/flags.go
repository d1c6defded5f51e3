package main

import (
	"cmp"
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// flags holds the flags of a verb's command line. Each verb takes the sets of flags that apply to
// it.
type flags struct {
	shardfeed.Spec // without its addresses; at adds them

	epoch, epochs   int
	rank, worldSize int
	limit           rowLimit
	json            bool
	device          deviceName

	unsigned    bool      // read a public bucket without credentials
	moreStorage keyValues // options of stores without a flag

	resumed bool // a state says the order
	look    bool // Memory is the limit of a verb that looks at data
	inFiles bool // of a verb without an order
}

// at returns the spec of a data set at some addresses.
func (f *flags) at(addresses []string) shardfeed.Spec {
	s := f.Spec
	s.Addresses, s.Tail, s.LookMemory, s.Storage = addresses, f.tailOrDefault(), f.lookLimit(), f.stores()
	if s.Pack != nil && len(s.Pack.Columns) == 0 {
		s.Pack = nil
	}
	if s.Bucket != nil && len(s.Bucket.Columns) == 0 {
		s.Bucket = nil
	}
	if f.inFiles && len(s.Sources) > 0 {
		s.Shuffle = true // sources have no other order, and the verb needs no order
	}
	if !f.Shuffle {
		s.Start = ""
	}
	return s
}

// stores returns the options of stores. A flag wins over a key that says the same.
func (f *flags) stores() map[string]string {
	all := map[string]string{}
	maps.Copy(all, f.moreStorage)
	maps.Copy(all, f.Storage)
	if f.unsigned {
		all["no-sign-request"] = "true"
	}
	return all
}

// blockTokens is the number of tokens in a packed block, 0 without --pack.
func (f *flags) blockTokens() (tokens int64) {
	for _, n := range f.Pack.Columns {
		tokens = int64(n) // the same for all
	}
	return tokens
}

// tailOrDefault returns the treatment of the last rows, which do not fill a global batch. The
// default keeps all of them.
func (f *flags) tailOrDefault() shuffle.Tail {
	switch {
	case f.Tail != "":
		return f.Tail
	case f.worldSize <= 1:
		return shuffle.Short
	}
	return shuffle.Pad
}

// lookMemory is the default of --memory where rows are looked at.
const lookMemory = 2 << 30

// looks registers the limit of memory of a verb that looks at data. It replaces the help of a flag
// that is registered.
func (f *flags) looks(fs *pflag.FlagSet) {
	f.look = true
	if fs.Lookup("memory") == nil {
		f.add(fs, "rank.memory")
	}
	fs.Lookup("memory").Usage = "limit in bytes, as in 512MiB, of what is in memory (default: 2GiB, or a quarter of the machine's or cgroup's if that is less)"
}

// memoryLimit is --memory in bytes, or 0 without it.
func (f *flags) memoryLimit() int64 {
	if f.Memory == "" {
		return 0
	}
	return f.RankMemory()
}

// lookLimit is the limit of a verb that looks at data. It also bounds Go's own heap.
func (f *flags) lookLimit() int64 {
	if !f.look {
		return 0
	}
	limit := cmp.Or(f.memoryLimit(), min(lookMemory, mem.DefaultLimit()))
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

// needShuffle are the flags that have no effect in file order.
var needShuffle = [...]string{"shuffle-buffer", "seed", "lanes", "start", "max-world-size"}

// check checks the flags. Verbs that registered fewer flags have zeros in the others.
func (f *flags) check(ctx context.Context, fs *pflag.FlagSet) error {
	for _, name := range needShuffle {
		if fs.Lookup("shuffle") != nil && fs.Changed(name) && !f.Shuffle && f.Plan == "" && !f.resumed {
			return usagef("--%s has no effect without --shuffle: add it", name)
		}
	}
	if err := f.trimColumns(fs); err != nil {
		return err
	}
	if err := f.checkGiven(fs); err != nil {
		return err
	}
	if f.Bucket != nil && len(f.Bucket.Columns) > 0 && !fs.Changed("batch-size") {
		f.BatchSize = 1 // a sample is a batch
	}
	for _, n := range []struct {
		name         string
		value, least int64
	}{
		{"batch-size", int64(f.BatchSize), 1},
		{"epoch", int64(f.epoch), 0},
		{"epochs", int64(f.epochs), 1},
		{"world-size", int64(f.worldSize), 1},
		{"max-world-size", int64(f.MaxWorldSize), 1},
		{"rank", int64(f.rank), 0},
		{"lanes", int64(f.Lanes), 1},
		{"unit-rows", f.UnitRows, 1},
	} {
		if fs.Changed(n.name) && n.value < n.least {
			return usagef("--%s must be at least %d, got %d", n.name, n.least, n.value)
		}
	}
	switch {
	case f.rank > 0 && f.rank >= f.worldSize:
		return usagef("--rank must be below --world-size %d, got %d: ranks count from 0", f.worldSize, f.rank)
	case fs.Changed("max-world-size") && f.MaxWorldSize < f.worldSize:
		return usagef("--max-world-size must be at least --world-size %d, got %d", f.worldSize, f.MaxWorldSize)
	}
	if err := f.checkStorage(fs); err != nil {
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
	for i, column := range f.Columns {
		f.Columns[i] = strings.TrimSpace(column)
	}
	if fs.Changed("columns") && (len(f.Columns) == 0 || slices.Contains(f.Columns, "")) {
		return usagef("--columns must be names with commas between them, got %q", strings.Join(f.Columns, ","))
	}
	return nil
}

// adoptPlan takes the order from the plan's file, and refuses flags that contradict it.
func (f *flags) adoptPlan(ctx context.Context, given func(flag string) bool) error {
	if f.Plan == "" {
		return nil
	}
	for _, name := range [...]string{"shuffle-buffer", "lanes", "unit-rows", "start", "max-world-size", "manifest"} {
		if given(name) {
			return usagef("--%s is set by the plan in %s: leave one out", name, f.Plan)
		}
	}
	var err error
	if f.SavedPlan, err = f.at(nil).ReadPlan(ctx); err != nil {
		return regular.Error(err)
	}
	f.Start = ""
	if !f.SavedPlan.Shuffled() && given("seed") {
		return usagef("--seed has no effect on the plan in %s, which was saved without --shuffle", f.Plan)
	}
	switch shuffled := f.SavedPlan.Shuffled(); {
	case f.Shuffle && !shuffled:
		return usagef("--shuffle contradicts the plan in %s, which was saved without it", f.Plan)
	case given("shuffle") && !f.Shuffle && shuffled:
		return usagef("--shuffle=false contradicts the plan in %s, which was saved with --shuffle", f.Plan)
	default:
		f.Shuffle = shuffled
	}
	return nil
}

// lastEpoch is the last whose end has a state: states hold epochs up to 2^53 - 1.
const lastEpoch = 1<<53 - 2

// completeValues lets shells complete the flags that take one of a few words, or a directory.
func completeValues(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if words := f.Annotations[wordsKey]; words != nil {
			completeWords(c, f.Name, words)
		}
	})
	for _, name := range [...]string{"cache-dir", "hdfs-conf"} {
		if c.Flags().Lookup(name) != nil {
			_ = c.MarkFlagDirname(name)
		}
	}
}
