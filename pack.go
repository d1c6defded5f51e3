package shardfeed

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rule"
)

// Pack makes blocks of one size of lists of tokens: a row of a batch is a block then. Other lists
// of equal lengths are packed alike; all other columns become lists of one value a document. See [iterable.Pack] and [loader.Packed].
type Pack struct {
	Columns  map[string]int `json:"columns"`            // lists, and the tokens of a block, which all share
	Strategy string         `json:"strategy,omitempty"` // "wrapped" (the default), "bfd" or "bfd_split"
	EOS      *int64         `json:"eos,omitempty"`      // written behind each document
	BOS      *int64         `json:"bos,omitempty"`      // written before it
	Value    int64          `json:"value,omitempty"`    // stands behind the last document of a block
	Length   string         `json:"length,omitempty"`   // column with the lists' lengths, so that they need not be read to count blocks
	With     []string       `json:"with,omitempty"`     // position_ids, doc_ids, seq_lengths, cu_seqlens, max_seqlen
	Labels   string         `json:"labels,omitempty"`   // "same" or "next" adds the column labels
}

func (p *Pack) options() *iterable.Pack {
	if p == nil {
		return nil
	}
	return &iterable.Pack{
		Pack: rule.Pack{Columns: p.Columns, Strategy: rule.PackStrategy(p.Strategy), EOS: p.EOS, BOS: p.BOS, Length: p.Length}, Value: p.Value,
	}
}

// packed are the loader's options; nil is none.
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
