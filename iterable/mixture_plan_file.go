package iterable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A SavedSource is what a SavedPlan has of a source of a mixture. Weights and the length of epochs
// are not of it.
type SavedSource struct {
	Name string
	SavedPlan
	Tokens int64 // of its samples in an epoch of it, where weights are in tokens; a run that is given them counts none
}

// A planMixture is the JSON of a plan's mixture.
type planMixture struct {
	Batching shuffle.Batching    `json:"batching"`
	Sources  []planMixtureSource `json:"sources"`
}

type planMixtureSource struct {
	Name string `json:"name"`
	planPart
	Tokens int64 `json:"tokens,omitempty"`
}

// planMixture is the JSON of the plan that a state of the mixture has.
func (d *Dataset) planMixture(state shuffle.State) ([]byte, error) {
	m := planMixture{Batching: state.Batching}
	for i, s := range d.sources {
		of := state.Sources[i]
		params := of.Params.Of(state.Lanes)
		part, err := s.planPart(of.Units, &params)
		if err != nil {
			return nil, err
		}
		m.Sources = append(m.Sources, planMixtureSource{of.Name, part, of.Tokens})
	}
	return json.Marshal(m)
}

func parsePlanMixture(b []byte) (*SavedPlan, error) {
	var m planMixture
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	if len(m.Sources) == 0 || m.Batching != shuffle.Stratified && m.Batching != shuffle.PerSource {
		return nil, fmt.Errorf("it has %d sources in batches %q", len(m.Sources), m.Batching)
	}
	p := &SavedPlan{Batching: m.Batching}
	for _, s := range m.Sources {
		part, err := s.saved()
		if err == nil && part.Params == nil {
			err = errors.New("it has no params")
		}
		if err != nil {
			return nil, fmt.Errorf("source %q: %w", s.Name, err)
		}
		p.Sources = append(p.Sources, SavedSource{s.Name, part, s.Tokens})
	}
	return p, nil
}

// validateMixturePlan refuses a plan of other sources than these.
func (o Options) validateMixturePlan(p *option.List) {
	for _, s := range o.Plan.Sources {
		if s.Manifest == nil || s.Params == nil {
			p.Add("Plan", "has no manifest or params of source %q; take one of ReadPlan", s.Name)
			continue
		}
		if err := s.Manifest.Validate(); err != nil {
			p.Add("Plan", "is not valid: source %q: %v", s.Name, err)
		}
		if (s.Tokens > 0) != (o.WeightsIn == InTokens) {
			p.Add("WeightsIn", "must be as the {Plan} was saved with: source %q has %d tokens there, and weights are in %s", s.Name, s.Tokens, o.unit())
			break
		}
	}
	if names, here := o.Plan.sourceNames(), o.sourceNames(); !slices.Equal(names, here) {
		p.Add("Sources", "must be those that the {Plan} was saved with, %q, got %q", names, here)
	}
	if b := o.batching(); o.Plan.Batching != b {
		p.Add("Batching", "must be %q as the {Plan} was saved with, got %q", o.Plan.Batching, b)
	}
}

func (p *SavedPlan) sourceNames() (names []string) {
	for _, s := range p.Sources {
		names = append(names, s.Name)
	}
	return names
}

// batching is the option, or its default.
func (o Options) batching() shuffle.Batching {
	return cmp.Or(o.Batching, shuffle.Stratified)
}

// unit is what weights are in.
func (o Options) unit() string {
	return cmp.Or(o.WeightsIn, InSamples)
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

// savedMix puts the plans of the saved plan together.
func (d *Dataset) savedMix(o shuffle.MixtureOptions) (*shuffle.Mixture, error) {
	params := make([]shuffle.Params, len(d.sources))
	for i, s := range d.sources {
		params[i] = *s.options.Plan.Params
	}
	m, err := d.mixtureAs(params, d.weights, o)
	if err != nil {
		return nil, err
	}
	for i, s := range m.Sources() {
		if saved := d.sources[i].options.Plan.Units; s.Plan.UnitsHash() != saved {
			return nil, &SourceError{s.Name, &shuffle.MismatchError{Field: "units", Saved: saved, Here: s.Plan.UnitsHash()}}
		}
	}
	return m, nil
}
