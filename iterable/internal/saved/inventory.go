package saved

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// An Inventory passes on what a node found when it opened a data set: the shards, their footers,
// and under a rule the samples of each unit. Another node that opens with it lists nothing, reads
// no footers and counts nothing. Unlike a SavedPlan it pins nothing of the order: both nodes read
// what they would read if each opened for itself. It holds no credentials.
type Inventory struct {
	sources  []Source // without parameters; a plain data set is one source without a name
	unitRows []int64  // by which the units of each were cut
}

// An InventoryError says why an inventory cannot be made, does not fit, or is damaged.
type InventoryError struct {
	Text    string
	Damaged bool
}

func (e *InventoryError) Error() string { return e.Text }

// ErrLargeInventory reports that an inventory would have more bytes than allowed.
var ErrLargeInventory = errors.New("the inventory is too large")

// An inventoryFile is the JSON of an Inventory. Its file has the format of a plan file, with
// another magic.
type inventoryFile struct {
	Version int               `json:"v"`
	Sources []inventorySource `json:"sources"`
}

type inventorySource struct {
	Name string `json:"name,omitempty"`
	Part
	UnitRows int64 `json:"unit_rows,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
}

const inventoryMagic = "sfinven\n"

// An InventoryWriter makes the bytes of an inventory.
type InventoryWriter struct {
	file      inventoryFile
	manifests []*rowgroup.Reader
}

// AddSource adds a source, whose units were cut by unitRows. units have its samples; nil without a
// rule. Data that cannot be handed on is an InventoryError.
func (w *InventoryWriter) AddSource(name string, addresses []string, m *rowgroup.Reader, data *shuffle.Manifest, units *shuffle.Units, unitRows, tokens int64, t *table.Snapshot) error {
	secret := slices.ContainsFunc(addresses, holdsSecret) ||
		slices.ContainsFunc(m.Shards(), func(s shard.Shard) bool { return holdsSecret(s.URI) })
	if secret {
		return &InventoryError{Text: "an address holds credentials, which are not handed on"}
	}
	part, err := NewPart(addresses, m.Shards(), data, "", nil, t)
	if part.Found == nil {
		return &InventoryError{Text: "the shards have no versions, or names that are not UTF-8"}
	}
	if err != nil {
		return err
	}
	if units != nil {
		part.Count(units)
	}
	w.file.Sources = append(w.file.Sources, inventorySource{Name: name, Part: part, UnitRows: unitRows, Tokens: tokens})
	w.manifests = append(w.manifests, m)
	return nil
}

// Bytes returns the inventory, or ErrLargeInventory if it has more than most bytes.
func (w *InventoryWriter) Bytes(most int64) ([]byte, error) {
	w.file.Version = 1
	b, err := bundle(inventoryMagic, w.file, w.manifests, most)
	if errors.Is(err, errLarge) {
		return nil, ErrLargeInventory
	}
	return b, err
}

func holdsSecret(address string) bool { return shard.Redact(address) != address }

// ParseInventory reads the bytes of an inventory. What is damaged is an InventoryError.
func ParseInventory(b []byte) (*Inventory, error) {
	v := &Inventory{}
	err := errors.New("it begins like another kind of file")
	if bytes.HasPrefix(b, []byte(inventoryMagic)) {
		_, err = readBundle(context.Background(), bytesObject(b), int64(len(b)), b, v.parse)
	}
	switch {
	case errors.Is(err, errCut):
		err = fmt.Errorf("it was cut short at %d bytes", len(b))
	case errors.Is(err, errDamaged):
		err = errors.New("a checksum does not fit")
	}
	if err != nil {
		return nil, &InventoryError{Text: fmt.Sprintf("what the first node found is damaged: %v; start the job again", err), Damaged: true}
	}
	return v, nil
}

// parse reads the JSON. The footers are given to what it returns.
func (v *Inventory) parse(text []byte) (*Plan, error) {
	var f inventoryFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if f.Version != 1 || len(f.Sources) == 0 {
		return nil, fmt.Errorf("version %d with %d sources is not known", f.Version, len(f.Sources))
	}
	p := &Plan{}
	for _, s := range f.Sources {
		part, err := s.saved()
		if err == nil && part.Shards == nil {
			err = errors.New("it has no shards")
		}
		if err == nil {
			err = part.Manifest.Validate()
		}
		if err != nil {
			return nil, err
		}
		p.Sources = append(p.Sources, Source{s.Name, part, s.Tokens})
		v.unitRows = append(v.unitRows, s.UnitRows)
	}
	v.sources = p.Sources // whose elements get the footers
	return p, nil
}

// Of is the inventory of one of the sources; nil without one.
func (v *Inventory) Of(source int) *Inventory {
	if v == nil {
		return nil
	}
	return &Inventory{sources: v.sources[source : source+1], unitRows: v.unitRows[source : source+1]}
}

// Plan is the first source as a plan has it; nil without one.
func (v *Inventory) Plan() *Plan {
	if v == nil {
		return nil
	}
	return &v.sources[0].Plan
}

// Counts returns the samples of units that were cut in this way, under this rule; nil if unknown.
func (v *Inventory) Counts(rule string, units int, unitRows int64) []int64 {
	if v == nil || v.sources[0].Rule != rule || v.unitRows[0] != unitRows || len(v.sources[0].Counts) != units {
		return nil
	}
	return v.sources[0].Counts
}

// Tokens returns the tokens of the sources' samples; nil if some are unknown.
func (v *Inventory) Tokens(rules []string) (all []int64) {
	if v == nil {
		return nil
	}
	for i, s := range v.sources {
		if s.Tokens == 0 || s.Rule != rules[i] {
			return nil
		}
		all = append(all, s.Tokens)
	}
	return all
}

// Names of the sources.
func (v *Inventory) Names() (all []string) {
	for _, s := range v.sources {
		all = append(all, s.Name)
	}
	return all
}

// Fits refuses an inventory of other addresses than the source's.
func (v *Inventory) Fits(addresses []string) error {
	if v == nil || v.Plan().Found(addresses) != nil {
		return nil
	}
	return &InventoryError{Text: fmt.Sprintf("the first node opened %s, and this one opens %s: give all ranks the same addresses",
		shownAddresses(v.sources[0].Addresses), shownAddresses(addresses))}
}

// mostShown is how many addresses an error names.
const mostShown = 4

func shownAddresses(addresses []string) string {
	var shown []string
	for _, a := range addresses[:min(len(addresses), mostShown)] {
		shown = append(shown, shard.Redact(a))
	}
	text := strings.Join(shown, ", ")
	if more := len(addresses) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
