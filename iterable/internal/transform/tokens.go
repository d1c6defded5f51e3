package transform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/tokenize"
)

// A Tokenizer makes tokens of the texts of a column.
type Tokenizer struct {
	*tokenize.Tokenizer
	Options tokenize.Options
	Name    string // for users: its address, or ""
}

// Line names the tokens that texts get: tokenizers of one line give each text the same ones.
func (t Tokenizer) Line() string {
	line := fmt.Sprintf("%s specials=%s", t.Fingerprint(), cmp.Or(t.Options.Specials, tokenize.SpecialsParse))
	if t.Options.Template {
		line += " template"
	}
	if t.Options.MaxTokens > 0 {
		line += fmt.Sprintf(" max_tokens=%d", t.Options.MaxTokens)
	}
	return line
}

// Encoders make tokens in the goroutines of a data set. They are safe for concurrent use.
type Encoders struct {
	Tokenizer

	mu   sync.Mutex
	free []*tokenize.Encoder // no more than goroutines decode
}

// NewEncoders returns the encoders of a tokenizer.
func NewEncoders(t Tokenizer) *Encoders { return &Encoders{Tokenizer: t} }

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

// list makes the tokens of a column.
func (e *Encoders) list(d *rowgroup.Decoder, l rowgroup.Listing, blocks []*rowgroup.Block) (made Made, err error) {
	err = e.Use(func(enc *tokenize.Encoder) error {
		l.List = func(dst []int32, text []byte) ([]int32, error) {
			before := enc.Specials()
			dst, err := enc.Append(dst, text)
			if made.Tokens += int64(len(dst)); enc.Specials() > before {
				made.Special++
			}
			return dst, err
		}
		cut := enc.Cut()
		err := d.List(l, blocks)
		made.Cut = enc.Cut() - cut
		return err
	})
	return made, err
}

// Encoders returns the encoders of a column, or nil if it gets no tokens.
func (c *Columns) Encoders(name string) *Encoders { return c.encoders[name] }

// Tokenized returns the places of the columns that get tokens.
func (c *Columns) Tokenized() (all []int) {
	if len(c.encoders) == 0 {
		return nil
	}
	for i, f := range c.Schema.Fields {
		if c.encoders[f.Name] != nil {
			all = append(all, i)
		}
	}
	return all
}

// Lines describe how columns get tokens: the tokens of a text are the same where the lines are.
func (c *Columns) Lines() (all []string) {
	for _, i := range c.Tokenized() {
		name := c.Schema.Fields[i].Name
		all = append(all, fmt.Sprintf("tokenize %q %s", name, c.encoders[name].Line()))
	}
	return all
}

// encoderBytes is the memory of an encoder beside its cache.
const encoderBytes = 1 << 20

// Memory returns the bytes of the tables, which all goroutines share, and of the encoders that a
// goroutine uses at a time.
func (c *Columns) Memory() (shared, each int64) {
	seen := map[*tokenize.Tokenizer]bool{}
	for _, e := range c.encoders {
		if !seen[e.Tokenizer.Tokenizer] {
			seen[e.Tokenizer.Tokenizer] = true
			shared += e.Tokenizer.Memory()
		}
		each = max(each, int64(e.Options.CacheBytes)+encoderBytes)
	}
	return shared, each
}

// addTokens makes lists of tokens of the columns that have a tokenizer.
func (c *Columns) addTokens(all map[string]Tokenizer) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		col, err := c.text(name, "a tokenizer is for texts")
		if err != nil {
			return err
		}
		field := &column.Field{
			Name: name, Kind: column.List, Nullable: c.Schema.Fields[col].Nullable,
			Children: []*column.Field{{Name: "element", Kind: column.Fixed, Type: column.TypeInt32, Width: 4}},
		}
		c.Schema.Fields[col] = field
		e := NewEncoders(all[name])
		c.encoders[name] = e
		c.Steps = append(c.Steps, Step{Column: name, Apply: func(d *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32) (Made, error) {
			return e.list(d, rowgroup.Listing{Column: col, Field: field, Rows: rows}, blocks)
		}})
	}
	return nil
}
