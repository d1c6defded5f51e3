package iterable

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/shardfeed/shardfeed/shuffle"
)

// A planFile is the bytes of a SavedPlan:
// {"v":1,"hash":...,"order":...,"manifest":...,"units":...,"params":...,"rule":...,"counts":...}.
// The hash is SHA-256, in hex, over the name of the order if it is there, and the JSON of manifest,
// units and params as they stand there, with a line feed after each; with a rule, over rule and
// counts too. Counts are a uvarint for each unit, in base64. That of a mixture is
// {"v":1,"hash":...,"order":...,"mixture":{"batching":...,"sources":[{"name":...,"manifest":...,
// "units":...,"params":...,"rule":...,"counts":...,"tokens":...}]}}, and the hash is over the order
// and the JSON of the mixture.
type planFile struct {
	Version int    `json:"v"`
	Hash    string `json:"hash"`
	Order   string `json:"order,omitempty"`
	planPart
	Mixture json.RawMessage `json:"mixture,omitempty"`
}

// A planPart is what a plan has of a data set, or of a source of a mixture.
type planPart struct {
	Manifest json.RawMessage `json:"manifest,omitempty"`
	Units    string          `json:"units,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Now      string          `json:"now,omitempty"`
	Counts   []byte          `json:"counts,omitempty"`
	Found    *planFound      `json:"found,omitempty"` // not of the hash: it does not change the order
}

func (f *planFile) sum() string {
	h := sha256.New()
	if f.Order != "" {
		fmt.Fprintf(h, "order %s\n", f.Order) // a hash never fails
	}
	if f.Mixture != nil {
		fmt.Fprintf(h, "mixture\n%s\n", f.Mixture)
		return hex.EncodeToString(h.Sum(nil))
	}
	for _, text := range [][]byte{f.Manifest, []byte(f.Units), f.Params} {
		h.Write(text)
		h.Write([]byte("\n"))
	}
	if f.Rule != "" {
		fmt.Fprintf(h, "%s\n%x\n", f.Rule, f.Counts)
	}
	if f.Now != "" {
		fmt.Fprintf(h, "now %s\n", f.Now)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// SavePlan writes the plan of streams with these options, begun on so many ranks, and the footers
// of the shards.
func (d *Dataset) SavePlan(path string, worldSize int, o StreamOptions) error {
	state, err := d.Start(worldSize, o)
	if err != nil {
		return err
	}
	f := &planFile{Version: 1, Order: state.Plan}
	if err := d.blend.save(f, state); err != nil {
		return err
	}
	f.Hash = f.sum()
	b, err := d.bundle(bundleMagic, f, math.MaxInt64)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe or a device
		return os.WriteFile(path, b, 0)
	}
	return writeWhole(filepath.Clean(path), b)
}

// planPart is what a plan has of the source; params is nil in file order.
func (d *source) planPart(units string, params *shuffle.Params) (f planPart, err error) {
	f.Units, f.Found = units, newPlanFound(d.addresses, d.manifest.Shards(), d.data)
	if f.Manifest, err = d.data.JSON(); err != nil {
		return f, err
	}
	if params != nil {
		if f.Params, err = json.Marshal(params); err != nil {
			return f, err
		}
	}
	if d.rules != nil {
		c := cut{rows: pinnedRows(params)}
		if params == nil && d.options.UnitRows == 0 {
			c = d.fileCut()
		}
		err = d.addCountsOf(&f, c)
	}
	return f, err
}

// addCountsOf adds the rule and the samples of each unit to a plan, so that who is given it counts
// nothing.
func (d *source) addCountsOf(f *planPart, c cut) error {
	units, err := d.cutWithin(context.Background(), c)
	if err != nil {
		return err
	}
	f.Rule, f.Now = d.data.Rule, d.data.Now
	for _, u := range units.All() {
		f.Counts = binary.AppendUvarint(f.Counts, uint64(u.Samples))
	}
	return nil
}

// saved reads the file.
func (f *planFile) saved() (*SavedPlan, error) {
	if f.Version != 1 {
		return nil, fmt.Errorf("version %d is not known", f.Version)
	}
	if sum := f.sum(); sum != f.Hash {
		return nil, errors.New("it was changed: its hash does not fit")
	}
	p := &SavedPlan{}
	var err error
	if f.Mixture != nil {
		p, err = parsePlanMixture(f.Mixture)
	} else {
		*p, err = f.planPart.saved()
	}
	if err != nil {
		return nil, err
	}
	p.Order, p.Hash = f.Order, f.Hash
	return p, nil
}

// saved reads the part.
func (f planPart) saved() (p SavedPlan, err error) {
	p.Units, p.Rule, p.Now = f.Units, f.Rule, f.Now
	for rest := f.Counts; len(rest) > 0; {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > math.MaxInt32 {
			return p, errors.New("its counts are damaged")
		}
		p.Counts, rest = append(p.Counts, int64(n)), rest[used:]
	}
	if p.Manifest, err = shuffle.ParseManifest(f.Manifest); err != nil {
		return p, err
	}
	if f.Found != nil {
		p.Addresses = f.Found.Addresses
		if p.Shards, err = f.Found.shards(p.Manifest); err != nil {
			return p, err
		}
	}
	if f.Params == nil {
		return p, nil
	}
	p.Params = &shuffle.Params{}
	if err := json.Unmarshal(f.Params, p.Params); err != nil {
		return p, err
	}
	return p, p.Params.Validate()
}

// withTail is saved parameters with another tail, when that does not move rows.
func withTail(params shuffle.Params, tail shuffle.Tail) (shuffle.Params, error) {
	if params.Tail != tail && (params.Tail == shuffle.Carry || tail == shuffle.Carry) {
		return params, &shuffle.MismatchError{Field: "tail", Saved: string(params.Tail), Here: string(tail)}
	}
	params.Tail = tail
	return params, nil
}

// planned makes the shuffled order of the saved plan.
func (d *source) planned(tail shuffle.Tail) (*shuffle.Plan, error) {
	saved := d.options.Plan
	params, err := withTail(*saved.Params, tail)
	if err != nil {
		return nil, err
	}
	units, err := d.cut(params.UnitRows)
	if err != nil {
		return nil, err
	}
	p, err := d.newPlan(units, params, d.options.Seed)
	if err == nil && p.UnitsHash() != saved.Units {
		err = &shuffle.MismatchError{Field: "units", Saved: saved.Units, Here: p.UnitsHash()}
	}
	return p, err
}
