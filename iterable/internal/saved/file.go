package saved

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// A File is the bytes of a SavedPlan:
// {"v":1,"hash":...,"order":...,"manifest":...,"units":...,"params":...,"rule":...,"counts":...}.
// The hash is SHA-256, in hex, over the name of the order if it is there, and the JSON of manifest,
// units and params as they are there, with a line feed after each; with a rule, over rule and
// counts too. Counts are a uvarint for each unit, in base64. The file of a mixture is
// {"v":1,"hash":...,"order":...,"mixture":{"batching":...,"sources":[{"name":...,"manifest":...,
// "units":...,"params":...,"rule":...,"counts":...,"tokens":...}]}}, and the hash is over the order
// and the JSON of the mixture.
type File struct {
	Version int    `json:"v"`
	Hash    string `json:"hash"`
	Order   string `json:"order,omitempty"`
	Part
	Mixture json.RawMessage `json:"mixture,omitempty"`
}

// A Part pins a data set, or a source of a mixture.
type Part struct {
	Manifest json.RawMessage `json:"manifest,omitempty"`
	Units    string          `json:"units,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Now      string          `json:"now,omitempty"`
	Counts   []byte          `json:"counts,omitempty"`
	Table    json.RawMessage `json:"table,omitempty"` // as table.Snapshot.Pin has it; rule names the snapshot
	Found    *found          `json:"found,omitempty"` // not of the hash: it does not change the order
}

func (f *File) sum() string {
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

// NewFile returns the file of an order, before its parts are added.
func NewFile(order string) *File { return &File{Version: 1, Order: order} }

// Write writes the plan, and the footers of its shards.
func (f *File) Write(path string, manifests []*rowgroup.Reader) error {
	f.Hash = f.sum()
	b, err := bundle(bundleMagic, f, manifests, math.MaxInt64)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe or a device
		return os.WriteFile(path, b, 0)
	}
	return WriteWhole(filepath.Clean(path), b)
}

// NewPart returns the part of shards that addresses name; params is nil in file order. t is nil
// without a table.
func NewPart(addresses []string, shards []shard.Shard, data *shuffle.Manifest, units string, params *shuffle.Params, t *table.Snapshot) (f Part, err error) {
	f.Units, f.Found = units, newFound(addresses, shards, data)
	f.Rule, f.Now = data.Rule, data.Now
	if t != nil {
		if f.Table, err = t.Pin(); err != nil {
			return f, err
		}
	}
	if f.Manifest, err = data.JSON(); err == nil && params != nil {
		f.Params, err = json.Marshal(params)
	}
	return f, err
}

// Count adds the samples of each unit, so that a run that is given them does not count.
func (f *Part) Count(units *shuffle.Units) {
	for _, u := range units.All() {
		f.Counts = binary.AppendUvarint(f.Counts, uint64(u.Samples))
	}
}

// saved reads the file.
func (f *File) saved() (*Plan, error) {
	if f.Version != 1 {
		return nil, fmt.Errorf("version %d is not known", f.Version)
	}
	if sum := f.sum(); sum != f.Hash {
		return nil, errors.New("it was changed: its hash does not fit")
	}
	p := &Plan{}
	var err error
	if f.Mixture != nil {
		p, err = parseMixture(f.Mixture)
	} else {
		*p, err = f.Part.saved()
	}
	if err != nil {
		return nil, err
	}
	p.Order, p.Hash = f.Order, f.Hash
	return p, nil
}

// saved reads the part.
func (f Part) saved() (p Plan, err error) {
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
	if f.Table != nil && p.Shards != nil {
		if p.Table, err = table.Unpin(f.Table, p.Shards); err != nil {
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
