package shuffle

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
)

// stateVersion is the version of the state's JSON.
const stateVersion = 1

// maxStateBytes bounds the input of ParseState; it is far above the size of any state.
const maxStateBytes = 2 << 20

// maxEpoch is the largest epoch of a state: every reader of JSON keeps integers up to it.
const maxEpoch = 1<<53 - 1

// State is the progress of training: all that a resume needs beside the data. It is the same on
// every rank and worker.
type State struct {
	Format      int     `json:"v"`                  // 1
	Plan        string  `json:"plan"`               // "lane-tick/3", "sequential/1" without shuffle, or "mix/4" of several sources
	Shuffle     bool    `json:"shuffle"`            //
	Seed        uint64  `json:"seed"`               //
	Epoch       uint64  `json:"epoch"`              // from 0
	Position    int64   `json:"position"`           // samples of the epoch that training took, over all ranks
	Rows        int64   `json:"rows"`               // N, samples of an epoch
	GlobalBatch int64   `json:"global_batch"`       // samples per step over all ranks, when the state was taken
	Manifest    string  `json:"manifest,omitempty"` // Manifest.Content, 64 hex digits
	Units       string  `json:"units,omitempty"`    // Plan.UnitsHash, 16 hex digits; with shuffle
	Rule        string  `json:"rule,omitempty"`     // Manifest.Rule, 16 hex digits; with a rule
	Snapshot    string  `json:"snapshot,omitempty"` // Manifest.Snapshot; of a table
	Now         string  `json:"now,omitempty"`      // Manifest.Now, the latest of a mixture's sources
	Params      *Params `json:"params,omitempty"`   // with shuffle

	*MixState // of a mixture, in place of manifest, units, rule and params
}

// State of a plan at a position.
func (p *Plan) State(epoch uint64, position, globalBatch int64) State {
	params := p.params
	return State{
		Format: stateVersion, Plan: Version, Shuffle: true, Seed: p.seed, Epoch: epoch, Position: position, Rows: p.Rows(),
		GlobalBatch: globalBatch, Manifest: p.content, Units: p.unitsHash, Rule: p.manifest.Rule, Snapshot: p.manifest.Snapshot, Now: p.manifest.Now, Params: &params,
	}
}

// State returns the state of the order without shuffle at a position. The seed is kept for other
// random draws.
func (s *Sequence) State(seed, epoch uint64, position, globalBatch int64) State {
	return State{
		Format: stateVersion, Plan: Sequential, Seed: seed, Epoch: epoch, Position: position, Rows: s.Rows(),
		GlobalBatch: globalBatch, Manifest: s.content, Rule: s.rule, Snapshot: s.snapshot, Now: s.now,
	}
}

// JSON of the state: one line, under 1 KiB.
func (s State) JSON() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers, texts and booleans always marshal
	}
	return b
}

// ParseState reads a state and refuses unknown fields, other versions and values out of range.
func ParseState(data []byte) (State, error) {
	var s State
	if len(data) > maxStateBytes {
		return s, refuse("state", "%d bytes are more than %d", len(data), maxStateBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return State{}, notState(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return State{}, refuse("state", "more follows after it")
	}
	if err := s.Validate(); err != nil {
		return State{}, err
	}
	return s, nil
}

// notState names the field of the state whose JSON value has the wrong type.
func notState(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return refuse("state", "%v", err)
	}
	want := wrong.Type.String()
	switch wrong.Type.Kind() {
	case reflect.Uint64:
		want = "a whole number of at least 0"
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	}
	return refuse(wrong.Field, "must be %s, got %s", want, wrong.Value)
}

// Validate checks the state without its data and lists all problems.
func (s State) Validate() error {
	if s.Format != stateVersion {
		return refuse("v", "this state has version %d, and only version %d is known", s.Format, stateVersion)
	}
	if slices.Contains(earlier, s.Plan) {
		return refuse("plan", "%q is an order of earlier versions of shardfeed: finish the epoch with the version that saved the state, or start one without it", s.Plan)
	}
	if s.Plan == Mixed {
		return s.validateMixed()
	}
	errs := s.validatePlace()
	check := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, refuse(field, format, args...))
		}
	}
	want := Sequential
	if s.Shuffle {
		want = Version
		check(s.Params != nil, "params", "are missing")
	}
	check(!s.Shuffle && s.Units == "" || isHex(s.Units, 16), "units", "%q is no hash of 16 hex digits", s.Units)
	check(s.Rule == "" || isHex(s.Rule, 16), "rule", "must be 16 hex digits, got %q", s.Rule)
	check(len(s.Snapshot) <= maxSnapshot, "snapshot", "has %d bytes, and a name has at most %d", len(s.Snapshot), maxSnapshot)
	check(s.Plan == want, "plan", "%q is not known with shuffle %t, only %q", s.Plan, s.Shuffle, want)
	check(isHex(s.Manifest, 64), "manifest", "%q is no hash of 64 hex digits", s.Manifest)
	check(s.MixState == nil, "sources", "are of a mixture, and the plan is %q", s.Plan)
	if s.Shuffle && s.Params != nil {
		errs = append(errs, s.Params.Validate())
	}
	return errors.Join(errs...)
}

// validatePlace checks epoch, position and the sizes they refer to.
func (s State) validatePlace() (errs []error) {
	check := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, refuse(field, format, args...))
		}
	}
	check(s.Epoch <= maxEpoch, "epoch", "must be from 0 to %d, got %d", uint64(maxEpoch), s.Epoch)
	check(s.Rows >= 0, "rows", "%d is not a number of rows", s.Rows)
	check(s.Position >= 0 && s.Position <= s.Rows, "position", "%d is not in 0..%d", s.Position, s.Rows)
	check(isInstant(s.Now), "now", "must be an instant in UTC as in %q, got %q", instantForm, s.Now)
	check(s.GlobalBatch >= 1, "global_batch", "%d is under 1 row", s.GlobalBatch)
	return errs
}

// maxSnapshot is the most bytes of the name of a snapshot.
const maxSnapshot = 128

// instantForm is an instant as states have it.
const instantForm = "2024-01-31T16:30:00Z"

// isInstant reports whether s has the form of an instant in UTC, or is "".
func isInstant(s string) bool {
	if s == "" {
		return true
	}
	digits := []byte(s)
	for i, c := range digits {
		if c >= '0' && c <= '9' {
			digits[i] = '0'
		}
	}
	return string(digits) == "0000-00-00T00:00:00Z"
}

func isHex(s string, digits int) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == digits
}

// Fits returns nil if the state continues this plan, or an error that lists each field that
// differs. Seed, epoch and position are free.
func (s State) Fits(p *Plan) error {
	if s.Plan == Mixed {
		return s.notMixed()
	}
	if s.Params == nil {
		return refuse("params", "are missing")
	}
	m := s.fitsData(p.content, p.manifest.Rule, p.manifest.Snapshot, p.manifest.Now, p.Rows(), true)
	a, b := *s.Params, p.params
	num := func(n int64) string { return strconv.FormatInt(n, 10) }
	m.compare("seed", strconv.FormatUint(s.Seed, 10), strconv.FormatUint(p.seed, 10))
	m.compare("units", s.Units, p.unitsHash)
	m.compare("lanes", num(int64(a.Lanes)), num(int64(b.Lanes)))
	m.compare("quantum", num(a.Quantum), num(b.Quantum))
	m.compare("life", num(a.Life), num(b.Life))
	m.compare("buffer", num(a.Buffer), num(b.Buffer))
	m.compare("start", string(a.Start), string(b.Start))
	m.compare("spread", num(int64(a.Spread)), num(int64(b.Spread)))
	m.compare("assign", string(a.Assign), string(b.Assign))
	m.compare("tail", string(a.Tail), string(b.Tail))
	m.compare("unit_rows", num(a.UnitRows), num(b.UnitRows))
	return m.err()
}

// FitsSequence returns nil if the state continues this order without shuffle.
func (s State) FitsSequence(seq *Sequence) error {
	if s.Plan == Mixed {
		return s.notMixed()
	}
	m := s.fitsData(seq.content, seq.rule, seq.snapshot, seq.now, seq.Rows(), false)
	if !s.Shuffle && s.Units != "" {
		m.compare("units", s.Units, "none")
	}
	return m.err()
}

func (s State) fitsData(content, rule, snapshot, now string, rows int64, shuffled bool) (m mismatches) {
	m.compare("shuffle", strconv.FormatBool(s.Shuffle), strconv.FormatBool(shuffled))
	m.compare("snapshot", orNone(s.Snapshot), orNone(snapshot))
	m.compare("rule", orNone(s.Rule), orNone(rule)) // before what follows from it
	if s.Rule != rule {                             // else the filters are the same at both instants
		m.compare("now", orNone(s.Now), orNone(now))
	}
	m.compare("rows", strconv.FormatInt(s.Rows, 10), strconv.FormatInt(rows, 10))
	if s.Rule == rule { // else it follows from the rule
		m.compare("manifest", s.Manifest, content)
	}
	return m
}
