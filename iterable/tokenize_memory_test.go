package iterable

import (
	"errors"
	"fmt"
	"math/rand/v2"
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
