package iterable

import (
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
)

// validatePlan refuses a plan that is incomplete, and options that contradict it.
func (o Options) validatePlan(p *option.List) {
	switch {
	case o.Plan.Sources == nil && len(o.Sources) > 0:
		p.Add("Plan", "is of one data set, and {Sources} are several; save one of these sources")
		return
	case o.Plan.Sources != nil && len(o.Sources) == 0:
		p.Add("Plan", "is of the sources %q, and there are none; give them as {Sources}", o.Plan.SourceNames())
		return
	case o.Plan.Sources != nil:
		o.validateMixturePlan(p)
	case o.Plan.Manifest == nil:
		p.Add("Plan", "has no manifest; take one of ReadPlan")
		return
	default:
		if err := o.Plan.Manifest.Validate(); err != nil {
			p.Add("Plan", "is not valid: %v", err)
		}
	}
	if made, other := o.Plan.OtherOrder(); other {
		p.Add("Plan", "was saved for the order %q by another version of shardfeed, and this one makes %q; save it anew with the version that all ranks run", o.Plan.Order, made)
	}
	if o.Plan.Params != nil {
		if err := o.Plan.Params.Validate(); err != nil {
			p.Add("Plan", "is not valid: %v", err)
		}
	}
	for _, pin := range []struct {
		field string
		given bool
	}{
		{"ShuffleBuffer", o.ShuffleBuffer != Size{}},
		{"Lanes", o.Lanes != 0},
		{"UnitRows", o.UnitRows != 0},
		{"Start", o.Start != ""},
		{"Spread", o.Spread != 0},
		{"Assign", o.Assign != ""},
		{"MaxWorldSize", o.MaxWorldSize != 0},
		{"Manifest", o.Manifest != nil},
	} {
		if pin.given {
			p.Add(pin.field, "is part of the {Plan}; leave one of the two out")
		}
	}
	if o.Shuffle != o.Plan.Shuffled() {
		p.Add("Shuffle", "is %t, but the {Plan} was saved with %t", o.Shuffle, o.Plan.Shuffled())
	}
}

// validateInventory refuses an inventory of other sources, and one beside a plan.
func (o Options) validateInventory(p *option.List) {
	names := []string{""}
	if len(o.Sources) > 0 {
		names = o.sourceNames()
	}
	switch {
	case o.Plan != nil:
		p.Add("Inventory", "is part of the {Plan}; leave one of the two out")
	case !slices.Equal(names, o.Inventory.Names()):
		p.Add("Inventory", "is of the sources %q, and there are %q; give all ranks the same {Sources}", o.Inventory.Names(), names)
	}
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
	if names, here := o.Plan.SourceNames(), o.sourceNames(); !slices.Equal(names, here) {
		p.Add("Sources", "must be those that the {Plan} was saved with, %q, got %q", names, here)
	}
	if b := o.batching(); o.Plan.Batching != b {
		p.Add("Batching", "must be %q as the {Plan} was saved with, got %q", o.Plan.Batching, b)
	}
}

// validateManifest refuses a list of other sources. The name of a single one does not matter.
func (o Options) validateManifest(p *option.List) {
	want, names := []string{""}, o.Manifest.Names()
	if len(o.Sources) > 0 {
		want = o.sourceNames()
	}
	switch {
	case len(names) == 1 && len(want) == 1:
	case len(o.Sources) == 0:
		p.Add("Manifest", "is of the sources %q, and there are none; give them as {Sources}", names)
	case slices.Equal(names, []string{""}) && len(o.Sources) > 0:
		p.Add("Manifest", "is of one data set, and {Sources} are several; save one of these sources")
	case !slices.Equal(names, want):
		p.Add("Manifest", "must be of the sources %q in this order, got %q", want, names)
	}
	for _, s := range o.Manifest.Sources {
		if err := s.Manifest.Validate(); err != nil {
			p.Add("Manifest", "is not valid: %v", err)
		}
	}
}
