package iterable

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

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
func (d *mixture) planMixture(state shuffle.State) ([]byte, error) {
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

func (d *mixture) save(f *planFile, state shuffle.State) (err error) {
	f.Mixture, err = d.planMixture(state)
	return err
}
