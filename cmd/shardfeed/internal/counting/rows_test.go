package counting

import (
	"bytes"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/iterable"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The texts of sources add up by their columns.
func TestPrint(t *testing.T) {
	var all Rows
	for _, name := range []string{"web", "code"} {
		of := Rows{Rows: 2, AllRows: 3, Shards: 1, RowGroups: 1}
		of.AddTexts(Texts{Column: "text", Texts: iterable.Texts{Documents: 2, Bytes: 3000, Tokens: 1000, Special: 1}})
		all.AddSource(name, of)
	}
	all.AddTexts(Texts{Column: "title"})
	var b bytes.Buffer
	if err := all.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := "web          2\ncode         2\nall sources  4\ntext of web: 1,000 tokens in 2 documents, 3.00 bytes each; 1 with special tokens\n" +
		"text of code: 1,000 tokens in 2 documents, 3.00 bytes each; 1 with special tokens\ntext: 2,000 tokens in 4 documents, 3.00 bytes each; 2 with special tokens\ntitle: 0 tokens in 0 documents; 0 with special tokens\n"
	if b.String() != want || all.AllRows != 6 || len(all.Sources) != 2 {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
