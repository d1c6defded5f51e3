package main

import (
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A plan is the JSON output of plan.
type plan struct {
	*iterable.Plan
	Table      *snapshot.Table  `json:"table,omitempty"` // that the address names
	Counting   float64          `json:"count_seconds"`   // time to count the rows of the rule; 0 if nothing needed counting
	Packing    *packing         `json:"packing"`         // null if rows are not packed
	Order      string           `json:"plan"`
	Bound      map[string]int64 `json:"bound_bytes"` // by purpose
	BoundTotal int64            `json:"bound_total_bytes"`
	Quality    *quality         `json:"quality"` // null without shuffle
	Proposals  []string         `json:"proposals"`
	Kept       *keptPlan        `json:"kept_decoded"` // null if nothing is kept
	Job        *jobOfNodes      `json:"job"`          // null without --nodes
}

// A packing describes the blocks of an epoch, which are its samples.
type packing struct {
	*iterable.PackPlan
	Tokens      *int64   `json:"tokens"`      // null if unknown
	Counted     bool     `json:"counted"`     // tokens: exactly; else they are the footers' and about right
	Utilisation *float64 `json:"utilisation"` // from 0 to 1
}

// A quality is how well an order mixes sorted data, the worst case.
type quality struct {
	shuffle.Quality
	Meaning string `json:"meaning"`
}

// planObject makes the JSON output. counting is how long the rows of the rule took to count, in
// seconds.
func planObject(p *iterable.Plan, counting float64) *plan {
	o := &plan{
		Plan: p, Counting: counting, Order: shuffle.OrderOf(p.Shuffle, p.Sources != nil), Bound: map[string]int64{}, BoundTotal: p.Bound.Total(),
		Proposals: append([]string{}, p.ProposalsSpelled(option.Flag)...),
	}
	for purpose, bytes := range p.Bound {
		o.Bound[mem.Purpose(purpose).String()] = bytes
	}
	if packed := p.Packed; packed != nil {
		o.Packing = &packing{PackPlan: packed, Counted: packed.Counted}
		if packed.Tokens > 0 {
			o.Packing.Tokens = &packed.Tokens
		}
		if packed.Utilisation > 0 {
			o.Packing.Utilisation = &packed.Utilisation
		}
	}
	if p.Shuffle && p.Params != nil {
		o.Quality = &quality{p.Quality, mixingMeaning(p)}
	}
	return o
}
