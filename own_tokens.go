package shardfeed

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
)

// OwnTokens are the tokenizers and tokens of one source of a mixture. The zero value takes the
// Spec's.
type OwnTokens struct {
	// Tokenize replaces tokenizers of Spec.Tokenize, by column, for the texts of the source. Each
	// joins the columns of the tokenizer in whose place it is.
	Tokenize map[string]Tokenizer `json:"tokenize,omitempty"`

	// EOS, BOS and Value replace the tokens that Spec.Pack writes. The tokens that Pack names by
	// their texts are found in the source's own tokenizer otherwise.
	EOS   *Token `json:"eos,omitempty"`
	BOS   *Token `json:"bos,omitempty"`
	Value *Token `json:"value,omitempty"`
}

// Only returns the tokenizer of one column, without tokens of a packing.
func (of OwnTokens) Only(column string) OwnTokens {
	t, ok := of.Tokenize[column]
	if !ok {
		return OwnTokens{}
	}
	return OwnTokens{Tokenize: map[string]Tokenizer{column: t}}
}

// packs returns the column of a packing for which the source has a tokenizer, or "".
func (of OwnTokens) packs(p *Pack) string {
	if p == nil {
		return ""
	}
	for _, name := range sortedKeys(of.Tokenize) {
		if p.Columns[name] != 0 {
			return name
		}
	}
	return ""
}

// validateOwnTokens checks the tokens of sources.
func (s Spec) validateOwnTokens(l *option.List) {
	for _, of := range s.Sources {
		field := fmt.Sprintf("Sources[%q]", of.Name)
		for _, name := range sortedKeys(of.Tokenize) {
			if _, ok := s.Tokenize[name]; !ok {
				l.Add(field, "has a tokenizer of column %q in place of that of all sources, and {Tokenize} has none", name)
			}
			of.Tokenize[name].validate(l, fmt.Sprintf("Sources[%q].Tokenize[%q]", of.Name, name))
		}
		if s.Pack == nil { // which these tokens are of
			continue
		}
		column := of.packs(s.Pack)
		for _, t := range of.named() {
			switch {
			case t.own == nil:
			case column == "":
				l.Add(field, "has %s, and no tokenizer of its own for the column that {Pack} packs", t.name)
			case t.name != "value" && !s.Pack.has(t.name):
				l.Add(field, "has %s, and {Pack} writes none", t.name)
			}
		}
		if column == "" {
			continue
		}
		p := s.packOf(of)
		if of.Tokenize[column].Template && p.writesAround() {
			l.Add(field, "has a template that adds tokens around documents, as eos or bos of {Pack} does; leave one of the two out")
		}
		l.Join(p.sharedNumbers(field, of))
	}
}

// A replacedToken is a token of a packing that a source may replace.
type replacedToken struct {
	name string
	own  *Token
}

func (of OwnTokens) named() []replacedToken {
	return []replacedToken{{"eos", of.EOS}, {"bos", of.BOS}, {"value", of.Value}}
}

// has reports whether the packing writes eos or bos.
func (p *Pack) has(name string) bool {
	if name == "eos" {
		return p.EOS != nil || p.EOSText != ""
	}
	return p.BOS != nil || p.BOSText != ""
}

// packOf returns the packing with the tokens of a source.
func (s Spec) packOf(of Source) *Pack {
	p := *s.Pack
	set := func(id **int64, text *string, own *Token) {
		if own != nil {
			*id, *text = nil, own.Text
			if own.Text == "" {
				*id = &own.ID
			}
		}
	}
	set(&p.EOS, &p.EOSText, of.EOS)
	set(&p.BOS, &p.BOSText, of.BOS)
	set(&p.Value, &p.ValueText, of.Value)
	return &p
}

// sharedNumbers refuses tokens that the packing has by their numbers: the source's vocabulary is
// another one.
func (p *Pack) sharedNumbers(field string, of Source) error {
	var shared string
	switch {
	case p.EOS != nil && of.EOS == nil:
		shared = "eos"
	case p.BOS != nil && of.BOS == nil:
		shared = "bos"
	case slices.ContainsFunc(p.FIM.tokens(), func(t namedToken) bool { return t.Text == "" }):
		return newOptionError(field, "has a tokenizer of its own, and {Pack} has numbers of tokens for fill-in-the-middle: name these tokens by their texts")
	default:
		return nil
	}
	return newOptionError(field, option.Sprintf("has a tokenizer of its own, and %s of {Pack} is the number of a token of another: "+
		"name the token by its text, or give the source an %s", shared, shared))
}
