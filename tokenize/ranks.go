package tokenize

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/tokenize/internal/added"
	"github.com/shardfeed/shardfeed/tokenize/internal/bpe"
	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
)

// ranks are the tokens of a tiktoken encoding: bytes, and their ranks, which are ids too. Two
// neighbours are merged if their bytes are a token, the lowest rank first.
type ranks map[string]int32

// merges returns all pairs that make a token, by the token's rank.
func (r ranks) merges() [][2]string {
	type pair struct {
		rank, left int32
		texts      [2]string
	}
	var all []pair
	for text, rank := range r {
		for i := 1; i < len(text); i++ {
			left, ok := r[text[:i]]
			if _, ok2 := r[text[i:]]; ok && ok2 {
				all = append(all, pair{rank: rank, left: left, texts: [2]string{text[:i], text[i:]}})
			}
		}
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.left, b.left))
	})
	texts := make([][2]string, len(all))
	for i, p := range all {
		texts[i] = p.texts
	}
	return texts
}

// newRanked returns the tokenizer of ranks to which first is added to make ids. Special tokens are
// found in text if parse is set.
func newRanked(r ranks, first int32, c cut.Cutter, specials map[string]int32, parse bool) (*Tokenizer, error) {
	ids := make(map[string]int32, len(r))
	named := make(map[string]int32, len(r)+len(specials)) // as tokenizer.json writes them
	for text, rank := range r {
		ids[text] = rank + first
		named[charactersOf(text)] = rank + first
	}
	model, err := bpe.New(bpe.Config{Vocab: ids, Merges: r.merges(), Bytes: true, Words: true, Unknown: -1})
	if err != nil {
		return nil, err
	}
	var found []added.Token
	for text, id := range specials {
		if text == "" {
			return nil, fmt.Errorf("the special token %d is empty", id)
		}
		if _, ok := named[text]; ok {
			return nil, fmt.Errorf("the special token %q is in the vocabulary", text)
		}
		named[text] = id
		if parse {
			found = append(found, added.Token{ID: id, Text: text, Special: true})
		}
	}
	tokens, err := vocabulary(named)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{raw: added.NewSet(found), normalized: added.NewSet(nil), cutter: c, model: model, form: form{bytes: true}}
	t.parts = []string{"model: byte pairs by rank"}
	t.tokens, err = vocab.New(tokens)
	return t, err
}

// charactersOf writes each byte as a printable character. It undoes bytesOf.
func charactersOf(bytes string) string {
	chars := make([]rune, len(bytes))
	for i := range len(bytes) {
		chars[i] = charOf[bytes[i]]
	}
	return string(chars)
}

var charOf = func() (all [256]rune) {
	for r, b := range byteOf {
		all[b] = r
	}
	return all
}()
