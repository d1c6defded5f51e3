package shardfeed

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// ownTokens are two sources of the shop. The titles of "two" have a tokenizer of their own.
func ownTokens(change func(*Spec)) Spec {
	s := Spec{
		Columns: []string{"title"}, Order: Order{Shuffle: true}, BatchSize: 4, Caching: Caching{NoCache: true},
		Tokenize: map[string]Tokenizer{"title": {Content: tokenizetest.File("t h", "th e")}},
		Sources: []Source{
			{Name: "one", Addresses: []string{shop}, Weight: 1},
			{Name: "two", Addresses: []string{shop}, Weight: 1, OwnTokens: OwnTokens{Tokenize: map[string]Tokenizer{"title": {Content: tokenizetest.File("e n")}}}},
		},
	}
	change(&s)
	return s
}

// rulesOf opens a spec, and returns the names of the rules of its sources.
func rulesOf(t *testing.T, h *Host, s Spec) (rules []string) {
	t.Helper()
	d, err := h.Open(t.Context(), s, Events{})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range d.SavedManifest().Sources {
		rules = append(rules, of.Manifest.Rule)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return rules
}

// Tokens that a packing names by their texts come from each source's tokenizer, unless the source
// has its own.
func TestOwnTokensOfAPacking(t *testing.T) {
	h := NewHost(nil)
	rules := func(change func(*Spec)) []string {
		return rulesOf(t, h, ownTokens(func(s *Spec) {
			s.Pack, s.IndexDir = &Pack{Columns: map[string]int{"title": 64}, EOSText: tokenizetest.Special}, t.TempDir()
			change(s)
		}))
	}
	of := func(all, two int64, fim *FillInTheMiddle) []string {
		return rules(func(s *Spec) {
			s.Pack.EOSText, s.Pack.EOS, s.Pack.FIM = "", &all, fim
			s.Sources[1].EOS = &Token{ID: two}
		})
	}
	const one, two = 258, 257 // numbers of tokenizetest.Special
	if a, b := of(one, two, nil), of(one, one, nil); a[0] != b[0] || a[1] == b[1] {
		t.Errorf("the rules are %q and %q with another end of one source", a, b)
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		want   []string
	}{
		"by its text":    {func(*Spec) {}, of(one, two, nil)},
		"by another":     {func(s *Spec) { s.Sources[1].EOS = &Token{Text: "en"} }, of(one, 256, nil)},
		"by a number":    {func(s *Spec) { s.Sources[1].EOS = &Token{ID: 'x'} }, of(one, 'x', nil)},
		"bos":            {func(s *Spec) { s.Pack.BOSText, s.Sources[1].BOS = "the", &Token{Text: "en"} }, nil},
		"another source": {func(s *Spec) { s.Sources[1].Tokenize = nil }, nil},
	} {
		got := rules(c.change)
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: the rules are %q, want %q", name, got, c.want)
		}
		if plain := of(one, two, nil); c.want == nil && slices.Equal(got, plain) {
			t.Errorf("%s: the rules are %q as without", name, got)
		}
	}
}

func TestOwnTokensRefused(t *testing.T) {
	pack := func(s *Spec) { s.Pack = &Pack{Columns: map[string]int{"title": 64}, EOSText: tokenizetest.Special} }
	id := int64(3)
	for want, change := range map[string]func(*Spec){
		`Sources["two"] has a tokenizer of column "title" in place of that of all sources, and Tokenize has none`: func(s *Spec) { s.Tokenize = nil },
		`Sources["two"].Tokenize["title"] must have either the address`: func(s *Spec) {
			s.Sources[1].Tokenize = map[string]Tokenizer{"title": {}}
		},
		`Sources["two"] has a tokenizer of its own, and eos of Pack is the number of a token of another: name the token by its text, or give the source an eos`: func(s *Spec) {
			s.Pack.EOSText, s.Pack.EOS = "", &id
		},
		`Sources["two"] has a tokenizer of its own, and Pack has numbers of tokens for fill-in-the-middle`: func(s *Spec) {
			s.Pack.FIM = &FillInTheMiddle{Rate: 1, Prefix: Token{ID: 1}, Middle: Token{ID: 2}, Suffix: Token{ID: 3}}
		},
		`Sources["one"] has eos, and no tokenizer of its own for the column that Pack packs`: func(s *Spec) { s.Sources[0].EOS = &Token{ID: 1} },
		`Sources["two"] has bos, and Pack writes none`:                                       func(s *Spec) { s.Sources[1].BOS = &Token{ID: 1} },
		`Sources["two"] has a template that adds tokens around documents`: func(s *Spec) {
			s.Sources[1].Tokenize = map[string]Tokenizer{"title": {Content: tokenizetest.File(), Template: true}}
		},
		`source "two": pack names a token as eos that the tokenizer of column "title" does not have: "the"; give the source a token of its own for it`: func(s *Spec) {
			s.Pack.EOSText = "the"
		},
		`source "two": tokenize["title"] cannot use none.json`: func(s *Spec) {
			s.Sources[1].Tokenize = map[string]Tokenizer{"title": {File: "none.json"}}
		},
		`source "two": tokenize["title"] must join the columns that tokenize of all sources joins`: func(s *Spec) {
			s.Sources[1].Tokenize = map[string]Tokenizer{"title": {Content: tokenizetest.File(), Join: []string{"label"}}}
		},
	} {
		s := ownTokens(pack)
		if change(&s); s.Pack.EOS == nil && s.Tokenize == nil {
			s.Pack = nil
		}
		_, err := Open(t.Context(), s, Events{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Ranks compare what the tokenizers of sources do, and documents are of each tokenizer.
func TestOwnTokensAreCompared(t *testing.T) {
	h := NewHost(nil)
	chosen := func(content []byte) (map[string]string, *Documents) {
		d, err := h.Open(t.Context(), ownTokens(func(s *Spec) {
			s.IndexDir, s.Sources[1].Tokenize = t.TempDir(), map[string]Tokenizer{"title": {Content: content}}
		}), Events{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := d.Documents(t.Context(), "tokenizers 1")
		if err := errors.Join(err, d.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		return d.Chosen(), all
	}
	t.Setenv(dirVariable, t.TempDir())
	one, documents := chosen(tokenizetest.File("s e"))
	other, _ := chosen(tokenizetest.File("e r"))
	same, _ := chosen(tokenizetest.File("s e"))
	const field = `Sources["two"]`
	if one[field] != same[field] || one[field] == other[field] || !strings.Contains(one[field], "sha256:") || one["Tokenize"] != other["Tokenize"] || one["Sources"] != other["Sources"] {
		t.Errorf("ranks compare %v and %v", one, other)
	}
	if len(documents.Columns) != 2 || documents.Columns[0].Source != "two" || documents.Columns[1].Source != "" {
		t.Fatalf("documents of %d columns", len(documents.Columns))
	}
	of := func(i int) Document { return documents.Columns[i].Documents[0] }
	if of(0).Text != of(1).Text || slices.Equal(of(0).Tokens, of(1).Tokens) {
		t.Errorf("the first documents are %v and %v", of(0), of(1))
	}
}

// The tokenizer of a column is an object or an address in JSON.
func TestTokenizerJSON(t *testing.T) {
	var of Source
	if err := json.Unmarshal([]byte(`{"tokenize": {"a": "x.json", "b": {"file": "y.json", "max_tokens": 3}}, "eos": "</s>", "value": 7}`), &of); err != nil {
		t.Fatal(err)
	}
	if a, b := of.Tokenize["a"], of.Tokenize["b"]; a.File != "x.json" || b.File != "y.json" || b.MaxTokens != 3 || of.EOS.Text != "</s>" || of.Value.ID != 7 || of.BOS != nil {
		t.Errorf("%+v", of)
	}
	if err := json.Unmarshal([]byte(`{"tokenize": {"a": {"fil": "x.json"}}}`), &of); err == nil || !strings.Contains(err.Error(), "fil") {
		t.Errorf("an unknown member: %v", err)
	}
}
