package iterable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// bigGroup is one row group of long texts that compress well.
func bigGroup(t testing.TB, rows int) *memstore.Store {
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text"`
	}
	text, id := strings.Repeat("lorem ipsum ", 100), int64(-1)
	next := func() row {
		id++
		return row{id, fmt.Sprint(id, text)}
	}
	store := &memstore.Store{}
	store.Put("data/part-000.parquet", writeShard(t, []int{rows}, next, parquet.Compression(&parquet.Zstd)))
	return store
}

// Row groups that are larger than the memory are read in file order: with filters, from any place
// on, and by number.
func TestFileOrderOfLargeRowGroups(t *testing.T) {
	const rows = 60_000 // 70 MB
	store := bigGroup(t, rows)
	for _, memory := range []int64{24 << 20, 64 << 20} {
		for filter, keeps := range map[string]func(id int64) bool{
			"":                 func(int64) bool { return true },
			"id >= 31234":      func(id int64) bool { return id >= 31234 },
			"len(text) < 1204": func(id int64) bool { return id < 1000 },
		} {
			t.Run(fmt.Sprint(memory>>20, " MiB ", filter), func(t *testing.T) {
				d := open(t, store, Options{Resources: Resources{Memory: memory}, Choice: Choice{Filters: filter}})
				var want []int64
				for id := range int64(rows) {
					if keeps(id) {
						want = append(want, id)
					}
				}
				so := StreamOptions{BatchSize: 100, Tail: shuffle.Short}
				s := stream(t, d, shuffle.Worker{}, so)
				x, err := s.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				state := x.State
				got := take(t, s, x).ids
				so.State = &state
				for _, x := range rest(t, stream(t, d, shuffle.Worker{}, so)) {
					got = append(got, x.ids...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d rows, in another order or not those of %d", len(got), len(want))
				}
				taker, err := d.Taker(TakerOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer taker.Close()
				last, err := taker.Take(t.Context(), []int64{int64(len(want) - 1)})
				if err != nil {
					t.Fatal(err)
				}
				if got := ids(t, d.Schema(), last); got[0] != want[len(want)-1] {
					t.Errorf("the last row is %d", got[0])
				}
				last.Release()
			})
		}
	}
}

// Cutting the units of a filtered stream in file order estimates each row group and remembers none
// of the estimates, which take as much memory as the footers.
func TestCutRemembersNoEstimates(t *testing.T) {
	d := open(t, prefixed(t), Options{Choice: Choice{Filters: "id > 3"}, Resources: Resources{Memory: 64 << 20}})
	if _, err := d.sources[0].cutWithin(t.Context(), d.sources[0].fileCut()); err != nil {
		t.Fatal(err)
	}
	d.sources[0].sizes.few.Range(func(key, _ any) bool {
		t.Errorf("an estimate of %v is kept", key)
		return true
	})
}
