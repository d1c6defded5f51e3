package iterable

import (
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// What is found before counting is enough for another node to open the same data set, of one source
// and of several.
func TestFoundBeforeCounting(t *testing.T) {
	tok := testTokenizer(t, "t h")
	store := textStore(t, tok)
	single := Options{Choice: Choice{Filters: "id > 20"}, Tokenize: map[string]Tokenizer{"text": tok}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"text": 16}}}}
	single.Columns = []string{"text"}
	mixed := Options{Order: Order{Shuffle: true}, Tokenize: single.Tokenize, Pack: single.Pack, Reading: single.Reading, Sources: []Source{
		{Name: "a", Addresses: []string{"mem://data/0.parquet"}, Weight: 1, Choice: Choice{Filters: "id > 20"}},
		{Name: "b", Addresses: []string{"mem://data/1.parquet", "mem://data/2.parquet"}, Weight: 2},
	}}
	for name, o := range map[string]Options{"one source": single, "two sources": mixed} {
		t.Run(name, func(t *testing.T) {
			var found []byte
			counted := false
			o.CountShare = CountShare{Dir: t.TempDir(), Of: 1}
			o.Events.Counted = func(_, _ int64) { counted = true }
			o.Events.Found = func(inventory func(most int64) ([]byte, error)) {
				if counted || found != nil {
					t.Error("it was found while counting, or twice")
				}
				var err error
				if found, err = inventory(1 << 20); err != nil {
					t.Error(err)
				}
			}
			start := func(o Options) *Dataset {
				at := []string{"mem://data/"}
				if o.Sources != nil {
					at = nil
				}
				d, err := Open(t.Context(), shard.Stores{"mem": store}, at, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = d.Close() })
				return d
			}
			first := start(o)
			o.Events, o.CountShare = Events{}, CountShare{}
			var err error
			if o.Inventory, err = ParseInventory(found); err != nil {
				t.Fatal(err)
			}
			if second := start(o); second.NumSamples() != first.NumSamples() || second.Content() != first.Content() {
				t.Errorf("%d samples of %s, want %d of %s", second.NumSamples(), second.Content(), first.NumSamples(), first.Content())
			}
		})
	}
}
