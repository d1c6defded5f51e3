package tokenize

import (
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/added"
	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// version names the implementation. It changes when any text gets other tokens.
const version = "tokenize/1 unicode/16"

// A Tokenizer is a vocabulary with the rules that turn text into its tokens. It is immutable.
type Tokenizer struct {
	raw          *added.Set // found in text as it is
	normalized   *added.Set // found in normalized text
	normalize    []rewriter
	prepare      []rewriter // of the pre-tokenizer, after normalized tokens were found
	prepareFirst []rewriter // the same, for the start of a document
	cutter       cut.Cutter
	model        words.Model
	template     template
	tokens       *vocab.Vocabulary // of the model, and added
	form         form
	parts        []string // of the file, in words
	digest       string   // of the file
}

// Fingerprint returns a text that two tokenizers share only if they give each text the same tokens.
// It contains the version of the implementation.
func (t *Tokenizer) Fingerprint() string { return fmt.Sprintf("%s sha256:%s", version, t.digest) }

// VocabSize returns the number of tokens, added tokens included.
func (t *Tokenizer) VocabSize() int { return t.tokens.Len() }

// MaxID returns the largest id of a token.
func (t *Tokenizer) MaxID() int32 { return int32(t.tokens.Bound() - 1) }

// ID returns the id of the token whose text in the file is text, such as "<|endoftext|>".
func (t *Tokenizer) ID(text string) (id int32, ok bool) { return t.tokens.ID(text) }

// Token returns the text that the file has for an id.
func (t *Tokenizer) Token(id int32) (text string, ok bool) { return t.tokens.Text(id) }

// TemplateTokens returns the number of tokens that the file's post-processor adds to each document.
func (t *Tokenizer) TemplateTokens() int { return len(t.template.before) + len(t.template.after) }

// Memory returns the bytes that the tokenizer's tables take.
func (t *Tokenizer) Memory() int64 {
	return t.tokens.Memory() + t.model.Memory() + t.raw.Memory() + t.normalized.Memory()
}
