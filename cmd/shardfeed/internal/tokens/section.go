package tokens

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
)

// Section reports the columns of a plan that get tokens.
func Section(r *term.Report, all []iterable.TextPlan) {
	if len(all) == 0 {
		return
	}
	r.Section("tokenizing")
	for _, p := range all {
		describe(r, p)
		if several(all, p.Column) {
			r.Fact("sources", "%s", printable.Text(strings.Join(p.Sources, ", ")))
		}
	}
}

// several reports whether sources have different tokenizers for a column.
func several(all []iterable.TextPlan, column string) bool {
	n := 0
	for _, p := range all {
		if p.Column == column {
			n++
		}
	}
	return n > 1
}

func describe(r *term.Report, p iterable.TextPlan) {
	model, patterns := parts(p.Parts)
	name := p.Tokenizer
	if name == "" {
		name = "a tokenizer without a file"
	}
	r.Fact(p.Column, "%s: %s of %s tokens", name, model, text.Count(int64(p.Vocabulary)))
	if patterns != "" {
		r.Fact("pattern", "%s", patterns)
	}
	r.Fact("fingerprint", "%s", p.Fingerprint)
	if p.FileBytes > 0 {
		r.Fact("text", "%v by the footers", mem.Bytes(p.FileBytes))
	}
	if p.WorkSeconds > 0 {
		r.Fact("counting", "%v of text in %s of processors: %.0f MB/s on each", mem.Bytes(p.WorkBytes), term.Seconds(p.WorkSeconds), float64(p.WorkBytes)/p.WorkSeconds/1e6)
	}
	switch t := p.Texts; {
	case t != nil:
		each := ""
		if t.Tokens > 0 {
			each = fmt.Sprintf(" of %.2f bytes in the mean", float64(t.Bytes)/float64(t.Tokens))
		}
		r.Fact("tokens", "%s%s, of %s; %s with special tokens", text.Count(t.Tokens), each, text.Plural(t.Documents, "document"), text.Count(t.Special))
	case p.Measured:
		r.Fact("tokens", "not known: their counts are a saved plan's, or an earlier version's")
	default:
		r.Fact("tokens", "made as rows are read; --pack and --bucket count them")
	}
}

// parts returns the kind of the model, and what cuts texts into words.
func parts(all []string) (model, patterns string) {
	var cuts []string
	for _, part := range all {
		switch name, value, _ := strings.Cut(part, ": "); name {
		case "model":
			model = value
		case "pre_tokenizer":
			cuts = append(cuts, value)
		}
	}
	return model, strings.Join(cuts, ", ")
}
