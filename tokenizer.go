package shardfeed

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"weak"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/tokenize"
)

// A Tokenizer makes a column of tokens of columns of texts; see package tokenize.
type Tokenizer struct {
	// File is a tokenizer.json, Mistral's tekken.json or, with Pattern, a file of tiktoken: a path
	// relative to the spec's Directory, or any address that shards can have. Content is such a
	// file, or zlib's compression of it.
	File    string `json:"file,omitempty"`
	Content []byte `json:"content,omitempty"`

	// Pattern and SpecialTokens complete a file of tiktoken, see [tokenize.Tiktoken].
	Pattern       string           `json:"pattern,omitempty"`
	SpecialTokens map[string]int32 `json:"special_tokens,omitempty"`

	// Specials chooses the meaning of a special token's text inside a document: "parse" (the
	// default) makes it the token, as the library tokenizers does, "text" the tokens of its
	// characters, and "error" refuses it. Template adds the tokens that the file's post-processor
	// adds to each text.
	Specials string `json:"specials,omitempty"`
	Template bool   `json:"template,omitempty"`

	// MaxTokens limits the tokens of a text, the template's included; 0 sets no limit.
	MaxTokens int `json:"max_tokens,omitempty"`

	// Join lists the columns whose tokens become one list, and Labels the ones that have labels; see
	// [iterable.Tokenizer].
	Join   []string `json:"join,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

// UnmarshalJSON takes the address of a file too.
func (t *Tokenizer) UnmarshalJSON(b []byte) error {
	*t = Tokenizer{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.File)
	}
	type plain Tokenizer
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(t))
}

// maxTokenizer limits the bytes of a tokenizer.json. A file of 262,144 tokens has 35 MB.
const maxTokenizer = 256 << 20

// validateTokenize checks the tokenizers of the spec and of its sources.
func (s Spec) validateTokenize(l *option.List) {
	for _, name := range slices.Sorted(maps.Keys(s.Tokenize)) {
		t, field := s.Tokenize[name], fmt.Sprintf("Tokenize[%q]", name)
		t.validate(l, field)
		for _, text := range t.made().Texts(name) {
			if s.Vocabulary[text] != nil {
				l.Add(field, "contradicts {Vocabulary} of column %q; leave one of the two out", text)
			}
		}
		if p := s.Pack; p != nil && t.Template && p.writesAround() && p.Columns[name] != 0 {
			l.Add("Pack", "writes eos or bos around documents, to which the template of {Tokenize} adds tokens already; leave one of the two out")
		}
	}
	if p := s.Pack; p != nil && len(s.Tokenize) == 0 {
		if text := p.tokenText(); text != "" {
			l.Add("Pack", "needs {Tokenize} to find the number of token %q; give a number", text)
		}
	}
	s.validateOwnTokens(l)
}

// validate checks what needs no file.
func (t Tokenizer) validate(l *option.List, field string) {
	if (t.File == "") == (len(t.Content) == 0) {
		l.Add(field, "must have either the address of a tokenizer.json or its content")
	}
	l.Within(field+".MaxTokens", int64(t.MaxTokens), 1<<30)
	if len(t.SpecialTokens) > 0 && t.Pattern == "" {
		l.Add(field+".SpecialTokens", "need the pattern of a file of tiktoken; a tokenizer.json has its own")
	}
	l.OneOf(field+".Specials", t.Specials, "parse", "text", "error")
}

// tokenText returns the first token that is given by its text, or "".
func (p *Pack) tokenText() string {
	text := cmp.Or(p.EOSText, p.BOSText, p.ValueText)
	for _, t := range p.FIM.tokens() {
		text = cmp.Or(text, t.Text)
	}
	return text
}

// made returns the tokenizer without its tables.
func (t Tokenizer) made() iterable.Tokenizer {
	return iterable.Tokenizer{
		Options: tokenize.Options{Specials: tokenize.Specials(t.Specials), Template: t.Template, MaxTokens: t.MaxTokens}, Join: t.Join, Labels: t.Labels,
	}
}

// writesAround reports whether a packing writes tokens around documents.
func (p *Pack) writesAround() bool { return p.EOS != nil || p.BOS != nil || p.EOSText+p.BOSText != "" }

// readTokenizers loads the tokenizers of the spec, and the ones by which sources
// replace them. It finds the tokens that the packing names by their texts.
func (h *Host) readTokenizers(ctx context.Context, stores shard.Store, s Spec, o *iterable.Options) (err error) {
	if o.Tokenize, err = h.loadTokenizers(ctx, stores, s, s.Tokenize); err != nil {
		return err
	}
	if o.Pack, err = s.Pack.found(o.Pack, o.Tokenize, ""); err != nil {
		return err
	}
	for i, of := range s.Sources {
		own, err := h.loadTokenizers(ctx, stores, s, s.inherited(of.Tokenize))
		if err == nil && of.packs(s.Pack) != "" {
			p := s.packOf(of)
			o.Sources[i].Pack, err = p.found(p.options(), own, "; give the source a token of its own for it")
		}
		if err != nil {
			return &iterable.SourceError{Source: of.Name, Err: err}
		}
		o.Sources[i].Tokenize = own
	}
	if len(o.Tokenize) == 0 {
		return nil
	}
	return o.Validate()
}

// inherited returns tokenizers of a source with the Join and Labels that they replace.
func (s Spec) inherited(own map[string]Tokenizer) map[string]Tokenizer {
	own = maps.Clone(own)
	for name, t := range own {
		if t.Join == nil {
			t.Join, t.Labels = s.Tokenize[name].Join, s.Tokenize[name].Labels
			own[name] = t
		}
	}
	return own
}

// loadTokenizers loads the tokenizers of columns.
func (h *Host) loadTokenizers(ctx context.Context, stores shard.Store, s Spec, all map[string]Tokenizer) (made map[string]iterable.Tokenizer, err error) {
	for _, name := range sortedKeys(all) {
		of := all[name]
		t, err := h.tokenizer(ctx, stores, s, of)
		if err != nil {
			at, hint := "the given tokenizer", ""
			if of.File != "" {
				at = shard.Redact(of.File)
			}
			if errors.Is(err, fs.ErrNotExist) && path.Ext(at) != ".json" {
				hint = "; to use a name of the Hugging Face Hub, download the tokenizer.json of the model"
			}
			return nil, &OptionError{Field: fmt.Sprintf("Tokenize[%q]", name), Text: fmt.Sprintf("cannot use %s: %s%s", option.Literal(at), option.Literal(err.Error()), hint), Err: err}
		}
		one := of.made()
		one.Tokenizer, one.Name = t, shard.Redact(of.File)
		set(&made, name, one)
	}
	return made, nil
}

// found returns a packing with the numbers of tokens that are given by their texts. The error of a
// token that a tokenizer does not have ends with a hint.
func (p *Pack) found(to *iterable.Pack, tokenizers map[string]iterable.Tokenizer, hint string) (_ *iterable.Pack, err error) {
	if p == nil || p.tokenText() == "" {
		return to, nil
	}
	find := func(t namedToken) (int64, error) {
		if t.Text == "" {
			return t.ID, nil
		}
		for name := range p.Columns {
			if of, ok := tokenizers[name]; ok {
				if id, ok := of.ID(t.Text); ok {
					return int64(id), nil
				}
				return 0, &OptionError{Field: "Pack", Text: option.Sprintf("names a token as %s that the tokenizer of column %q does not have: %q%s", t.name, name, t.Text, hint)}
			}
		}
		return 0, &OptionError{Field: "Pack", Text: option.Sprintf("needs {Tokenize} of the column that it packs to find the number of token %q; give a number", t.Text)}
	}
	for _, t := range []struct {
		name, text string
		set        func(id int64)
	}{
		{"eos", p.EOSText, func(id int64) { to.EOS = &id }},
		{"bos", p.BOSText, func(id int64) { to.BOS = &id }},
		{"value", p.ValueText, func(id int64) { to.Value = id }},
	} {
		if t.text == "" {
			continue
		}
		id, err := find(namedToken{t.name, Token{Text: t.text}})
		if err != nil {
			return nil, err
		}
		t.set(id)
	}
	to.FIM, err = p.FIM.options(find)
	return to, err
}

// tokenizer loads a tokenizer, or returns the one that another data set of the host uses.
func (h *Host) tokenizer(ctx context.Context, stores shard.Store, s Spec, t Tokenizer) (*tokenize.Tokenizer, error) {
	content, err := s.tokenizerContent(ctx, stores, t)
	if err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, errors.New("it is empty")
	}
	var plain bytes.Buffer
	if json.Compact(&plain, content) == nil { // a file and what a library writes of it are one
		content = plain.Bytes()
	}
	sum := sha256.Sum256(fmt.Appendf(content[:len(content):len(content)], "\n%q %v", t.Pattern, t.SpecialTokens))
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.tokenizers[sum].Value(); known != nil {
		return known, nil
	}
	loaded, err := t.load(content)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(h.tokenizers, func(_ [sha256.Size]byte, p weak.Pointer[tokenize.Tokenizer]) bool { return p.Value() == nil })
	h.tokenizers[sum] = weak.Make(loaded)
	return loaded, nil
}

// Load reads the tokenizer. Addresses are read from stores, which may be nil for paths.
func (t Tokenizer) Load(ctx context.Context, stores shard.Store) (*tokenize.Tokenizer, error) {
	content, err := Spec{}.tokenizerContent(ctx, stores, t)
	if err != nil {
		return nil, err
	}
	return t.load(content)
}

// load makes the tokenizer of a file.
func (t Tokenizer) load(content []byte) (*tokenize.Tokenizer, error) {
	if t.Pattern == "" {
		return tokenize.Load(content)
	}
	return tokenize.LoadTiktoken(content, tokenize.Tiktoken{Pattern: t.Pattern, Specials: t.SpecialTokens})
}

// tokenizerContent returns the file of a tokenizer.
func (s Spec) tokenizerContent(ctx context.Context, stores shard.Store, t Tokenizer) ([]byte, error) {
	if t.File == "" {
		return inflated(t.Content)
	}
	if scheme, _ := shard.SplitScheme(t.File); scheme == "" {
		return s.readFile(t.File)
	}
	return fetchFile(ctx, stores, t.File, maxTokenizer)
}

const zlibStart = 0x78 // no JSON starts with it

// inflated decompresses what zlib compressed, and returns anything else as it is.
func inflated(b []byte) ([]byte, error) {
	if b[0] != zlibStart {
		return b, nil
	}
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	b, err = io.ReadAll(io.LimitReader(z, maxTokenizer+1))
	if err == nil && len(b) > maxTokenizer {
		err = fmt.Errorf("it has more than %v", mem.Bytes(maxTokenizer))
	}
	return b, err
}

// fetchFile reads a whole file of a store.
func fetchFile(ctx context.Context, store shard.Store, address string, most int64) (b []byte, err error) {
	files, err := store.List(ctx, address)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 || files[0].Size > most {
		return nil, fmt.Errorf("it must be one file of at most %v", mem.Bytes(most))
	}
	o, err := store.Open(ctx, files[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	b = make([]byte, files[0].Size)
	err = shard.Rereading(ctx, o, func(o shard.Object) error { return o.ReadAt(ctx, b, 0) })
	return b, err
}

// tokenizes reports whether tokens are made of a column.
func (s Spec) tokenizes(column string) bool {
	for name, t := range s.Tokenize {
		if slices.Contains(t.made().Texts(name), column) {
			return true
		}
	}
	return false
}
