package iterable

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// twoVocabularies writes texts with their tokens by two tokenizers.
func twoVocabularies(t *testing.T, one, two Tokenizer) *memstore.Store {
	t.Helper()
	type row struct {
		ID   int64   `parquet:"id"`
		Text *string `parquet:"text,optional,plain"`
		One  []int32 `parquet:"one,optional,list"`
		Two  []int32 `parquet:"two,optional,list"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	for i := range 300 {
		of := row{ID: int64(i)}
		if i%9 > 0 {
			text := strings.Repeat("then the hen went to the den. ", i%5) + fmt.Sprint("thé ", i)
			of.Text = &text
			for to, tok := range map[*[]int32]Tokenizer{&of.One: one, &of.Two: two} {
				var err error
				if *to, err = tok.NewEncoder(tok.Options).Append([]int32{}, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := w.Write([]row{of}); err != nil {
			t.Fatal(err)
		}
		if i%70 == 69 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	store.Put("data/a.parquet", b.Bytes())
	return store
}

// ownTokenizers are a tokenizer of all sources, the one that source "two" has in its place, and a
// table with the tokens of both.
func ownTokenizers(t *testing.T) (one, two Tokenizer, store *memstore.Store) {
	t.Helper()
	one, two = testTokenizer(t, "t h", "th e"), testTokenizer(t, "e n", "h en", "d en")
	return one, two, twoVocabularies(t, one, two)
}

// ofTwo has two sources of one table. Source "two" has a tokenizer of its own, or reads other
// lists.
func ofTwo(one, two Tokenizer, texts bool, pack *Pack) Options {
	o := Options{Order: Order{Shuffle: true, Seed: 5, UnitRows: 23, Tail: shuffle.Short}, ShuffleBuffer: Size{Rows: 64}, Pack: pack}
	o.Columns = []string{"id", "list"}
	o.Sources = []Source{
		{Name: "one", Addresses: []string{"mem://data/"}, Weight: 2},
		{Name: "two", Addresses: []string{"mem://data/"}, Weight: 1, Choice: Choice{Filters: "id > 30"}},
	}
	if texts {
		one.Join, two.Join = []string{"text"}, []string{"text"}
		o.Tokenize, o.Sources[1].Tokenize = map[string]Tokenizer{"list": one}, map[string]Tokenizer{"list": two}
	} else {
		o.Sources[0].Rename, o.Sources[1].Rename = map[string]string{"one": "list"}, map[string]string{"two": "list"}
	}
	if pack != nil {
		own := *pack
		id, _ := two.ID(tokenizetest.Special)
		own.EOS = new(int64(id))
		o.Sources[1].Pack = &own
	}
	return o
}

// The rows of a source with a tokenizer of its own have the tokens of that, in every order and in
// blocks, whose end tokens are those of the source.
func TestTokenizersOfSources(t *testing.T) {
	one, two, store := ownTokenizers(t)
	id, _ := one.ID(tokenizetest.Special)
	pack := func(strategy rule.PackStrategy) *Pack {
		return &Pack{Pack: rule.Pack{Columns: map[string]int{"list": 32}, Strategy: strategy, EOS: new(int64(id))}, Value: 7}
	}
	for name, c := range map[string]struct {
		pack   *Pack
		change func(o *Options)
	}{
		"rows":            {nil, func(*Options) {}},
		"of one source":   {nil, func(o *Options) { o.Batching = shuffle.PerSource }},
		"wrapped":         {pack(rule.Wrapped), func(*Options) {}},
		"bfd":             {pack(rule.BestFit), func(*Options) {}},
		"weighted blocks": {pack(rule.BestFitSplit), func(o *Options) { o.Sources[1].Split = rule.Split{Subsample: 0.7} }},
		"bucket":          {nil, func(o *Options) { o.Bucket = &rule.Bucket{Columns: map[string]int{"list": 256}} }},
		"weights in tokens": {nil, func(o *Options) {
			o.WeightsIn, o.EpochSize = InTokens, 400
		}},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(texts bool) [][]string {
				o := ofTwo(one, two, texts, c.pack)
				c.change(&o)
				return drawnLists(t, openMixture(t, store, o), "list")
			}
			if got, want := read(true), read(false); !reflect.DeepEqual(got, want) {
				t.Errorf("%d steps differ from those of the lists, which has %d", len(got), len(want))
			}
		})
	}
}

// States and saved plans are refused where one source has another tokenizer than then, and the
// error has both. A source keeps its own counts.
func TestAnotherTokenizerOfASource(t *testing.T) {
	one, two, store := ownTokenizers(t)
	third := testTokenizer(t, "w e")
	for name, pack := range map[string]*Pack{"rows": nil, "blocks": {Pack: rule.Pack{Columns: map[string]int{"list": 32}}}} {
		t.Run(name, func(t *testing.T) {
			kept, index := t.TempDir(), t.TempDir()
			start := func(two Tokenizer, plan *SavedPlan) (*Dataset, error) {
				o := ofTwo(one, two, true, pack)
				if o.ManifestDir, o.IndexDir, o.Plan = kept, index, plan; plan != nil {
					o.ShuffleBuffer, o.UnitRows = Size{}, 0
				}
				return Open(t.Context(), shard.Stores{"mem": store}, nil, o)
			}
			begin := func(two Tokenizer) *Dataset {
				d, err := start(two, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { closeWhole(t, d) })
				return d
			}
			d := begin(two)
			if _, err := d.SaveManifest(kept); err != nil {
				t.Fatal(err)
			}
			state := resumesAfterOne(t, d, begin(two), "list")
			plan, _ := savedPlan(t, d)
			other := begin(third)
			for i, of := range other.sources {
				if read, want := of.counted().Read, i == 1 && pack != nil; pack != nil && read != want {
					t.Errorf("source %q was counted: %t, want %t", of.name, read, want)
				}
			}
			refused := func(err error) bool {
				var e *shuffle.MismatchError
				return errors.As(err, &e) && strings.Contains(err.Error(), third.Fingerprint()) && strings.Contains(err.Error(), two.Fingerprint())
			}
			if _, err := other.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 4, State: &state}); !refused(err) {
				t.Errorf("the state of another tokenizer: %v", err)
			}
			if _, err := start(third, plan); !refused(err) {
				t.Errorf("the plan of another tokenizer: %v", err)
			}
		})
	}
}

// A source replaces tokenizers of the data set, of the same columns, and tokens of the packing.
func TestTokenizersOfSourcesValidate(t *testing.T) {
	one, two := testTokenizer(t, "t h"), testTokenizer(t, "e n")
	joined := two
	joined.Join = []string{"title", "text"}
	pack := &Pack{Pack: rule.Pack{Columns: map[string]int{"text": 32}}}
	for want, change := range map[string]func(*Options){
		"": func(*Options) {},
		`source "a": tokenize["title"] replaces the tokenizer that tokenize of all sources has for the column, and that has none`: func(o *Options) {
			o.Sources[0].Tokenize = map[string]Tokenizer{"title": two}
		},
		`source "a": tokenize["text"] must join the columns that tokenize of all sources joins, ["text"] with labels of [], got ["title" "text"] with labels of []; rename gives`: func(o *Options) {
			o.Sources[0].Tokenize = map[string]Tokenizer{"text": joined}
		},
		`source "a": pack needs pack of all sources`: func(o *Options) { o.Sources[0].Pack = pack },
		`source "a": pack must be pack of all sources with other tokens`: func(o *Options) {
			o.Pack, o.Sources[0].Pack = pack, &Pack{Pack: rule.Pack{Columns: map[string]int{"text": 33}}}
		},
		" ": func(o *Options) {
			own := *pack
			own.EOS, own.Value = new(int64(3)), 5
			o.Pack, o.Sources[0].Pack = pack, &own
		},
	} {
		o := Options{Order: Order{Shuffle: true}, Tokenize: map[string]Tokenizer{"text": one}, Sources: []Source{{Name: "a", Addresses: []string{"mem://a/"}, Weight: 1, Tokenize: map[string]Tokenizer{"text": two}}}}
		change(&o)
		err := o.Validate()
		if want = strings.TrimSpace(want); want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if got := option.Spelled(err, option.Argument); err == nil || !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}
