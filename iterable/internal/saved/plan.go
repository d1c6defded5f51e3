package saved

import (
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// A Plan pins the order of a run: the list of its shards, and the parameters that were chosen
// for it. Ranks, and later runs, that are given the same one read in the same order whatever was
// added to the data, whatever their memory and their world size are. The seed and the batch size
// are not of it.
type Plan struct {
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
	Table     *table.Snapshot // of the shards; nil without one

	// Of a mixture, which has all but Hash for each source.
	Batching shuffle.Batching
	Sources  []Source
}

// Instant returns the instant of the plan's filters; zero if they use no clock.
func (p *Plan) Instant() (now time.Time) {
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

// Shuffled reports whether the order is shuffled.
func (p *Plan) Shuffled() bool { return p.Params != nil || p.Sources != nil }

// OtherOrder returns the order that this version makes, and whether the plan has another one.
func (p *Plan) OtherOrder() (made string, other bool) {
	made = shuffle.OrderOf(p.Shuffled(), p.Sources != nil)
	return made, p.Order != "" && p.Order != made
}

// Listed of the plan; nil without one.
func (p *Plan) Listed() *shuffle.Manifest {
	if p == nil {
		return nil
	}
	return p.Manifest
}

// Known returns the footers of the plan's shards; nil if it has no footers.
func (p *Plan) Known() []rowgroup.Known {
	if p == nil {
		return nil
	}
	return p.Footers
}

// Snapshot returns the snapshot of a table to open where asked is asked for: the plan's own, which
// it must be.
func (p *Plan) Snapshot(asked string) (string, error) {
	if p == nil || p.Table == nil {
		return asked, nil
	}
	if asked != "" && asked != p.Table.Asked && asked != p.Table.Name {
		return "", option.NewError("Snapshot", fmt.Sprintf("must be %s, which the plan pins, got %s; leave it out, or make another plan",
			option.Literal(p.Table.Name), option.Literal(asked)))
	}
	return p.Table.Name, nil
}

// Fits reports whether the plan has the samples of these units.
func (p *Plan) Fits(units []shuffle.Unit, unitRows int64) bool {
	return p.Rule != "" && unitRows == PinnedRows(p.Params) && len(p.Counts) == len(units)
}

// A Source is the plan of a source of a mixture. Weights and the length of epochs
// are not of it.
type Source struct {
	Name string
	Plan
	Tokens int64 // of its samples in its epoch, if weights are in tokens; a run that is given them does not count
}

func (p *Plan) SourceNames() (names []string) {
	for _, s := range p.Sources {
		names = append(names, s.Name)
	}
	return names
}

// Of is the plan of one of several sources; nil without a plan.
func (p *Plan) Of(i int) *Plan {
	if p == nil {
		return nil
	}
	return &p.Sources[i].Plan
}

// AllTokens returns the tokens of the sources; nil if weights are in samples.
func (p *Plan) AllTokens() (all []int64) {
	for _, s := range p.Sources {
		if s.Tokens > 0 {
			all = append(all, s.Tokens)
		}
	}
	return all
}

// PinnedRows is how the units of a saved plan are cut.
func PinnedRows(params *shuffle.Params) int64 {
	if params == nil {
		return 0
	}
	return params.UnitRows
}
