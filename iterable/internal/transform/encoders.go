package transform

import (
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/tokenize"
)

// Encoders make tokens in the goroutines of a data set. They are safe for concurrent use.
type Encoders struct {
	Tokenizer
	Column  string   // of tokens
	Texts   []string // the columns that they are made of
	From    []int    // their places
	trained []bool   // by text: its tokens are labels; nil makes no labels

	mu   sync.Mutex
	free []*tokenize.Encoder // no more than goroutines decode
}

// Use calls f with an encoder that no other goroutine uses meanwhile.
func (e *Encoders) Use(f func(*tokenize.Encoder) error) error {
	enc := e.take()
	err := f(enc)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.free) < cores.Number() {
		e.free = append(e.free, enc)
	}
	return err
}

func (e *Encoders) take() *tokenize.Encoder {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.free); n > 0 {
		enc := e.free[n-1]
		e.free = e.free[:n-1]
		return enc
	}
	return e.NewEncoder(e.Options)
}

// Hint returns the advice for an error of tokens, or "".
func Hint(err error) string {
	if errors.Is(err, tokenize.ErrNotUTF8) {
		return rowgroup.UTF8Hint
	}
	return ""
}

// EndTrained reports whether the last token of a document, and what follows it, is a label.
func (e *Encoders) EndTrained() bool { return len(e.trained) > 0 && e.trained[len(e.trained)-1] }

// list makes the tokens of a column, and the labels.
func (e *Encoders) list(d *rowgroup.Decoder, l rowgroup.Listing, blocks []*rowgroup.Block) (made Made, err error) {
	err = e.Use(func(enc *tokenize.Encoder) error {
		bounds := make([]int, len(e.From)+1)
		l.Allow = enc.Allow
		defer enc.Allow(nil)
		l.List = func(dst [][]int32, texts [][]byte) (err error) {
			before := enc.Specials()
			if dst[0], err = enc.Join(dst[0], texts, bounds); err != nil {
				return err
			}
			if made.Tokens += int64(len(dst[0])); enc.Specials() > before {
				made.Special++
			}
			if len(dst) > 1 {
				dst[1] = e.appendLabels(enc.Grow(dst[1], len(dst[0])), dst[0], bounds)
			}
			return nil
		}
		cut := enc.Cut()
		err := d.List(l, blocks)
		made.Cut = enc.Cut() - cut
		return err
	})
	return made, err
}

// appendLabels appends the label of each token of a document, whose texts have the bounds. What the
// template adds after the last text belongs to that.
func (e *Encoders) appendLabels(dst, tokens []int32, bounds []int) []int32 {
	for range bounds[0] {
		dst = append(dst, IgnoredLabel)
	}
	for i, trained := range e.trained {
		end := bounds[i+1]
		if i == len(e.trained)-1 {
			end = len(tokens)
		}
		if trained {
			dst = append(dst, tokens[bounds[i]:end]...)
			continue
		}
		for range end - bounds[i] {
			dst = append(dst, IgnoredLabel)
		}
	}
	return dst
}
