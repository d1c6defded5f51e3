package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
)

// rowFlags say which rows of the shards are read.
type rowFlags struct {
	now       string // of a state, for today() in filters
	where     string
	parts     partWeights
	part      string
	partKey   string
	partSeed  uint64
	subsample float64
	rowsFile  string
	rowsNew   string
	weight    string
}

// choice registers the flags that choose rows.
func (f *rowFlags) choice(fs *pflag.FlagSet) {
	group(fs, rowsGroup, func(fs *pflag.FlagSet) {
		f.unweighted(fs)
		fs.StringVar(&f.weight, "weight", "", "`column` that says how often each row comes: 2.5 is twice or three times, drawn by the row")
	})
}

// unweighted registers those under which a row comes once or not at all.
func (f *rowFlags) unweighted(fs *pflag.FlagSet) {
	fs.StringVar(&f.where, "where", "", "read the rows for which this `filter` is true, as in 'score >= 0.5 and lang in (\"en\", \"de\") and not (id in @drop.txt)'")
	fs.Var(&f.parts, "parts", "divide all rows by weight, before the filter, as in train=9,val=1")
	fs.StringVar(&f.part, "part", "", "`name` of the part that is read")
	fs.StringVar(&f.partKey, "part-key", "", "`column` whose values decide, so that rows of one value are in one part (default: exact shares of rows)")
	fs.Uint64Var(&f.partSeed, "part-seed", 0, "seed that draws which rows are in which part")
	fs.Float64Var(&f.subsample, "subsample", 0, "read this share of the part's rows, as in 0.1")
	fs.StringVar(&f.rowsFile, "rows", "", "read the rows that this `file` lists, which select wrote")
	fs.StringVar(&f.rowsNew, "rows-new", "", "rows of shards that the file of --rows does not know: error, keep or drop (default: error)")
}

func (f *rowFlags) chosen(s *shardfeed.Spec) {
	s.Filters, s.Parts, s.Part, s.PartKey, s.PartSeed = f.where, f.parts, f.part, f.partKey, f.partSeed
	s.Now = f.now
	s.Subsample, s.Rows, s.RowsNew, s.Weight = f.subsample, f.rowsFile, f.rowsNew, f.weight
}

// checkRows refuses what a spec takes for a flag that was not given.
func (f *rowFlags) checkRows(fs *pflag.FlagSet) error {
	for _, name := range [...]string{"where", "part", "part-key", "rows", "rows-new", "weight"} {
		if fs.Changed(name) && strings.TrimSpace(fs.Lookup(name).Value.String()) == "" {
			return usagef("--%s must not be empty; leave it out to read all rows", name)
		}
	}
	if fs.Changed("subsample") && f.subsample == 0 {
		return usagef("--subsample must be from 0.000001 to 1, got 0")
	}
	return nil
}

// rows says that some flag chooses rows.
func (f *rowFlags) choosesRows() bool {
	return f.where != "" || len(f.parts) > 0 || f.subsample != 0 || f.rowsFile != "" || f.weight != ""
}

// partWeights is a flag that gives weights to names: train=9,val=1. It may be given many times.
type partWeights map[string]float64

func (w *partWeights) Set(s string) error {
	return setPairs((*map[string]float64)(w), s, "train=9,val=1", asNumber)
}

func (w *partWeights) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*w)) {
		all = append(all, name+"="+strconv.FormatFloat((*w)[name], 'g', -1, 64))
	}
	return strings.Join(all, ",")
}

func (w *partWeights) Type() string { return "name=weight,..." }
