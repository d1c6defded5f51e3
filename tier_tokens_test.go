package shardfeed

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// TestTierKeepsTokens: batches of kept tokens are those of tokens that are made, and a later run
// makes none, unless a filter needs the texts. Another tokenizer, and other options of it, read
// none of them.
func TestTierKeepsTokens(t *testing.T) {
	file := tokenizetest.File("t h", "e r")
	long := manyTokens(t, file)
	title := func(of Tokenizer) map[string]Tokenizer { return map[string]Tokenizer{"title": of} }
	shuffled := Spec{Addresses: []string{shop}, Order: Order{Shuffle: true, Seed: 3}, BatchSize: 64, Columns: []string{"title", "price"}, Tokenize: title(Tokenizer{Content: file})}
	spec := func(change func(*Spec)) Spec {
		s := shuffled
		change(&s)
		return s
	}
	blocks := &Pack{Columns: map[string]int{"title": 128}}
	for name, s := range map[string]Spec{
		"shuffled":       shuffled,
		"file order":     spec(func(s *Spec) { s.Shuffle = false }),
		"long tokens":    spec(func(s *Spec) { s.Tokenize = title(Tokenizer{Content: long}) }),
		"slices":         spec(func(s *Spec) { s.UnitRows, s.ShuffleBuffer = 70, "600" }),
		"little memory":  spec(func(s *Spec) { s.Memory, s.ShuffleBuffer = "48MiB", "500" }),
		"a filter":       spec(func(s *Spec) { s.Filters = "price > 20" }),
		"few rows":       spec(func(s *Spec) { s.Filters = "price > 90" }),
		"a filter on it": spec(func(s *Spec) { s.Filters = "title != 'x'" }),
		"text as well": spec(func(s *Spec) {
			s.Columns, s.Tokenize = []string{"title", "price"}, map[string]Tokenizer{"ids": {Content: file, Join: []string{"title"}}}
		}),
		"joined": spec(func(s *Spec) {
			s.Columns, s.Tokenize = []string{"price"}, map[string]Tokenizer{"ids": {Content: file, Join: []string{"title", "label"}, Labels: []string{"label"}}}
		}),
		"two tokenizers": spec(func(s *Spec) {
			s.Tokenize = map[string]Tokenizer{"title": {Content: file}, "ids": {Content: long, Join: []string{"title"}}}
		}),
		"packed":               spec(func(s *Spec) { s.Pack, s.BatchSize = blocks, 4 }),
		"packed, a filter":     spec(func(s *Spec) { s.Pack, s.BatchSize, s.Filters = blocks, 4, "price > 20" }),
		"packed, file order":   spec(func(s *Spec) { s.Pack, s.BatchSize, s.Shuffle = blocks, 4, false }),
		"packed, of its title": spec(func(s *Spec) { s.Pack, s.BatchSize, s.Filters = blocks, 4, "title != 'x'" }),
		"bucket": spec(func(s *Spec) {
			s.Bucket, s.BatchSize = &Bucket{Columns: map[string]int{"title": 4096}}, 1
		}),
		"sources": spec(func(s *Spec) {
			s.Addresses = nil
			s.Sources = []Source{{Name: "a", Addresses: []string{shop}, Weight: 2}, {Name: "b", Addresses: []string{shop}, Weight: 1, Choice: Choice{Filters: "price > 20"}}}
		}),
		"sources, one with its own": spec(func(s *Spec) {
			s.Addresses = nil
			own := OwnTokens{Tokenize: title(Tokenizer{Content: long})}
			s.Sources = []Source{{Name: "a", Addresses: []string{shop}, Weight: 2}, {Name: "b", Addresses: []string{shop}, Weight: 1, OwnTokens: own}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(dirVariable, t.TempDir())
			want, made := tokensOf(t, s, nil)
			s.DecodedLimit = "256MiB"
			keep := func(d *Dataset) { keepAllDecoded(t, d) }
			ruled := name == "a filter on it" || name == "packed, of its title"
			for _, between := range []func(*Dataset){keep, nil} {
				got, again := tokensOf(t, s, between)
				if !slices.Equal(got, want) {
					t.Fatalf("%d batches, want %d; the first that differs is %d", len(got), len(want), firstDifference(got, want))
				}
				if again == made && !ruled || again > 0 && between == nil && !ruled || again == 0 && ruled { // the disk may be late in the first run
					t.Errorf("%d tokens were made, and %d without the tier", again, made)
				}
			}
			for option, change := range map[string]func(*Tokenizer){
				"another file": func(of *Tokenizer) { of.Content = tokenizetest.File("e n") },
				"specials":     func(of *Tokenizer) { of.Specials = "text" },
				"max_tokens":   func(of *Tokenizer) { of.MaxTokens = 3 },
			} {
				other := s
				other.Tokenize = map[string]Tokenizer{}
				for name, of := range s.Tokenize {
					change(&of)
					other.Tokenize[name] = of
				}
				if _, made := tokensOf(t, other, nil); made == 0 {
					t.Errorf("%s: no tokens were made", option)
				}
			}
		})
	}
}

// manyTokens returns a tokenizer.json with more tokens than 16 bits have numbers.
func manyTokens(t *testing.T, file []byte) []byte {
	t.Helper()
	var of map[string]any
	if err := json.Unmarshal(file, &of); err != nil {
		t.Fatal(err)
	}
	special := of["added_tokens"].([]any)[0].(map[string]any)
	vocab := of["model"].(map[string]any)["vocab"].(map[string]any)
	for len(vocab) < 1<<16 {
		vocab[fmt.Sprintf("word%d", len(vocab))] = len(vocab)
	}
	special["id"] = len(vocab)
	delete(of, "post_processor")
	file, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// tokensOf digests the batches of two epochs, and counts the tokens that loads made.
func tokensOf(t *testing.T, s Spec, between func(*Dataset)) (all []digested, made int64) {
	t.Helper()
	d, err := Open(t.Context(), s, Events{Note: func(text string) { t.Log(text) }})
	if err != nil {
		t.Fatal(err)
	}
	if between != nil {
		between(d)
	}
	o := s.LoaderOptions()
	o.Epochs = 2
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	all = digestsOf(t, d, l)
	made = l.Stats().Stream.Tokens
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return all, made
}
