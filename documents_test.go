package shardfeed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// Documents are the first texts of each source and their tokens. They are not made again for a
// library with which they were compared.
func TestDocuments(t *testing.T) {
	content := tokenizetest.File("t h")
	tok, err := tokenize.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(s *Spec)
		column string
		most   int
	}{
		"one table": {func(s *Spec) { s.Addresses = []string{"testdata/shop"} }, "title", mostDocuments},
		"packed, of an epoch's size": {func(s *Spec) {
			s.Addresses, s.Shuffle, s.EpochSize, s.Pack = []string{"testdata/shop"}, true, 100, &Pack{Columns: map[string]int{"title": 16}}
		}, "title", mostDocuments},
		"sources, one of them renamed": {func(s *Spec) {
			s.Shuffle = true
			s.Sources = []Source{
				{Name: "a", Addresses: []string{"testdata/shop"}, Weight: 1, Rename: map[string]string{"title": "name"}},
				{Name: "b", Addresses: []string{"testdata/shop"}, Weight: 1, Rename: map[string]string{"title": "name"}},
			}
		}, "name", mostDocuments / 2 * 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := Spec{Columns: []string{c.column}, Tokenize: map[string]Tokenizer{c.column: {File: file}}}
			s.CacheDir, s.NoCache = t.TempDir(), true
			c.change(&s)
			d, err := Open(t.Context(), s, Events{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := d.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			b, err := d.DocumentsJSON(t.Context(), "tokenizers 1")
			var all Documents
			if err := json.Unmarshal(b, &all); err != nil {
				t.Fatal(err)
			}
			if err != nil || len(all.Columns) != 1 || all.Columns[0].Column != c.column || string(all.Columns[0].File) != string(content) {
				t.Fatalf("got %.300s, %v", b, err)
			}
			documents := all.Columns[0].Documents
			if n := len(documents); n < 100 || n > c.most {
				t.Errorf("%d documents", n)
			}
			enc := tok.NewEncoder(tokenize.Options{})
			for _, of := range documents {
				want, err := enc.Append([]int32{}, []byte(of.Text))
				if err != nil || !slices.Equal(of.Tokens, want) || !strings.HasSuffix(of.Path, ".parquet") {
					t.Fatalf("row %d of %s: %q has the tokens %d, want %d, %v", of.Row, of.Path, of.Text, of.Tokens, want, err)
				}
			}
			if err := os.MkdirAll(filepath.Dir(all.Checked), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(all.Checked, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for library, again := range map[string]bool{"tokenizers 1": false, "tokenizers 2": true} {
				if all, err := d.Documents(t.Context(), library); err != nil || (all != nil) != again {
					t.Errorf("%s: %v, %v", library, all != nil, err)
				}
			}
		})
	}
}
