package iterable

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Tokens that take four times the bytes of their texts, which is the most, take memory before they
// are made. They stay within the limit, or the row group is refused.
func TestTokenizeWithinMemory(t *testing.T) {
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text,plain"`
	}
	store, id, r := &memstore.Store{}, int64(0), rand.New(rand.NewPCG(3, 4))
	for s := range 4 {
		store.Put(fmt.Sprintf("data/part-%d.parquet", s), writeShard(t, []int{300, 300, 300}, func() row {
			id++
			text := make([]byte, 1000+r.IntN(5000))
			for i := range text {
				text[i] = byte('a' + r.IntN(26))
			}
			return row{id, string(text)}
		}, parquet.PageBufferSize(1<<20)))
	}
	tok := testTokenizer(t) // a token for each byte
	for name, change := range map[string]func(o *Options){
		"rows": func(o *Options) { o.ShuffleBuffer = Size{Rows: 300} },
		"blocks": func(o *Options) {
			o.ShuffleBuffer, o.Pack = Size{Rows: 100}, &Pack{Pack: rule.Pack{Columns: map[string]int{"text": 2048}}}
		},
		"buckets": func(o *Options) {
			o.ShuffleBuffer, o.Bucket = Size{Rows: 20}, &rule.Bucket{Columns: map[string]int{"text": 32768}}
		},
	} {
		for _, memory := range []int64{32 << 20, 14 << 20} {
			t.Run(fmt.Sprintf("%s, %d MiB", name, memory>>20), func(t *testing.T) {
				o := Options{Order: Order{Shuffle: true, Tail: shuffle.Short}, Resources: Resources{Memory: memory}, Tokenize: map[string]Tokenizer{"text": tok}}
				change(&o)
				d := open(t, store, o)
				s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, Draws: 2, Parallel: 2, Epochs: 1})
				read, err := readAll(t, s)
				switch refused := errors.Is(err, rowgroup.ErrTooLarge); {
				case refused && memory == 14<<20:
				case int64(read) != d.NumSamples():
					t.Errorf("%d samples of %d, %v", read, d.NumSamples(), err)
				case s.Stats().Tokens < 12*300*3000:
					t.Errorf("%d tokens were made", s.Stats().Tokens)
				}
				if _, most := s.account.Peak(); most > memory {
					t.Errorf("the account held %s of %s\n%v", mem.Bytes(most), mem.Bytes(memory), s.account)
				}
			})
		}
	}
}

// Texts that nothing but their tokens needs are freed when the tokens are made, however rows are
// laid out in blocks. The shuffle buffer holds 1,600 rows, or 800 in file order, of texts of over
// 6 KB, and takes at most 3 KB a row for a list of their tokens.
func TestTokenizeFreesTexts(t *testing.T) {
	type row struct {
		ID    int64  `parquet:"id"`
		Text  string `parquet:"text,plain"`
		Coded string `parquet:"coded,dict"`
	}
	const least, rows = 6000, 400 // bytes of a text, rows of a row group
	word := strings.Repeat("a", 64) + " "
	text := func(words int64) string { return strings.Repeat(word, least/len(word)+int(words)) }
	store, id := &memstore.Store{}, int64(0)
	for s := range 2 {
		store.Put(fmt.Sprintf("data/part-%d.parquet", s), writeShard(t, []int{rows, rows}, func() row {
			id++
			return row{id, text(id % 64), text(id % 50)}
		}, parquet.PageBufferSize(1<<18)))
	}
	var merges []string
	for n := 1; n < 64; n *= 2 { // a word is two tokens
		merges = append(merges, strings.Repeat("a", n)+" "+strings.Repeat("a", n))
	}
	tok := testTokenizer(t, merges...)
	both := tok
	both.Join = []string{"text", "coded"}
	shuffled := Order{Shuffle: true}
	for name, o := range map[string]Options{
		"parts":           {Order: shuffled, Tokenize: map[string]Tokenizer{"text": tok}},
		"dictionary":      {Order: shuffled, Tokenize: map[string]Tokenizer{"coded": tok}},
		"two columns":     {Order: shuffled, Tokenize: map[string]Tokenizer{"tokens": both}},
		"two tokenizers":  {Order: shuffled, Tokenize: map[string]Tokenizer{"tokens": both, "more": both}},
		"few rows":        {Order: shuffled, Choice: Choice{Filters: "id between 100 and 400"}, Tokenize: map[string]Tokenizer{"text": tok}},
		"filter of texts": {Order: shuffled, Choice: Choice{Filters: "length(text) > 4000"}, Tokenize: map[string]Tokenizer{"text": tok}},
		"slices":          {Order: Order{Shuffle: true, UnitRows: 200}, Tokenize: map[string]Tokenizer{"text": tok}},
		"file order":      {Tokenize: map[string]Tokenizer{"text": tok}},
	} {
		t.Run(name, func(t *testing.T) {
			for made := range o.Tokenize {
				o.Columns = append(o.Columns, made)
			}
			o.ShuffleBuffer = Size{Rows: 2 * rows}
			o.Columns, o.Tail = append(o.Columns, "id"), shuffle.Short
			d := open(t, store, o)
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, Draws: 2, Parallel: 1, Epochs: 1})
			read, err := readAll(t, s)
			if int64(read) != d.NumSamples() || !errors.Is(err, io.EOF) {
				t.Fatalf("%d samples of %d, %v", read, d.NumSamples(), err)
			}
			by, _ := s.account.Peak()
			if most := int64(len(o.Tokenize) * rows * least * 2); by[mem.Shuffle] > most {
				t.Errorf("the buffer held %s, want %s at most\n%v", mem.Bytes(by[mem.Shuffle]), mem.Bytes(most), s.account)
			}
		})
	}
}

// A text that is one word of a repeated character takes many times its bytes while it is encoded.
// The account has them before they are taken.
func TestTokenizeCountsLongWords(t *testing.T) {
	type row struct {
		Text string `parquet:"text,plain"`
	}
	text := []byte(strings.Repeat("ab", 1<<19))
	store := &memstore.Store{}
	store.Put("data/part.parquet", writeShard(t, []int{2}, func() row { return row{string(text)} }))
	tok := testTokenizer(t, "a b", "ab ab")
	d := open(t, store, Options{Order: Order{Shuffle: true, Tail: shuffle.Short}, Tokenize: map[string]Tokenizer{"text": tok}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 1, Draws: 1, Parallel: 1, Epochs: 1})
	if read, err := readAll(t, s); read != 2 || !errors.Is(err, io.EOF) {
		t.Fatalf("%d rows, %v", read, err)
	}
	var asked int64
	enc := tok.NewEncoder(tok.Options)
	enc.Allow(func(bytes int64) { asked = bytes })
	if _, err := enc.Append(nil, text); err != nil || asked < 8*int64(len(text)) {
		t.Fatalf("a word asks for %s, error %v", mem.Bytes(asked), err)
	}
	if by, _ := s.account.Peak(); by[mem.Decode] < asked {
		t.Errorf("a word takes %s, counted are\n%v", mem.Bytes(asked), s.account)
	}
}
