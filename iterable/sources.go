package iterable

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// A Source is one of several data sets that streams read together, by weight. Its rule has the same
// fields as Options.
type Source struct {
	Name      string // in states, plans and messages
	Addresses []string

	// Weight is the source's share of the samples, in proportion to the weights of the others. In
	// its place all sources may give the number of their samples in an epoch: Choose, or Repeat
	// times all of them, 1 by default.
	Weight float64
	Repeat float64
	Choose int64

	Choice
	filter    *rule.Expr        // of Filters, by Options.parse
	RowWeight string            // as Options.Weight
	Rename    map[string]string // columns of the files to the data set's
	Snapshot  string            // as Options.Snapshot

	// Tokenize replaces tokenizers of Options.Tokenize, of the same columns, for the texts of the
	// source. Pack is Options.Pack with tokens of these; nil leaves it.
	Tokenize map[string]Tokenizer
	Pack     *Pack

	table *table.Snapshot // of Addresses, when it is open
}

// mostSources bounds their number.
const mostSources = 1 << 12

// parseSources parses the filters of sources, and lists the problems of a mixture.
func (o Options) parseSources(p *option.List) {
	p.OneOf("Stop", string(o.Stop), string(shuffle.StopFirst), string(shuffle.StopAll))
	p.OneOf("Batching", string(o.Batching), string(shuffle.Stratified), string(shuffle.PerSource))
	p.OneOf("WeightsIn", o.WeightsIn, InSamples, InTokens)
	p.Within("EpochSize", o.EpochSize, option.MaxRows)
	if len(o.Sources) == 0 {
		o.validateNoSources(p)
		return
	}
	if len(o.Sources) > mostSources {
		p.Add("Sources", "must be at most %d, got %d", mostSources, len(o.Sources))
	}
	if !o.Shuffle {
		p.Add("Sources", "need {Shuffle}: in file order there is nothing to mix")
	}
	counts, seen := o.counted(), map[string]bool{}
	for i, s := range o.Sources {
		of := option.List{New: func(field, text string) error { // fields of the source are spelled as in JSON and Python
			return option.NewError(fmt.Sprintf("Sources[%q]", s.Name), option.Argument(field)+" "+text)
		}}
		var err error
		if s.Name == "" || seen[s.Name] {
			p.Add(fmt.Sprintf("Sources[%d].Name", i), "must be a name of its own, got %q", s.Name)
		}
		seen[s.Name] = true
		s.validateWeight(&of, counts)
		if len(s.Addresses) == 0 || slices.Contains(s.Addresses, "") {
			of.Add("Addresses", "must name at least one file, directory or pattern, and none may be empty")
		}
		for _, name := range slices.Sorted(maps.Keys(s.Rename)) {
			if name == "" || s.Rename[name] == "" {
				of.Add("Rename", "must give names of columns other names, got %q for %q", s.Rename[name], name)
			}
		}
		if o.Sources[i].filter, err = parseRule(s.options(o)); err != nil {
			of.Join(option.NewError(fmt.Sprintf("Sources[%q]", s.Name), err.Error()))
		}
		if err = errors.Join(transform.ValidateReplaced(o.Tokenize, s.Tokenize), o.Pack.ValidateTokens(s.Pack)); err != nil {
			of.Join(&SourceError{s.Name, err})
		}
		p.Join(of.Err())
	}
	o.validateEpoch(p, counts)
	o.validateTokens(p, counts)
	o.validateApart(p)
}

// parseRule returns the filter of a source, or all problems of its rule.
func parseRule(o Options) (filter *rule.Expr, err error) {
	p := option.List{New: option.NewError}
	filter = o.rule().Parse(&p)
	if err = p.Err(); err != nil {
		err = errors.New(option.Literal(option.Spelled(err, option.Argument)))
	}
	return filter, err
}

// counted reports whether sources have numbers of samples in place of weights.
func (o Options) counted() bool {
	return slices.ContainsFunc(o.Sources, func(s Source) bool { return s.Repeat != 0 || s.Choose != 0 })
}

func (s Source) validateWeight(p *option.List, counts bool) {
	switch {
	case counts && s.Weight != 0:
		p.Add("Weight", "contradicts repeat and choose, which say how many samples of each source an epoch has; leave out one kind")
	case !counts && !(s.Weight > 0 && !math.IsInf(s.Weight, 1)):
		p.Add("Weight", "must be a number above 0, got %v; leave the source out, or give it a weight later", s.Weight)
	case s.Repeat != 0 && s.Choose != 0:
		p.Add("Repeat", "contradicts choose; leave one of the two out")
	case !(s.Repeat >= 0 && !math.IsInf(s.Repeat, 1)):
		p.Add("Repeat", "must be a number above 0, got %v", s.Repeat)
	}
	p.Within("Choose", s.Choose, option.MaxRows)
}

// validateEpoch checks the length of an epoch, and the weights that come later.
func (o Options) validateEpoch(p *option.List, counts bool) {
	switch {
	case o.Stop != "" && o.EpochSize != 0:
		p.Add("Stop", "says how long an epoch is, and so does {EpochSize}; leave one of the two out")
	case o.Stop != "" && counts:
		p.Add("Stop", "says how long an epoch is, and so do repeat and choose of {Sources}; leave it out")
	}
	if len(o.Curriculum) == 0 {
		return
	}
	if o.EpochSize == 0 {
		p.Add("Curriculum", "needs {EpochSize}: epochs must be equally long while weights change")
	}
	if counts {
		p.Add("Curriculum", "changes weights, and {Sources} have repeat and choose in their place")
	}
	if len(o.Curriculum) > mostChanges {
		p.Add("Curriculum", "must be at most %d changes, got %d", mostChanges, len(o.Curriculum))
	}
	last, weights := int64(0), map[string]float64{}
	for _, s := range o.Sources {
		weights[s.Name] = s.Weight
	}
	for i, c := range o.Curriculum {
		field := fmt.Sprintf("Curriculum[%d]", i)
		if c.From <= last {
			p.Add(field, "must be from a sample after %d on, got %d", last, c.From)
		}
		last = c.From
		maps.Copy(weights, c.Weights)
		if err := o.checkNames(c.Weights); err != nil {
			p.Add(field, "%v", err)
		} else if most := slices.Max(slices.Collect(maps.Values(weights))); most == 0 && !counts {
			p.Add(field, "must leave one source a weight above 0")
		}
	}
}

const mostChanges = 63 // of weights, after the first ones

// checkNames returns an error if weights are of other sources.
func (o Options) checkNames(weights map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if !slices.ContainsFunc(o.Sources, func(s Source) bool { return s.Name == name }) {
			return fmt.Errorf("has a weight of %q, which is none of the sources %q", name, o.sourceNames())
		}
		if w := weights[name]; !(w >= 0) || math.IsInf(w, 1) {
			return fmt.Errorf("must have weights of at least 0, got %v for %q", w, name)
		}
	}
	if len(weights) == 0 {
		return errors.New("must give at least one source a weight")
	}
	return nil
}

func (o Options) sourceNames() (names []string) {
	for _, s := range o.Sources {
		names = append(names, s.Name)
	}
	return names
}

// validateApart refuses options of one data set, or of each source.
func (o Options) validateApart(p *option.List) {
	for _, c := range []struct {
		field string
		given bool
		text  string
	}{
		{"Filters", o.Filters != "", "is an option of each of {Sources}"},
		{"Parts", len(o.Split.Parts) > 0, "is an option of each of {Sources}"},
		{"Subsample", o.Split.Subsample != 0, "is an option of each of {Sources}"},
		{"Rows", o.Rows != nil, "is an option of each of {Sources}"},
		{"Snapshot", o.Snapshot != "", "is an option of each of {Sources}"},
		{"Weight", o.Weight != "", "says how often a row comes: give it as row_weight of each of {Sources}"},
	} {
		if c.given {
			p.Join(option.NewError(c.field, c.text))
		}
	}
}

func (o Options) validateNoSources(p *option.List) {
	for _, c := range []struct {
		field string
		given bool
	}{
		{"Stop", o.Stop != ""},
		{"EpochSize", o.EpochSize != 0},
		{"Curriculum", len(o.Curriculum) > 0},
		{"Batching", o.Batching != ""},
		{"WeightsIn", o.WeightsIn != ""},
		{"Tokens", o.Tokens != ""},
	} {
		if c.given {
			p.Add(c.field, "is of several {Sources}, and there are none; leave it out")
		}
	}
}

// options returns the data set's options with the rule of the source.
func (s Source) options(o Options) Options {
	o.Sources, o.Mixing = nil, Mixing{}
	o.Plan = nil // of all sources
	o.Choice, o.filter, o.Weight = s.Choice, s.filter, s.RowWeight
	o.Snapshot, o.table = s.Snapshot, s.table
	o.Tokenize, o.Pack = transform.Replaced(o.Tokenize, s.Tokenize), cmp.Or(s.Pack, o.Pack)
	return o
}

// A SourceError is the error of one of several sources.
type SourceError struct {
	Source string
	Err    error
}

func (e *SourceError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options as name spells them.
func (e *SourceError) Spelled(func(field string) string) string {
	return fmt.Sprintf("source %q: %s", e.Source, option.Spelled(e.Err, option.Argument)) // as in JSON and Python
}

func (e *SourceError) Unwrap() error { return e.Err }

// perSource reports whether each step is of one source.
func (o Options) perSource() bool { return o.Batching == shuffle.PerSource }

// batching is the option, or its default.
func (o Options) batching() shuffle.Batching {
	return cmp.Or(o.Batching, shuffle.Stratified)
}

// unit returns the unit of weights.
func (o Options) unit() string {
	return cmp.Or(o.WeightsIn, InSamples)
}
