package shuffle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// tokensUnit is the value of MixState.WeightsIn for weights of tokens.
const tokensUnit = "tokens"

// MixState is the part of [State] for mixtures.
type MixState struct {
	Batching  Batching      `json:"batching"`
	Lanes     int           `json:"lanes,omitempty"` // L; 0 under PerSource, where each source has its own
	Tail      Tail          `json:"tail"`
	WeightsIn string        `json:"weights_in,omitempty"` // "tokens"; "" is samples
	Weights   []Weights     `json:"weights"`              // [[from, [weight, ..]], ..], with a third value true if they were set
	Counts    []int64       `json:"counts,omitempty"`     // MixtureOptions.Counts
	Sources   []SourceState `json:"sources"`              // in order
}

// SourceState is the part of a state for one source of a mixture.
type SourceState struct {
	Name     string       `json:"name"`
	Rows     int64        `json:"rows"`     // samples of an epoch of the source
	Manifest string       `json:"manifest"` // as State.Manifest
	Units    string       `json:"units"`
	Rule     string       `json:"rule,omitempty"`
	Snapshot string       `json:"snapshot,omitempty"` // as State.Snapshot
	Tokens   int64        `json:"tokens,omitempty"`   // in an epoch of the source, if weights are of tokens
	Params   SourceParams `json:"params"`
}

// SourceParams are the [Params] that each source has for itself.
type SourceParams struct {
	Lanes    int    `json:"lanes,omitempty"` // under PerSource
	Quantum  int64  `json:"quantum"`
	Life     int64  `json:"life"`
	Buffer   int64  `json:"buffer"`
	Start    Start  `json:"start"`
	Spread   int    `json:"spread"`
	Assign   Assign `json:"assign"`
	UnitRows int64  `json:"unit_rows"`
}

// Of returns the complete parameters in a mixture; lanes applies if the source has no number of its
// own.
func (p SourceParams) Of(lanes int) Params {
	return Params{
		Lanes: cmp.Or(p.Lanes, lanes), Quantum: p.Quantum, Life: p.Life, Buffer: p.Buffer, Start: p.Start, Spread: p.Spread, Assign: p.Assign,
		Tail: Carry, UnitRows: p.UnitRows,
	}
}

// MarshalJSON writes [from, [weight, ..]], or [from, [weight, ..], true] if Set.
func (w Weights) MarshalJSON() ([]byte, error) {
	if w.Set {
		return json.Marshal([]any{w.From, w.Weights, true})
	}
	return json.Marshal([]any{w.From, w.Weights})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Weights) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	wrong := refuse("weights", "must be [sample, [weight, ..]], with true as a third value if they were set, got %s", b)
	if json.Unmarshal(b, &parts) != nil || len(parts) < 2 || len(parts) > 3 {
		return wrong
	}
	for i, to := range []any{&w.From, &w.Weights, &w.Set}[:len(parts)] {
		if json.Unmarshal(parts[i], to) != nil {
			return wrong
		}
	}
	return nil
}

// State returns the state of a mixture at a position; tail is the tail to read it with.
func (m *Mixture) State(epoch uint64, position, globalBatch int64, tail Tail) State {
	o := m.options
	s := State{
		Format: stateVersion, Plan: Mixed, Shuffle: true, Seed: o.Seed, Epoch: epoch, Position: position, Rows: o.Rows, GlobalBatch: globalBatch,
		MixState: &MixState{Batching: o.Batching, Lanes: m.lanes, Tail: tail, Weights: m.weights, Counts: o.Counts},
	}
	if o.Tokens != nil {
		s.WeightsIn = tokensUnit
	}
	for i, d := range m.sources {
		s.Sources = append(s.Sources, d.state(o.Batching))
		s.Now = max(s.Now, d.Plan.manifest.Now)
		if o.Tokens != nil {
			s.Sources[i].Tokens = o.Tokens[i]
		}
	}
	return s
}

func (d Source) state(b Batching) SourceState {
	p := d.Plan.params
	s := SourceState{
		Name: d.Name, Rows: d.Plan.Rows(), Manifest: d.Plan.content, Units: d.Plan.unitsHash, Rule: d.Plan.manifest.Rule, Snapshot: d.Plan.manifest.Snapshot,
		Params: SourceParams{
			Quantum: p.Quantum, Life: p.Life, Buffer: p.Buffer, Start: p.Start, Spread: p.Spread, Assign: p.Assign, UnitRows: p.UnitRows,
		},
	}
	if b == PerSource {
		s.Params.Lanes = p.Lanes
	}
	return s
}

// MixtureOptions returns the options of the mixture that was saved.
func (s State) MixtureOptions() MixtureOptions {
	o := MixtureOptions{Rows: s.Rows, Seed: s.Seed, Batching: s.Batching, Counts: s.Counts}
	if s.Batching == PerSource {
		o.GlobalBatch = s.GlobalBatch
	}
	if s.WeightsIn == tokensUnit {
		for _, d := range s.Sources {
			o.Tokens = append(o.Tokens, d.Tokens)
		}
	}
	return o
}

// Known returns the weights as known at the state's position: weights set at later samples are
// planned.
func (s State) Known() []Weights {
	known := make([]Weights, 0, len(s.Weights))
	at := s.at()
	for _, w := range s.Weights {
		if w.Set && w.From > at {
			w.Set = false
			if last := len(known) - 1; known[last].From == w.From {
				known = known[:last]
			}
		}
		known = append(known, w)
	}
	return known
}

// at returns the state's position counted over all epochs.
func (s State) at() int64 {
	return int64(min(capped(mulAddDiv(s.Epoch, uint64(s.Rows), 0, 1)), maxMixed)) + s.Position
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

// KeptParams returns the parameters of the plan, or of the plan of each source; nil in file order.
func (s State) KeptParams() (all []Params) {
	if s.Params != nil {
		return []Params{*s.Params}
	}
	if s.MixState != nil {
		for _, d := range s.Sources {
			all = append(all, d.Params.Of(s.Lanes))
		}
	}
	return all
}

// KeptBuffer is the shuffle buffer in samples, of all sources; 0 in file order.
func (s State) KeptBuffer() (samples int64) {
	for _, p := range s.KeptParams() {
		samples += p.Buffer
	}
	return samples
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
	check(s.Manifest == "" && s.Units == "" && s.Rule == "" && s.Snapshot == "" && s.Params == nil, "plan", "%q has manifest, units, rule, snapshot and params for each source", Mixed)
	check(s.Rows >= 1 && s.Epoch < maxMixed/uint64(max(1, s.Rows)), "rows", "must be at least 1, and all epochs at most %d, got %d in epoch %d", int64(maxMixed), s.Rows, s.Epoch)
	errs = append(errs, s.Tail.Validate())
	check(len(s.Sources) >= 1 && len(s.Sources) <= maxSources, "sources", "must be 1 to %d, got %d", maxSources, len(s.Sources))
	errs = append(errs, checkChanges(s.Weights, len(s.Sources)))
	check(s.WeightsIn == "" || s.WeightsIn == tokensUnit, "weights_in", "must be %q, got %q", tokensUnit, s.WeightsIn)
	s.validateBatching(check)
	errs = append(errs, s.MixtureOptions().checkCounts(len(s.Sources)))
	seen := map[string]bool{}
	for _, d := range s.Sources {
		check(d.Name != "" && !seen[d.Name], "sources", "must have a name each, got %q", d.Name)
		seen[d.Name] = true
		at := "sources." + d.Name + "."
		check(d.Rows >= 0, at+"rows", "%d is not a number of rows", d.Rows)
		check(isHex(d.Manifest, 64), at+"manifest", "%q is no hash of 64 hex digits", d.Manifest)
		check(isHex(d.Units, 16), at+"units", "%q is no hash of 16 hex digits", d.Units)
		check(d.Rule == "" || isHex(d.Rule, 16), at+"rule", "must be 16 hex digits, got %q", d.Rule)
		check(len(d.Snapshot) <= maxSnapshot, at+"snapshot", "has %d bytes, and a name has at most %d", len(d.Snapshot), maxSnapshot)
		check(d.Tokens >= 0 && (d.Tokens == 0 || s.WeightsIn == tokensUnit), at+"tokens", "are of weights in tokens, got %d", d.Tokens)
		errs = append(errs, d.Params.Of(max(1, s.Lanes)).Validate())
	}
	return errors.Join(errs...)
}

// validateBatching checks what depends on the batching: where the lanes are, and that steps are
// whole.
func (s State) validateBatching(check func(ok bool, field, format string, args ...any)) {
	lanes := func(n int, field string) { check(n >= 1 && n <= maxLanes, field, "%d is not in 1..%d", n, maxLanes) }
	switch s.Batching {
	case Stratified:
		lanes(s.Lanes, "lanes")
		for _, d := range s.Sources {
			check(d.Params.Lanes == 0, "sources."+d.Name+".params.lanes", "must be left out under batching %q, which has lanes of the mixture", Stratified)
		}
	case PerSource:
		check(s.Lanes == 0, "lanes", "must be left out under batching %q, which has lanes of each source", PerSource)
		for _, d := range s.Sources {
			lanes(d.Params.Lanes, "sources."+d.Name+".params.lanes")
		}
		g := max(1, s.GlobalBatch)
		check(s.Rows%g == 0 && s.Position%g == 0, "position", "and rows must make whole steps of %d under batching %q, got %d of %d", g, PerSource, s.Position, s.Rows)
	default:
		check(false, "batching", "must be %q or %q, got %q", Stratified, PerSource, s.Batching)
	}
}

// OnlySource names the source of a data set whose epochs have a size, a mixture of one.
const OnlySource = "data"

// EpochSize is the size of epochs that the state of one data set was taken with, or 0.
func (s State) EpochSize() int64 {
	if s.MixState == nil || len(s.Sources) != 1 || s.Sources[0].Name != OnlySource {
		return 0
	}
	return s.Rows
}

// sourceNames lists the names of a state's sources.
func (s State) sourceNames() (names []string) {
	if s.MixState == nil {
		return nil
	}
	for _, d := range s.Sources {
		names = append(names, d.Name)
	}
	return names
}

// notMixed returns the error for a mixture's state in a run of one data set.
func (s State) notMixed() error {
	if size := s.EpochSize(); size > 0 {
		return &MismatchError{Field: "epoch_size", Saved: strconv.FormatInt(size, 10), Here: "none"}
	}
	return &MismatchError{Field: "sources", Saved: fmt.Sprintf("%q", s.sourceNames()), Here: "none"}
}

// FitsMixture reports whether the state continues this mixture; the error lists each field that
// differs. The state decides seed, epoch, position, rows, weights with their unit, and tail.
func (s State) FitsMixture(m *Mixture) error {
	here := m.State(s.Epoch, s.Position, s.GlobalBatch, Drop)
	if err := s.fitsSources(here); err != nil {
		return err
	}
	var all mismatches
	otherRule := false
	for i := range s.Sources {
		s.Sources[i].compare(here.Sources[i], &all)
		otherRule = otherRule || s.Sources[i].Rule != here.Sources[i].Rule
	}
	if otherRule {
		all.compare("now", orNone(s.Now), orNone(here.Now))
	}
	all.compare("batching", string(s.Batching), string(here.Batching))
	if s.Batching == here.Batching {
		all.compare("lanes", strconv.Itoa(s.Lanes), strconv.Itoa(m.lanes))
	}
	return all.err()
}

// fitsSources compares the names of the sources.
func (s State) fitsSources(here State) error {
	saved, names := s.sourceNames(), here.sourceNames()
	switch {
	case slices.Equal(saved, names):
		return nil
	case saved == nil && here.EpochSize() > 0:
		return &MismatchError{Field: "epoch_size", Saved: "none", Here: strconv.FormatInt(here.EpochSize(), 10)}
	case saved == nil:
		return &MismatchError{Field: "sources", Saved: "none", Here: fmt.Sprintf("%q", names)}
	}
	return &MismatchError{Field: "sources", Saved: fmt.Sprintf("%q", saved), Here: fmt.Sprintf("%q", names)}
}

// compare adds the fields in which a saved source differs from the one here.
func (s SourceState) compare(here SourceState, to *mismatches) {
	field := func(name string, saved, is any) {
		to.compare("sources."+s.Name+"."+name, orNone(fmt.Sprint(saved)), orNone(fmt.Sprint(is)))
	}
	field("snapshot", s.Snapshot, here.Snapshot)
	field("rule", s.Rule, here.Rule) // before what follows from it
	field("rows", s.Rows, here.Rows)
	field("manifest", s.Manifest, here.Manifest)
	field("units", s.Units, here.Units)
	field("params", s.Params, here.Params)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
