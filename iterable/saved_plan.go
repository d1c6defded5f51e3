package iterable

import (
	"time"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A SavedPlan pins the order of a run: the list of its shards, and the parameters that were chosen
// for it. Ranks, and later runs, that are given the same one read in the same order whatever was
// added to the data, whatever their memory and their world size are. The seed and the batch size
// are not of it.
type SavedPlan struct {
	Manifest *shuffle.Manifest
	Units    string          // hash of how the row groups are cut
	Params   *shuffle.Params // nil: file order
	Rule     string          // of the samples, as Dataset.Rule; "" without one
	Now      string          // that the filter takes today() and now() from, as Dataset.Now
	Counts   []int64         // samples of each unit, with a rule: a run that is given them does not count
	Order    string          // its name, as states have it; "" in plans of earlier versions
	Hash     string          // of all that

	// How the shards were found, and their footers, which a start over the same addresses does not
	// list and read again; nil where the file does not have them.
	Addresses []string
	Shards    []shard.Shard
	Footers   []rowgroup.Known

	// Of a mixture, which has all but Hash for each source.
	Batching shuffle.Batching
	Sources  []SavedSource
}

// now is the instant of the plan's filters; zero where they take none.
func (p *SavedPlan) now() (now time.Time) {
	if p == nil {
		return now
	}
	text := p.Now
	for i := range p.Sources {
		text = max(text, p.Sources[i].Now)
	}
	now, _ = time.Parse(time.RFC3339, text)
	return now
}

// Shuffled says that the plan is of a shuffled order.
func (p *SavedPlan) Shuffled() bool { return p.Params != nil || p.Sources != nil }

// otherOrder says which order this version makes, if it is not the one that the plan was saved for.
func (p *SavedPlan) otherOrder() (made string, other bool) {
	made = shuffle.OrderOf(p.Shuffled(), p.Sources != nil)
	return made, p.Order != "" && p.Order != made
}

// manifest of the plan; nil without one.
func (p *SavedPlan) manifest() *shuffle.Manifest {
	if p == nil {
		return nil
	}
	return p.Manifest
}

// footers of the plan's shards, nil where it has none.
func (p *SavedPlan) footers() []rowgroup.Known {
	if p == nil {
		return nil
	}
	return p.Footers
}

// fits says whether the plan has the samples of these units.
func (p *SavedPlan) fits(units []shuffle.Unit, unitRows int64) bool {
	return p.Rule != "" && unitRows == pinnedRows(p.Params) && len(p.Counts) == len(units)
}

// A SavedSource is what a SavedPlan has of a source of a mixture. Weights and the length of epochs
// are not of it.
type SavedSource struct {
	Name string
	SavedPlan
	Tokens int64 // of its samples in an epoch of it, where weights are in tokens; a run that is given them counts none
}

func (p *SavedPlan) sourceNames() (names []string) {
	for _, s := range p.Sources {
		names = append(names, s.Name)
	}
	return names
}

// pinned are the options of a source that a saved plan pins.
func (p *SavedPlan) pinned(source int, o Options) Options {
	of := &p.Sources[source].SavedPlan
	o.Plan, o.listed, o.UnitRows = of, of.Manifest, of.Params.UnitRows
	return o
}

// source is the plan of one of several sources; nil without a plan.
func (p *SavedPlan) source(i int) *SavedPlan {
	if p == nil {
		return nil
	}
	return &p.Sources[i].SavedPlan
}

// savedTokens are those of a saved plan; nil where weights are of samples.
func (p *SavedPlan) savedTokens() (all []int64) {
	for _, s := range p.Sources {
		if s.Tokens > 0 {
			all = append(all, s.Tokens)
		}
	}
	return all
}

// pinnedRows is how the units of a saved plan are cut.
func pinnedRows(params *shuffle.Params) int64 {
	if params == nil {
		return 0
	}
	return params.UnitRows
}
