package shardfeed

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Source is one of several data sets that are read together by weight. Its rule has the fields
// that a Spec has.
type Source struct {
	Name      string   `json:"name,omitempty"`
	Addresses []string `json:"addresses,omitempty"`

	// Weight is the share of the samples, in proportion to the weights of the others. In its place
	// all sources may say how many of their samples an epoch has: Choose, or Repeat times all of
	// them, which is 1 by default.
	Weight float64 `json:"weight,omitempty"`
	Repeat float64 `json:"repeat,omitempty"`
	Choose int64   `json:"choose,omitempty"`

	Filters   string             `json:"filters,omitempty"`
	Parts     map[string]float64 `json:"parts,omitempty"`
	Part      string             `json:"part,omitempty"`
	PartKey   string             `json:"part_key,omitempty"`
	PartSeed  uint64             `json:"part_seed,omitempty"`
	Subsample float64            `json:"subsample,omitempty"`
	Rows      string             `json:"rows,omitempty"`
	RowsNew   string             `json:"rows_new,omitempty"`
	RowWeight string             `json:"row_weight,omitempty"` // as Spec.Weight

	// Rename gives columns of the files other names; the rule uses the new ones.
	Rename map[string]string `json:"rename,omitempty"`
}

// A WeightChange gives sources other weights from a sample on, which is counted over all epochs.
// Sources that it does not name keep theirs.
type WeightChange struct {
	From    int64              `json:"from"`
	Weights map[string]float64 `json:"weights"`
}

// ChoosesRows says that the source has a rule.
func (s Source) ChoosesRows() bool {
	return s.Filters != "" || len(s.Parts) > 0 || s.Subsample != 0 || s.Rows != "" || s.RowWeight != ""
}

// AllAddresses are those of the spec and of its sources.
func (s Spec) AllAddresses() []string {
	all := slices.Clone(s.Addresses)
	for _, of := range s.Sources {
		all = append(all, of.Addresses...)
	}
	return all
}

// validateAddresses checks what is read. What is wrong with a mixture package iterable finds.
func (s Spec) validateAddresses(p *option.List) {
	switch {
	case len(s.Addresses) == 0 && len(s.Sources) == 0:
		p.Add("Addresses", "must name at least one file, directory or pattern")
	case len(s.Addresses) > 0 && len(s.Sources) > 0:
		p.Add("Addresses", "must be none where there are {Sources}, which have their own, got %d", len(s.Addresses))
	}
	for i, a := range s.Addresses {
		if a == "" {
			p.Add(fmt.Sprintf("Addresses[%d]", i), "must not be empty")
		}
	}
	for _, of := range s.Sources {
		if of.Rows == "" && of.RowsNew != "" {
			p.Add(fmt.Sprintf("Sources[%q]", of.Name), "rows_new needs rows, got %q alone", of.RowsNew)
		}
	}
	if s.Rows != "" && len(s.Sources) > 0 {
		p.Add("Rows", "belongs into each of {Sources}")
	}
	if s.Manifest != "" && len(s.ManifestText) > 0 {
		p.Add("Manifest", "and its text are given; leave one of the two out")
	}
}

// mixture adds the sources to the data set's options.
func (s Spec) mixture(o *iterable.Options) {
	for _, of := range s.Sources {
		o.Sources = append(o.Sources, iterable.Source{
			Name: of.Name, Addresses: of.Addresses, Weight: of.Weight, Repeat: of.Repeat, Choose: of.Choose, Filters: of.Filters,
			Split:     rule.Split{Parts: of.Parts, Part: of.Part, Subsample: of.Subsample, Key: of.PartKey, Seed: of.PartSeed},
			RowWeight: of.RowWeight, Rename: of.Rename,
		})
	}
	o.Stop, o.EpochSize = shuffle.Stop(s.Stop), s.EpochSize
	o.Batching, o.WeightsIn, o.Tokens = shuffle.Batching(s.Batching), s.WeightsIn, s.Tokens
	for _, c := range s.Curriculum {
		o.Curriculum = append(o.Curriculum, iterable.WeightChange{From: c.From, Weights: c.Weights})
	}
}

// readSourceRows reads the rows files of the sources.
func (s Spec) readSourceRows(o *iterable.Options) error {
	for i, of := range s.Sources {
		if of.Rows == "" {
			continue
		}
		list, err := readRowList(of.Rows)
		if err != nil {
			return fmt.Errorf("source %q: %w", of.Name, err)
		}
		o.Sources[i].Rows, o.Sources[i].RowsNew = list, rule.NewRows(of.RowsNew)
	}
	return nil
}
