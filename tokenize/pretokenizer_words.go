package tokenize

import (
	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
	"github.com/shardfeed/shardfeed/tokenize/internal/normal"
)

// drops reads a pre-tokenizer without fields that drops white space.
func (t *preTokenizer) drops(p part, c cut.Cutter) error {
	t.cutters, t.skipSpace = append(t.cutters, c), true
	return p.read(&typed{})
}

// words reads a WhitespaceSplit. If a Metaspace follows, it is the same to join the words with spaces
// and let the Metaspace cut them.
func (t *preTokenizer) words(p part, metaspaceFollows bool) error {
	if !metaspaceFollows {
		return t.drops(p, cut.White())
	}
	if err := t.rewrites(p); err != nil {
		return err
	}
	t.prepend(normal.JoinWords{Mark: metaspace}, true, true)
	t.joined = true
	return p.read(&typed{})
}

// punctuation reads a Punctuation.
func (t *preTokenizer) punctuation(p part) error {
	var fields struct {
		typed
		Behavior string `json:"behavior"`
	}
	if err := p.read(&fields); err != nil {
		return err
	}
	if fields.Behavior != "Isolated" && fields.Behavior != "" {
		return unsupported(p.name, "it is a Punctuation with the behavior %q", fields.Behavior)
	}
	t.cutters = append(t.cutters, cut.Punctuation())
	return nil
}
