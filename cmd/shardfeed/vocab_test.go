package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// labels writes a file of two row groups; every fifth label is null.
func labels(t *testing.T, row func(label *string) any, words ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.SchemaOf(row(nil)))
	for i := range 100 {
		r := row(nil)
		if i%5 > 0 {
			r = row(&words[i%len(words)])
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		if i%50 == 49 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func codedLabel(label *string) any {
	return struct {
		Label *string `parquet:"label,optional,dict"`
	}{label}
}

func plainLabel(label *string) any {
	return struct {
		Label *string `parquet:"label,optional,plain"`
	}{label}
}

// withoutRows overwrites the data pages of a file.
func withoutRows(t *testing.T, file []byte) []byte {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	file = slices.Clone(file)
	for _, g := range f.Metadata().RowGroups {
		c := g.Columns[0].MetaData
		clear(file[c.DataPageOffset : c.DictionaryPageOffset+c.TotalCompressedSize])
	}
	return file
}

// vocabularyOf is what vocab finds in files of a column "label", or the error.
func vocabularyOf(t *testing.T, counted bool, files ...[]byte) string {
	t.Helper()
	store := &memstore.Store{}
	for i, file := range files {
		store.Put(fmt.Sprintf("data/%d.parquet", i), file)
	}
	stores := shard.Stores{"mem": store}
	shards, err := shard.Discover(t.Context(), stores, []string{"mem://data/"}, shard.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rowgroup.Open(t.Context(), stores, shards, rowgroup.Options{
		Columns: []string{"label"}, RuleColumns: []rowgroup.RuleColumn{{Path: "label"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	found, counts := vocabulary{Column: "label"}, map[string]int64{}
	if err := found.find(t.Context(), m, nil, counts, counted); err != nil {
		return "an error"
	}
	found.list(counts, 0)
	return fmt.Sprint(found.Rows, found.Nulls, found.Words)
}

// Words come of dictionaries alone where all rows are coded by them, and of the rows elsewhere.
func TestVocabOfDictionaries(t *testing.T) {
	coded := labels(t, codedLabel, "b", "a", "ä")
	plain := labels(t, plainLabel, "c", "a")
	for _, c := range []struct {
		name    string
		counted bool
		files   [][]byte
		want    string
	}{
		{"coded", false, [][]byte{coded, coded, coded}, "300 60 [a b ä]"},
		{"plain", false, [][]byte{plain}, "100 20 [a c]"},
		{"both", false, [][]byte{plain, coded, plain}, "300 60 [a b c ä]"},
		{"both, counted", true, [][]byte{plain, coded, plain}, "300 60 [a b c ä]"},
		{"without rows", false, [][]byte{withoutRows(t, coded), plain}, "200 40 [a b c ä]"},
		{"without rows, counted", true, [][]byte{withoutRows(t, coded), plain}, "an error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := vocabularyOf(t, c.counted, c.files...); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
