package shardfeed

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
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

	Choice
	RowWeight string `json:"row_weight,omitempty"` // as Spec.Weight

	// Rename gives columns of the files other names; the rule uses the new ones.
	Rename map[string]string `json:"rename,omitempty"`
}

// ChoosesRows reports whether the source has a rule.
func (s Source) ChoosesRows() bool { return s.Choice.choosesRows() || s.RowWeight != "" }

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

// sources are those of the data set's options, without their rows files.
func (s Spec) sources() (all []iterable.Source) {
	for _, of := range s.Sources {
		all = append(all, iterable.Source{
			Name: of.Name, Addresses: of.Addresses, Weight: of.Weight, Repeat: of.Repeat, Choose: of.Choose, Choice: of.Choice.parsed(), RowWeight: of.RowWeight, Rename: of.Rename,
		})
	}
	return all
}

// readSourceRows reads the rows files of the sources.
func (s Spec) readSourceRows(o *iterable.Options) error {
	for i, of := range s.Sources {
		if err := of.readRows(&o.Sources[i].Choice); err != nil {
			return fmt.Errorf("source %q: %w", of.Name, err)
		}
	}
	return nil
}
