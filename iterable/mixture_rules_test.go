package iterable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// Each pass over a source has the rows that its rule keeps, as often as it says, whether or not its
// units stay decoded.
func TestMixturePassesAreTheRules(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	table := ruledRows(t, r, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {7, 60, 3, 12, 19}, {90, 0, 90}, {5, 5, 5, 66}})
	for n := range 40 {
		var rules Options
		times := table.randomRule(t, r, &rules)
		kept, want := 0, []int64{}
		for id, n := range times {
			kept += n
			want = append(want, slices.Repeat([]int64{int64(id)}, n)...)
		}
		if kept == 0 {
			continue
		}
		source := Source{
			Name: "a", Addresses: []string{"mem://data/"}, Weight: 1, Choice: Choice{Filters: rules.Filters, Split: rules.Split, Rows: rules.Rows},
			RowWeight: rules.Weight,
		}
		o := Options{
			Sources: []Source{source}, Reading: Reading{Columns: []string{"id", "label", "image"}}, Order: Order{Lanes: 1 + r.IntN(6), UnitRows: 1 + r.Int64N(90), Seed: r.Uint64()},
			ShuffleBuffer: Size{Rows: []int64{1, 50, 1 << 20}[r.IntN(3)]},
		}
		t.Run(fmt.Sprintf("%d, %d rows in the buffer", n, o.ShuffleBuffer.Rows), func(t *testing.T) {
			d := openMixture(t, table.store, o)
			world := 1 + r.IntN(3)
			const epochs = 3
			passes := make([][]int64, epochs)
			for rank := range world {
				s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world}, StreamOptions{BatchSize: 7, Tail: shuffle.Pad, Epochs: epochs})
				for _, x := range rest(t, s) {
					passes[x.epoch] = append(passes[x.epoch], x.ids[:x.valid]...)
				}
				s.Close()
			}
			for epoch, got := range passes {
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("pass %d has %d samples, want %d", epoch, len(got), len(want))
				}
			}
		})
	}
}
