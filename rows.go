package shardfeed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rule"
)

// readFile reads a file of values that the filters name.
func (s Spec) readFile(name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Directory, name)
	}
	return regular.ReadFile(name)
}

// ChoosesRows reports whether the data set has a rule.
func (s Spec) ChoosesRows() bool { return s.Choice.choosesRows() || s.Weight != "" }

func (c Choice) choosesRows() bool {
	return c.Filters != "" || len(c.Parts) > 0 || c.Subsample != 0 || c.Rows != ""
}

// parsed is the choice with an empty list in place of its rows file.
func (c Choice) parsed() iterable.Choice {
	o := iterable.Choice{
		Filters: c.Filters, RowsNew: rule.NewRows(c.RowsNew),
		Split: rule.Split{Parts: c.Parts, Part: c.Part, Subsample: c.Subsample, Key: c.PartKey, Seed: c.PartSeed},
	}
	if c.Rows != "" {
		o.Rows = &rule.RowList{}
	}
	return o
}

// readRows reads the rows file, if there is one.
func (c Choice) readRows(into *iterable.Choice) (err error) {
	if c.Rows == "" {
		return nil
	}
	into.Rows, err = readRowList(c.Rows)
	return err
}

// readRowList reads a rows file.
func readRowList(name string) (*rule.RowList, error) {
	content, err := regular.ReadFile(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("%s: %w; name a file of rows that select wrote", name, path.Err)
	}
	list, err := rule.ParseRowList(content)
	if wrong := (*rule.Error)(nil); errors.As(err, &wrong) {
		return nil, &OptionError{Field: wrong.Field, Text: option.Literal(name) + " " + wrong.Text, Err: err}
	}
	return list, err
}

// SaveRows writes a list of rows of the data set, for Rows of a spec. It lists the rows whose bits
// are set in the file bits: row i, in file order, is bit i%8 of byte i/8. save gets the list; one
// that is there already is replaced. The data set reads all rows that are not deleted.
func (d *Dataset) SaveRows(bits, save string) (rows int64, err error) {
	if len(d.spec.Sources) > 0 {
		return 0, &OptionError{Field: "Sources", Text: "have no list of rows in common; open one of the sources as a data set"}
	}
	chosen, err := regular.ReadFile(bits)
	if err != nil {
		return 0, err
	}
	live := d.Manifest().Live(d.Tables()[0])
	ofAll := d.Rule() == "" || d.List().EachRow || live != nil && !d.spec.ChoosesRows()
	if want := (d.NumSamples() + 7) / 8; !ofAll || int64(len(chosen)) != want {
		return 0, fmt.Errorf("%s has %d bytes for %d rows under rule %q, want %d and no rule", bits, len(chosen), d.NumSamples(), d.Rule(), want)
	}
	list, at := d.List(), int64(0)
	keep := func(group int, keep []uint64) error {
		for row := range list.Groups[group].Rows {
			if !live.Has(group, row) {
				continue
			}
			if chosen[at/8]>>(at%8)&1 == 1 {
				keep[row/64] |= 1 << (row % 64)
				rows++
			}
			at++
		}
		return nil
	}
	err = regular.Replace(save, func(to io.Writer) error { return rule.WriteRowList(to, list, keep) })
	return rows, err
}

// A Source is one of several data sets that are read together by weight. Its rule has the fields
// that a Spec has.
type Source struct {
	Name      string   `json:"name,omitempty"`
	Addresses []string `json:"addresses,omitempty"`

	Snapshot string `json:"snapshot,omitempty"` // as Spec.Snapshot

	// Weight is the share of the samples, in proportion to the weights of the others. Instead, all
	// sources may give the number of their samples in an epoch: Choose, or Repeat times all of
	// them, which is 1 by default.
	Weight float64 `json:"weight,omitempty"`
	Repeat float64 `json:"repeat,omitempty"`
	Choose int64   `json:"choose,omitempty"`

	Choice
	RowWeight string `json:"row_weight,omitempty"` // as Spec.Weight

	// Rename gives columns of the files other names; the rule uses the new ones.
	Rename map[string]string `json:"rename,omitempty"`

	OwnTokens
}

// ChoosesRows reports whether the source has a rule.
func (s Source) ChoosesRows() bool { return s.Choice.choosesRows() || s.RowWeight != "" }

// AllAddresses returns the addresses of the spec and of its sources.
func (s Spec) AllAddresses() []string {
	all := slices.Clone(s.Addresses)
	for _, of := range s.Sources {
		all = append(all, of.Addresses...)
	}
	return all
}

// validateAddresses checks what is read. What is wrong with a mixture package iterable finds.
func (s Spec) validateAddresses(p *option.List) {
	switch {
	case len(s.Addresses) == 0 && len(s.Sources) == 0:
		p.Add("Addresses", "must name at least one file, directory or pattern")
	case len(s.Addresses) > 0 && len(s.Sources) > 0:
		p.Add("Addresses", "must be none where there are {Sources}, which have their own, got %d", len(s.Addresses))
	}
	for i, a := range s.Addresses {
		if a == "" {
			p.Add(fmt.Sprintf("Addresses[%d]", i), "must not be empty")
		}
	}
	if noTable(s.Snapshot, s.Addresses) && len(s.Sources) == 0 {
		p.Add("Snapshot", "%s", onlyTables)
	}
	for _, of := range s.Sources {
		if noTable(of.Snapshot, of.Addresses) {
			p.Add(fmt.Sprintf("Sources[%q].snapshot", of.Name), "%s", onlyTables)
		}
	}
	if s.Manifest != "" && len(s.ManifestText) > 0 {
		p.Add("Manifest", "and its text are given; leave one of the two out")
	}
}

// sources returns the sources of the data set's options, with empty lists in place of rows files.
func (s Spec) sources() (all []iterable.Source) {
	for _, of := range s.Sources {
		all = append(all, iterable.Source{
			Name: of.Name, Addresses: of.Addresses, Weight: of.Weight, Repeat: of.Repeat, Choose: of.Choose, Choice: of.Choice.parsed(), RowWeight: of.RowWeight, Rename: of.Rename, Snapshot: of.Snapshot,
		})
	}
	return all
}

// readSourceRows reads the rows files of the sources.
func (s Spec) readSourceRows(o *iterable.Options) error {
	for i, of := range s.Sources {
		if err := of.readRows(&o.Sources[i].Choice); err != nil {
			return fmt.Errorf("source %q: %w", of.Name, err)
		}
	}
	return nil
}

// Pack makes blocks of one size of lists of tokens: a row of a batch is a block then. Other lists
// of equal lengths are packed alike; all other columns become lists of one value a document. See
// [iterable.Pack] and [loader.Packed].
type Pack struct {
	Columns  map[string]int `json:"columns"`            // lists, and the tokens of a block, which all share
	Strategy string         `json:"strategy,omitempty"` // "wrapped" (the default), "bfd" or "bfd_split"
	EOS      *int64         `json:"eos,omitempty"`      // written behind each document
	BOS      *int64         `json:"bos,omitempty"`      // written before it
	Value    *int64         `json:"value,omitempty"`    // fills the end of a block; 0 by default

	// The same three as the texts of tokens, of a column with a tokenizer.
	EOSText   string `json:"eos_text,omitempty"`
	BOSText   string `json:"bos_text,omitempty"`
	ValueText string `json:"value_text,omitempty"`

	FIM *FillInTheMiddle `json:"fim,omitempty"` // permutes documents; nil leaves them as they are

	Length string   `json:"length,omitempty"` // column with the lists' lengths, so that they need not be read to count blocks
	With   []string `json:"with,omitempty"`   // position_ids, doc_ids, seq_lengths, cu_seqlens, max_seqlen
	Labels string   `json:"labels,omitempty"` // "same" or "next" adds the column labels
}

func (p *Pack) options() *iterable.Pack {
	if p == nil {
		return nil
	}
	value := int64(0)
	if p.Value != nil {
		value = *p.Value
	}
	o := &iterable.Pack{
		Pack: rule.Pack{Columns: p.Columns, Strategy: rule.PackStrategy(p.Strategy), EOS: p.EOS, BOS: p.BOS, Length: p.Length}, Value: value,
	}
	if p.tokenText() == "" { // else findTokens sets it
		o.FIM, _ = p.FIM.options(func(t namedToken) (int64, error) { return t.ID, nil })
	}
	return o
}

// packed returns the loader's options; nil without a packing.
func (p *Pack) packed() loader.Packed {
	if p == nil {
		return loader.Packed{}
	}
	o := loader.Packed{With: p.With, Labels: loader.Labels(p.Labels)}
	if len(p.Columns) == 1 {
		for name := range p.Columns {
			o.Tokens = name
		}
	}
	return o
}

// validatePack checks what packages iterable and loader cannot: what does not go together.
func (s Spec) validatePack(l *option.List) {
	p := s.Pack
	if p == nil {
		return
	}
	for i, name := range p.With {
		if known := loader.PackedColumns(); !slices.Contains(known, name) || slices.Contains(p.With[:i], name) {
			l.Add("Pack", "with names columns of %v, each once, got %q", known, name)
		}
	}
	if p.Labels != "" && p.Labels != string(loader.LabelsSame) && p.Labels != string(loader.LabelsNext) {
		l.Add("Pack", "makes labels \"same\" or \"next\", got %q", p.Labels)
	}
	for _, pad := range s.Pad {
		if _, both := p.Columns[pad.Column]; both {
			l.Add(fmt.Sprintf("Pad[%q]", pad.Column), "contradicts {Pack} of the same column, whose blocks have one size; leave one of the two out")
		}
	}
	if s.Seeds && s.RowIDs {
		l.Add("Seeds", "does not go with {RowIDs} and {Pack} together: a block has ids of several rows; leave one of the three out")
	}
}

// Bucket makes batches of rows of about the same length: as many as a budget of tokens holds when
// all are padded to the longest. See [rule.Bucket].
type Bucket struct {
	Columns  map[string]int `json:"columns"`            // one column of lists or lengths, and the tokens of a batch at most
	Multiple int            `json:"multiple,omitempty"` // lengths are rounded up to a multiple of it; 0 is 1
	MaxRows  int            `json:"max_rows,omitempty"` // of a batch; 0 sets no bound
}

func (b *Bucket) options() *rule.Bucket {
	if b == nil {
		return nil
	}
	return &rule.Bucket{Columns: b.Columns, Multiple: b.Multiple, MaxRows: b.MaxRows}
}
