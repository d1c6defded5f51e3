package iterable

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/tokenize"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// A textRow has a text, also coded by a dictionary, and its tokens.
type textRow struct {
	ID     int64   `parquet:"id"`
	Text   *string `parquet:"text,optional,plain"`
	Coded  *string `parquet:"coded,optional,dict"`
	Tokens []int32 `parquet:"tokens,optional,list"`
	Count  int32   `parquet:"count"`
	Times  float32 `parquet:"times"`
}

func testTokenizer(t testing.TB, merges ...string) Tokenizer {
	t.Helper()
	tok, err := tokenize.Load(tokenizetest.File(merges...))
	if err != nil {
		t.Fatal(err)
	}
	return Tokenizer{Tokenizer: tok}
}

// textStore writes three shards of texts: many short ones, some long, empty and null ones.
func textStore(t testing.TB, tok Tokenizer) *memstore.Store {
	t.Helper()
	enc := tok.NewEncoder(tok.Options)
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the a thé thing of 中文 at then <|end|> \U0001f600 x")
	store := &memstore.Store{}
	id := int64(0)
	for s := range 3 {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[textRow](&b)
		for i := range 120 {
			row := textRow{ID: id, Times: float32(id%3) / 2}
			if id++; i%11 > 0 {
				var all []string
				for range r.IntN(40) * r.IntN(3) {
					all = append(all, words[r.IntN(len(words))])
				}
				text := strings.Join(all, " ")
				ids, err := enc.Append([]int32{}, []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				row.Text, row.Coded, row.Tokens, row.Count = &text, &text, ids, int32(len(ids))
			}
			if _, err := w.Write([]textRow{row}); err != nil {
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
		store.Put(fmt.Sprintf("data/%d.parquet", s), b.Bytes())
	}
	return store
}

// drawnLists reads an epoch: the ids and the lists of each step.
func drawnLists(t *testing.T, d *Dataset, name string) (steps [][]string) {
	t.Helper()
	return listsFrom(t, d, name, nil)
}

// listsFrom is drawnLists for the steps after a state.
func listsFrom(t *testing.T, d *Dataset, name string, state *shuffle.State) (steps [][]string) {
	t.Helper()
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, State: state})
	defer s.Close()
	alloc := func(n int) ([]byte, error) { return make([]byte, n), nil }
	for {
		dr, err := s.Next(t.Context())
		if err != nil {
			if len(steps) == 0 {
				t.Fatal(err)
			}
			return steps
		}
		var all []string
		blocks := dr.Blocks
		var g rowgroup.Gatherer
		for i, f := range d.Schema().Fields {
			a, err := g.Gather(i, f, blocks, dr.Picks, alloc)
			if err != nil {
				t.Fatal(err)
			}
			if f.Name == name || f.Name == "id" || f.Name == rowgroup.LengthsColumn {
				all = append(all, arrayText(a))
			}
		}
		dr.Release()
		steps = append(steps, all)
	}
}

// arrayText shows the values of an array, without its name.
func arrayText(a *column.Array) string {
	text := fmt.Sprint(a.Len, a.Nulls, a.Valid, a.Offsets, a.Data)
	for _, c := range a.Children {
		text += arrayText(c)
	}
	return text
}

// Tokens of texts are read as a column with the same lists is: in any order, packed, in buckets,
// with filters, weights and a column of lengths, of plain texts and of coded ones.
func TestTokenize(t *testing.T) {
	tok := testTokenizer(t, "t h", "th e", "e n")
	store := textStore(t, tok)
	eos := int64(256)
	pack := func(strategy rule.PackStrategy, length string, name string) *Pack {
		return &Pack{Pack: rule.Pack{Columns: map[string]int{name: 32}, Strategy: strategy, EOS: &eos, Length: length}, Value: 7}
	}
	ordered := Order{Shuffle: true, Seed: 5, Lanes: 3, UnitRows: 23, Tail: shuffle.Short}
	for _, c := range []struct {
		name   string
		change func(o *Options, name string)
	}{
		{"file order", func(o *Options, _ string) {}},
		{"shuffled", func(o *Options, _ string) { o.Order = ordered }},
		{"filtered", func(o *Options, _ string) { o.Order, o.Filters = ordered, "id < 100 or times > 0.4" }},
		{"weighted", func(o *Options, _ string) { o.Order, o.Weight = ordered, "times" }},
		{"wrapped", func(o *Options, name string) { o.Pack = pack(rule.Wrapped, "", name) }},
		{"wrapped, shuffled", func(o *Options, name string) { o.Order, o.Pack = ordered, pack(rule.Wrapped, "", name) }},
		{"wrapped, filtered and weighted", func(o *Options, name string) {
			o.Order, o.Pack, o.Filters, o.Weight = ordered, pack(rule.Wrapped, "", name), "id < 100 or times > 0.4", "times"
		}},
		{"bfd", func(o *Options, name string) { o.Order, o.Pack = ordered, pack(rule.BestFit, "", name) }},
		{"bfd_split, filtered", func(o *Options, name string) {
			o.Order, o.Pack, o.Filters = ordered, pack(rule.BestFitSplit, "", name), "id > 100"
		}},
		{"bfd, a part by its rows, filtered", func(o *Options, name string) {
			o.Order, o.Pack, o.Filters = ordered, pack(rule.BestFit, "", name), "id > 40"
			o.Split = rule.Split{Parts: map[string]float64{"train": 0.7, "val": 0.3}, Part: "train", Seed: 3}
		}},
		{"wrapped, a sample by a key", func(o *Options, name string) {
			o.Order, o.Pack, o.Split = ordered, pack(rule.Wrapped, "", name), rule.Split{Subsample: 0.4, Key: "id", Seed: 3}
		}},
		{"by lengths", func(o *Options, name string) { o.Order, o.Pack = ordered, pack(rule.BestFit, "count", name) }},
		{"by lengths, filtered", func(o *Options, name string) {
			o.Order, o.Pack, o.Filters = ordered, pack(rule.Wrapped, "count", name), "count > 3"
		}},
		{"bucket", func(o *Options, name string) {
			o.Order, o.Bucket = ordered, &rule.Bucket{Columns: map[string]int{name: 512}}
		}},
		{"bucket, filtered", func(o *Options, name string) {
			o.Order, o.Bucket, o.Filters = ordered, &rule.Bucket{Columns: map[string]int{name: 512}, Multiple: 8}, "times < 0.9"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := func(name string) [][]string {
				o := Options{Reading: Reading{Columns: []string{"id", name}}, ShuffleBuffer: Size{Rows: 64}, Order: Order{Tail: shuffle.Short}}
				if name != "tokens" {
					o.Tokenize = map[string]Tokenizer{name: tok}
				}
				c.change(&o, name)
				return drawnLists(t, open(t, store, o), name)
			}
			want := read("tokens")
			for _, name := range []string{"text", "coded"} {
				if got := read(name); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %d steps differ from those of the lists, which has %d", name, len(got), len(want))
				}
			}
		})
	}
}

// A text that has no tokens fails with its place: when it is counted, and when it is loaded.
func TestTokenizeErrors(t *testing.T) {
	type row struct {
		Text []byte `parquet:"text,plain"`
	}
	tok := testTokenizer(t)
	strict := tok
	strict.Options.Specials = tokenize.SpecialsError
	for _, c := range []struct {
		name string
		tok  Tokenizer
		text string
		want string
	}{
		{"not UTF-8", tok, "\xff", "the text is not valid UTF-8"},
		{"a special token", strict, "so <|end|>", `the text contains the special token "<|end|>" at byte 3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := storeOf(t, []row{{[]byte("a")}, {[]byte("b")}, {[]byte(c.text)}})
			want := `mem://data/a.parquet: row group 0, column "text": row 2 of the row group: ` + c.want
			o := Options{Tokenize: map[string]Tokenizer{"text": c.tok}}
			if err := readPacked(t, store, o); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("loaded: got %v\nwant %s", err, want)
			}
			o.Pack = &Pack{Pack: rule.Pack{Columns: map[string]int{"text": 8}}}
			if err := readPacked(t, store, o); err == nil || !strings.Contains(err.Error(), "row 2 of the row group: "+c.want) || !strings.Contains(err.Error(), "mem://data/a.parquet: row group 0") {
				t.Errorf("counted: got %v", err)
			}
		})
	}
	for want, name := range map[string]string{
		`Tokenize["none"] needs column "none", which is not read: name a whole column of the data`: "none",
		`Tokenize["count"] needs a column with one text a row, and "count" is int32`:               "count",
	} {
		_, err := Open(t.Context(), shard.Stores{"mem": textStore(t, tok)}, []string{"mem://data/"}, Options{Tokenize: map[string]Tokenizer{name: tok}})
		var e *OptionError
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The next start uses the counts that the first kept. Another tokenizer has counts of its own, and
// makes another rule, so that a state of the first is refused.
func TestTokenizeCountsAreKept(t *testing.T) {
	tok, other := testTokenizer(t, "t h"), testTokenizer(t, "e n")
	store, dir, kept := textStore(t, tok), t.TempDir(), filepath.Join(t.TempDir(), "kept")
	start := func(tok Tokenizer) (d *Dataset, read bool) {
		o := Options{IndexDir: dir, Order: Order{Shuffle: true}, Tokenize: map[string]Tokenizer{"text": tok}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"text": 16}}}}
		o.Columns, o.ManifestDir = []string{"text"}, kept
		d = open(t, store, o)
		return d, d.sources[0].counted().Read
	}
	d, read := start(tok)
	if !read {
		t.Error("the first start counted nothing")
	}
	again, read := start(tok)
	if read || again.NumSamples() != d.NumSamples() || again.Rule() != d.Rule() {
		t.Errorf("the second start read %t, %d samples of rule %s, want %d of %s", read, again.NumSamples(), again.Rule(), d.NumSamples(), d.Rule())
	}
	text := tok
	text.Options.Specials = tokenize.SpecialsText
	for _, tok := range []Tokenizer{other, text} {
		changed, read := start(tok)
		if !read || changed.Rule() == d.Rule() {
			t.Errorf("another tokenizer read %t, rule %s", read, changed.Rule())
		}
		s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 2})
		state := s.State()
		_, err := changed.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 2, State: &state})
		var e *shuffle.MismatchError
		if !errors.As(err, &e) || e.Field != "rule" || !strings.Contains(err.Error(), strings.Join(changed.sources[0].transforms.Lines(), ", ")+"; the rule "+d.Rule()+" had: no tokenizer that this machine knows") {
			t.Errorf("the state of another tokenizer: %v", err)
		}
		if _, err := d.SaveManifest(kept); err != nil {
			t.Fatal(err)
		}
		_, err = changed.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 2, State: &state})
		if !errors.As(err, &e) || !strings.Contains(err.Error(), "had: "+strings.Join(d.sources[0].transforms.Lines(), ", ")) {
			t.Errorf("the state of another tokenizer that is known: %v", err)
		}
		if err := os.RemoveAll(kept); err != nil {
			t.Fatal(err)
		}
	}
}

// A plan has the texts of all rows that come, as often as they come: counted, or kept by an earlier
// start, of plain texts and of coded ones.
func TestTextsOfAPlan(t *testing.T) {
	tok := testTokenizer(t, "t h", "th e")
	store, dir := textStore(t, tok), t.TempDir()
	var texts samples.Texts
	for _, name := range []string{"text", "coded"} {
		o := Options{IndexDir: dir, Order: Order{Shuffle: true}, Weight: "times", Tokenize: map[string]Tokenizer{name: tok}}
		o.Filters, o.Columns = "id != 7", []string{name, "tokens", "count"}
		o.Bucket = &rule.Bucket{Columns: map[string]int{name: 512}}
		for _, kept := range []bool{false, true} {
			d := open(t, store, o)
			p, err := d.Plan(2, StreamOptions{BatchSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			of := p.Tokenizing[0]
			if len(p.Tokenizing) != 1 || of.Column != name || of.Vocabulary != 259 || of.Fingerprint != tok.Fingerprint() || of.FileBytes == 0 && name == "text" || of.Texts == nil || (of.WorkBytes == 0) != kept {
				t.Fatalf("%s: the plan has %+v", name, of)
			}
			if !p.Packed.Counted || p.Packed.Tokens != of.Texts.Tokens || of.Texts.Special == 0 || of.Texts.Documents < 100 {
				t.Errorf("%s: %+v, and batches have %d tokens", name, of.Texts, p.Packed.Tokens)
			}
			if texts == (samples.Texts{}) {
				texts = *of.Texts
			}
			if *of.Texts != texts {
				t.Errorf("%s, kept %t: %+v, want %+v", name, kept, of.Texts, texts)
			}
		}
	}
}

// States and saved plans of another tokenizer, or of none, are refused in any stream, and the error
// has the tokenizers of both. With the same tokenizer streams continue.
func TestAnotherTokenizerIsRefused(t *testing.T) {
	tok, other := testTokenizer(t, "t h"), testTokenizer(t, "e n")
	store := textStore(t, tok)
	for name, change := range map[string]func(o *Options){
		"file order": func(*Options) {},
		"shuffled":   func(o *Options) { o.Shuffle = true },
		"filtered":   func(o *Options) { o.Shuffle, o.Filters = true, "id < 300" },
		"split":      func(o *Options) { o.Split = rule.Split{Subsample: 0.5} },
		"bucket": func(o *Options) {
			o.Shuffle, o.Bucket = true, &rule.Bucket{Columns: map[string]int{"text": 512}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept := t.TempDir()
			start := func(tok Tokenizer, plan *SavedPlan) (*Dataset, error) {
				o := Options{Reading: Reading{Columns: []string{"id", "text"}}, Order: Order{Tail: shuffle.Short}, Tokenize: map[string]Tokenizer{"text": tok}, ManifestDir: kept, Plan: plan}
				if tok.Tokenizer == nil {
					o.Tokenize = nil
				}
				if change(&o); plan != nil {
					o.Shuffle = plan.Shuffled()
				}
				if tok.Tokenizer == nil && o.Bucket != nil {
					o.Bucket = nil
				}
				return Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o)
			}
			begin := func(tok Tokenizer) *Dataset {
				d, err := start(tok, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = d.Close() })
				return d
			}
			d := begin(tok)
			if _, err := d.SaveManifest(kept); err != nil {
				t.Fatal(err)
			}
			state := resumesAfterOne(t, d, begin(tok), "text")
			plan, _ := savedPlan(t, d)
			if again, err := start(tok, plan); err != nil {
				t.Error(err)
			} else if err := again.Close(); err != nil {
				t.Error(err)
			}
			for _, tok := range []Tokenizer{other, {}} {
				var e *shuffle.MismatchError
				here := "no tokenizer"
				if tok.Tokenizer != nil {
					here = tok.Fingerprint()
				}
				refused := func(err error) bool {
					return errors.As(err, &e) && e.Field == "rule" && strings.Contains(err.Error(), here) && strings.Contains(err.Error(), d.sources[0].transforms.Lines()[0])
				}
				if _, err := begin(tok).Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 4, State: &state}); !refused(err) {
					t.Errorf("the state of another tokenizer: %v", err)
				}
				if _, err := start(tok, plan); !refused(err) {
					t.Errorf("the plan of another tokenizer: %v", err)
				}
			}
		})
	}
}

// resumesAfterOne checks that again, which is d opened a second time, continues after the first
// step of d. It returns the state after that.
func resumesAfterOne(t *testing.T, d, again *Dataset, column string) shuffle.State {
	t.Helper()
	whole := drawnLists(t, d, column)
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
	defer s.Close()
	dr, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dr.Release()
	state := s.State()
	if got := listsFrom(t, again, column, &state); !reflect.DeepEqual(got, whole[1:]) {
		t.Errorf("%d steps after the first of %d differ", len(got), len(whole))
	}
	return state
}
