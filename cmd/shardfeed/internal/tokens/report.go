package tokens

import (
	"strings"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/tokenize"
)

// A Report describes a tokenizer and, after Add, what it makes of documents.
type Report struct {
	Tokenizer   string   `json:"tokenizer"`
	Parts       []string `json:"parts"`
	Tokens      int      `json:"tokens"`
	Bytes       int64    `json:"tokenizer_bytes"`
	Fingerprint string   `json:"fingerprint"`
	Columns     []string `json:"columns"`   // of text, in the order of their tokens
	Text        *Figures `json:"text"`      // null without a table
	Documents   []View   `json:"documents"` // the first ones
}

// NewReport describes a tokenizer that the user calls name.
func NewReport(name string, t *tokenize.Tokenizer) *Report {
	return &Report{Tokenizer: name, Parts: t.Parts(), Tokens: t.VocabSize(), Bytes: t.Memory(), Fingerprint: t.Fingerprint(), Columns: []string{}, Documents: []View{}}
}

// Add has the figures and the documents of a trial.
func (r *Report) Add(t *Trial) {
	f := t.Figures()
	r.Columns, r.Text, r.Documents = t.columns, &f, append(r.Documents, t.views...)
}

// Term returns the report for people.
func (r *Report) Term(colours bool) *term.Report {
	p := &term.Report{}
	p.Section("tokenizer")
	for _, part := range r.Parts {
		name, text, _ := strings.Cut(part, ": ")
		p.Fact(name, "%s", text)
	}
	p.Fact("vocabulary", "%s tokens, %v in memory", text.Count(int64(r.Tokens)), mem.Bytes(r.Bytes))
	p.Fact("fingerprint", "%s", r.Fingerprint)
	f := r.Text
	if f == nil {
		return p
	}
	columns := "column"
	if len(r.Columns) > 1 {
		columns = "columns"
	}
	p.Section("text")
	p.Fact("read", "%s of %s %s, %v", text.Plural(f.Documents, "document"), columns, quoted(r.Columns), mem.Bytes(f.Bytes))
	p.Fact("tokens", "%s, %.2f bytes each", text.Count(f.Tokens), f.TokenBytes)
	if f.Trained != nil {
		p.Fact("trained", "%s of them", text.Count(*f.Trained))
	}
	p.Fact("speed", "%.0f MB/s on one thread", f.ByteRate/1e6)
	p.Fact("special tokens", "in %s", text.Plural(f.WithSpecial, "document"))
	if f.NotUTF8 > 0 {
		p.Fact("not UTF-8", "%s", text.Plural(f.NotUTF8, "document"))
	}
	p.Section("documents")
	for _, v := range r.Documents {
		p.B.WriteString("  " + v.Text(colours) + "\n")
	}
	return p
}

func quoted(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }
