package shuffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Stratified is the only Batching of a mixture: each batch has samples of all sources.
const Stratified = "stratified"

// MixState is what the state of a mixture has of its own.
type MixState struct {
	Batching string        `json:"batching"` // "stratified"
	Lanes    int           `json:"lanes"`    // L
	Tail     Tail          `json:"tail"`
	Weights  []Weights     `json:"weights"` // [[from, [weight, ..]], ..]
	Sources  []SourceState `json:"sources"` // in order
}

// SourceState is what a state says of a source of a mixture.
type SourceState struct {
	Name     string       `json:"name"`
	Rows     int64        `json:"rows"`     // samples of an epoch of the source
	Manifest string       `json:"manifest"` // as State.Manifest
	Units    string       `json:"units"`
	Rule     string       `json:"rule,omitempty"`
	Params   SourceParams `json:"params"`
}

// SourceParams are a source's [Params] without those of the mixture.
type SourceParams struct {
	Quantum  int64  `json:"quantum"`
	Life     int64  `json:"life"`
	Buffer   int64  `json:"buffer"`
	Start    Start  `json:"start"`
	Spread   int    `json:"spread"`
	Assign   Assign `json:"assign"`
	UnitRows int64  `json:"unit_rows"`
}

// Of a mixture of so many lanes.
func (p SourceParams) Of(lanes int) Params {
	return Params{
		Lanes: lanes, Quantum: p.Quantum, Life: p.Life, Buffer: p.Buffer, Start: p.Start, Spread: p.Spread, Assign: p.Assign,
		Tail: Carry, UnitRows: p.UnitRows,
	}
}

// MarshalJSON writes [from, [weight, ..]].
func (w Weights) MarshalJSON() ([]byte, error) { return json.Marshal([]any{w.From, w.Weights}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Weights) UnmarshalJSON(b []byte) error {
	var both []json.RawMessage
	if err := json.Unmarshal(b, &both); err != nil || len(both) != 2 {
		return refuse("weights", "must be [sample, [weight, ..]], got %s", b)
	}
	if json.Unmarshal(both[0], &w.From) != nil || json.Unmarshal(both[1], &w.Weights) != nil {
		return refuse("weights", "must be [sample, [weight, ..]], got %s", b)
	}
	return nil
}

// State of a mixture at a position, which is to be read with a tail.
func (m *Mixture) State(epoch uint64, position, globalBatch int64, tail Tail) State {
	s := State{
		Format: stateVersion, Plan: Mixed, Shuffle: true, Seed: m.seed, Epoch: epoch, Position: position, Rows: m.rows,
		GlobalBatch: globalBatch, MixState: &MixState{Batching: Stratified, Lanes: m.lanes, Tail: tail, Weights: m.weights},
	}
	for _, d := range m.sources {
		p := d.Plan.params
		s.Sources = append(s.Sources, SourceState{
			Name: d.Name, Rows: d.Plan.Rows(), Manifest: d.Plan.content, Units: d.Plan.unitsHash, Rule: d.Plan.manifest.Rule,
			Params: SourceParams{
				Quantum: p.Quantum, Life: p.Life, Buffer: p.Buffer, Start: p.Start, Spread: p.Spread, Assign: p.Assign, UnitRows: p.UnitRows,
			},
		})
	}
	return s
}

// KeptTail is the tail that the state was taken with; "" in file order, where any fits.
func (s State) KeptTail() Tail {
	switch {
	case s.Params != nil:
		return s.Params.Tail
	case s.MixState != nil:
		return s.Tail
	}
	return ""
}

// KeptLanes is the number of lanes; 0 in file order.
func (s State) KeptLanes() int {
	switch {
	case s.Params != nil:
		return s.Params.Lanes
	case s.MixState != nil:
		return s.Lanes
	}
	return 0
}

// validateMixed is Validate for the state of a mixture.
func (s State) validateMixed() error {
	errs := s.validatePlace()
	check := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, refuse(field, format, args...))
		}
	}
	if s.MixState == nil {
		return errors.Join(append(errs, refuse("sources", "are missing"))...)
	}
	check(s.Shuffle, "shuffle", "must be true with plan %q", Mixed)
	check(s.Manifest == "" && s.Units == "" && s.Rule == "" && s.Params == nil, "plan", "%q has manifest, units, rule and params for each source", Mixed)
	check(s.Batching == Stratified, "batching", "must be %q, got %q", Stratified, s.Batching)
	check(s.Lanes >= 1 && s.Lanes <= maxLanes, "lanes", "%d is not in 1..%d", s.Lanes, maxLanes)
	check(s.Rows >= 1 && s.Epoch < maxMixed/uint64(max(1, s.Rows)), "rows", "must be at least 1, and all epochs at most %d, got %d in epoch %d", int64(maxMixed), s.Rows, s.Epoch)
	errs = append(errs, s.Tail.Validate())
	check(len(s.Sources) >= 1 && len(s.Sources) <= maxSources, "sources", "must be 1 to %d, got %d", maxSources, len(s.Sources))
	errs = append(errs, checkChanges(s.Weights, len(s.Sources)))
	seen := map[string]bool{}
	for _, d := range s.Sources {
		check(d.Name != "" && !seen[d.Name], "sources", "must have a name each, got %q", d.Name)
		seen[d.Name] = true
		at := "sources." + d.Name + "."
		check(d.Rows >= 0, at+"rows", "%d is not a number of rows", d.Rows)
		check(isHex(d.Manifest, 64), at+"manifest", "%q is no hash of 64 hex digits", d.Manifest)
		check(isHex(d.Units, 16), at+"units", "%q is no hash of 16 hex digits", d.Units)
		check(d.Rule == "" || isHex(d.Rule, 16), at+"rule", "must be 16 hex digits, got %q", d.Rule)
		errs = append(errs, d.Params.Of(max(1, s.Lanes)).Validate())
	}
	return errors.Join(errs...)
}

// sourceNames are those of a state's sources.
func (s State) sourceNames() (names []string) {
	if s.MixState == nil {
		return nil
	}
	for _, d := range s.Sources {
		names = append(names, d.Name)
	}
	return names
}

// notMixed is the error of a mixture's state where one data set is read.
func (s State) notMixed() error {
	return &MismatchError{Field: "sources", Saved: fmt.Sprintf("%q", s.sourceNames()), Here: "none"}
}

// FitsMixture says whether the state continues this mixture; the error lists each field that
// differs. Seed, epoch, position, rows, weights and tail are the state's to say.
func (s State) FitsMixture(m *Mixture) error {
	var names []string
	for _, d := range m.sources {
		names = append(names, d.Name)
	}
	if s.Plan != Mixed || s.MixState == nil {
		return &MismatchError{Field: "sources", Saved: "none", Here: fmt.Sprintf("%q", names)}
	}
	if saved := s.sourceNames(); !slices.Equal(saved, names) {
		return &MismatchError{Field: "sources", Saved: fmt.Sprintf("%q", saved), Here: fmt.Sprintf("%q", names)}
	}
	var errs []error
	here := m.State(s.Epoch, s.Position, s.GlobalBatch, s.Tail)
	for i := range s.Sources {
		errs = append(errs, s.Sources[i].differ(here.Sources[i])...)
	}
	if s.Lanes != m.lanes {
		errs = append(errs, &MismatchError{Field: "lanes", Saved: strconv.Itoa(s.Lanes), Here: strconv.Itoa(m.lanes)})
	}
	return errors.Join(errs...)
}

// differ lists the fields in which a source differs from what it is here.
func (s SourceState) differ(here SourceState) (errs []error) {
	field := func(name string, saved, is any) {
		if a, b := fmt.Sprint(saved), fmt.Sprint(is); a != b {
			errs = append(errs, &MismatchError{Field: "sources." + s.Name + "." + name, Saved: orNone(a), Here: orNone(b)})
		}
	}
	field("rule", s.Rule, here.Rule) // before what follows from it
	field("rows", s.Rows, here.Rows)
	field("manifest", s.Manifest, here.Manifest)
	field("units", s.Units, here.Units)
	field("params", s.Params, here.Params)
	return errs
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
