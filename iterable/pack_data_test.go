package iterable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// storeOf writes rows as one row group.
func storeOf[T any](t *testing.T, rows []T) *memstore.Store {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	store.Put("data/a.parquet", b.Bytes())
	return store
}

func pointers(all ...int32) (out []*int32) {
	for i := range all {
		out = append(out, &all[i])
	}
	return out
}

// Data that cannot be packed fails the stream with an error that says where, unless a filter leaves
// it out.
func TestPackOfUnfitRows(t *testing.T) {
	type pair struct {
		A []*int32 `parquet:"a,list"`
		B []int64  `parquet:"b,list"`
		N int32    `parquet:"n"`
	}
	rows := []pair{{pointers(1, 2), []int64{1, 2}, 2}, {pointers(3), []int64{3}, 1}, {pointers(4, 5, 6), []int64{4, 5, 6}, 3}}
	for _, c := range []struct {
		name   string
		change func(rows []pair)
		length string
		want   string
	}{
		{"unequal lists", func(rows []pair) { rows[1].B = []int64{3, 3} }, "", `column "b": row 1 of the row group has 2 items, and 1 in column "a"`},
		{"a shorter second list", func(rows []pair) { rows[2].B = []int64{4, 5} }, "", `column "b": row 2 of the row group has 2 items, and 3 in column "a"`},
		{"a second list without items", func(rows []pair) { rows[0].B = nil }, "", `column "b": row 0 of the row group has 0 items, and 2 in column "a"`},
		{"null item", func(rows []pair) { rows[2].A[1] = nil }, "", `column "a": row 2 of the row group has a null at item 1`},
		{"wrong length", func(rows []pair) { rows[0].N = 5 }, "n", `column "n": it has 5 for row 0 of the row group, whose list makes 2`},
		{"negative length", func(rows []pair) { rows[0].N = -1 }, "n", `takes lengths from 0 to 2147483645, got -1 in column "n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := make([]pair, len(rows))
			for i, row := range rows {
				bad[i] = pair{append([]*int32(nil), row.A...), row.B, row.N}
			}
			c.change(bad)
			err := readPacked(t, storeOf(t, bad), Options{Reading: Reading{Columns: []string{"a", "b"}}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"a": 4}, Length: c.length}}})
			if err == nil || !contains(err.Error(), c.want) || !contains(err.Error(), "mem://data/a.parquet") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// readPacked opens a data set and reads an epoch.
func readPacked(t *testing.T, store *memstore.Store, o Options) error {
	t.Helper()
	o.Tail = shuffle.Short
	d, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o)
	if err != nil {
		return err
	}
	defer d.Close()
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 2})
	defer s.Close()
	for {
		dr, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		dr.Release()
	}
}

// Empty lists and lists that are null are in no block, also where eos and bos are written.
func TestPackLeavesOutEmptyLists(t *testing.T) {
	type document struct {
		ID     int64   `parquet:"id"`
		Tokens []int64 `parquet:"tokens,list"`
	}
	eos, bos := int64(-1), int64(-2)
	store := storeOf(t, []document{{0, nil}, {1, []int64{10}}, {2, []int64{}}, {3, []int64{30, 31}}, {4, nil}})
	for _, strategy := range []rule.PackStrategy{rule.Wrapped, rule.BestFit, rule.BestFitSplit} {
		t.Run(string(strategy), func(t *testing.T) {
			d := open(t, store, Options{Order: Order{Tail: shuffle.Short}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}, Strategy: strategy, EOS: &eos, BOS: &bos}}})
			s := stream(t, d, shuffle.Worker{}, StreamOptions{})
			dr, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := packedRows(t, d.Schema(), dr)[0]
			if dr.Release(); got.Tokens != "[-2 10 -1 -2 30 31 -1 0]" || got.IDs != "[1 3]" || got.Lengths != "[3 4]" || d.NumSamples() != 1 {
				t.Errorf("%+v, %d samples", got, d.NumSamples())
			}
		})
	}
}

// A row whose weight draws no copy is in no block, and one that comes twice is there twice.
func TestPackByWeight(t *testing.T) {
	type document struct {
		ID     int64   `parquet:"id"`
		Tokens []int64 `parquet:"tokens,list"`
		Times  float64 `parquet:"times"`
	}
	store := storeOf(t, []document{{0, []int64{1}, 0}, {1, []int64{10, 11}, 1}, {2, []int64{20}, 0}, {3, []int64{30}, 2}})
	d := open(t, store, Options{Reading: Reading{Columns: []string{"id", "tokens"}}, Order: Order{Tail: shuffle.Short}, Weight: "times", Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}}}})
	dr, err := stream(t, d, shuffle.Worker{}, StreamOptions{}).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer dr.Release()
	if got := packedRows(t, d.Schema(), dr)[0]; got.Tokens != "[10 11 30 30 0 0 0 0]" || got.IDs != "[1 3 3]" || d.NumSamples() != 1 {
		t.Errorf("%+v, %d samples", got, d.NumSamples())
	}
}

// A column without any token has no block, and Open says so.
func TestPackOfNothing(t *testing.T) {
	type document struct {
		Tokens []int64 `parquet:"tokens,list"`
	}
	_, err := Open(t.Context(), shard.Stores{"mem": storeOf(t, []document{{}, {}})}, []string{"mem://data/"}, Options{Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}}}})
	if !errors.Is(err, ErrNoRow) {
		t.Errorf("error %v", err)
	}
}

// readThrough reads a stream to its end.
func readThrough(t *testing.T, s *Stream) {
	t.Helper()
	for {
		dr, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		dr.Release()
	}
}

// What packed streams hold stays within their reservation, whole or in parts.
func TestPackedPeakWithinTheReservation(t *testing.T) {
	table := packRows(t, [][]int{{400, 400, 400}, {400, 400}, {1200}}, func(id int64) int { return 500 + int(id*7919%1000) })
	for _, c := range []Options{
		{Reading: Reading{Columns: []string{"tokens"}}},
		{Reading: Reading{Columns: []string{"tokens", "mask"}}, Order: Order{Shuffle: true}},
		{Reading: Reading{Columns: []string{"tokens"}}, Order: Order{Shuffle: true, UnitRows: 100}},
		{Order: Order{Shuffle: true}},
		{Reading: Reading{Columns: []string{"tokens", "label"}}, Order: Order{Shuffle: true}, Choice: Choice{Filters: "id > 0"}},
	} {
		for _, strategy := range []rule.PackStrategy{rule.Wrapped, rule.BestFitSplit} {
			t.Run(fmt.Sprintf("%v %v %d %s", c.Columns, c.Shuffle, c.UnitRows, strategy), func(t *testing.T) {
				o := c
				o.ShuffleBuffer, o.Pack = Size{Rows: 200}, &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 2048}, Strategy: strategy}}
				peakWithin(t, table.store, o)
			})
		}
	}
}

// The estimate of a packed load is what its blocks take, about.
func TestPackedCostIsTheBlocks(t *testing.T) {
	table := packRows(t, [][]int{{600}, {500}}, func(id int64) int { return 500 + int(id*7919%1000) })
	var over bool
	d := open(t, table.store, Options{
		Order: Order{Shuffle: true}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 4096}}}, ShuffleBuffer: Size{Rows: 100},
		Events: Events{OverEstimate: func(measured, estimated int64) { over = true }},
	})
	units, err := d.sources[0].cut(0)
	if err != nil {
		t.Fatal(err)
	}
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
	readThrough(t, s)
	foretold := int64(0)
	for _, u := range units.All() {
		foretold += d.sources[0].sizes.packedCost(u, u.Samples, true).Bytes()
	}
	if took := s.Stats().Decoded; over || foretold > 2*took {
		t.Errorf("blocks took %v, %v were foretold", mem.Bytes(took), mem.Bytes(foretold))
	}
}

// Keys of rows are one for each block, and pieces of one document have others.
func TestPackedRowKeys(t *testing.T) {
	type document struct {
		Tokens []int64 `parquet:"tokens,list"`
	}
	d := open(t, storeOf(t, []document{{make([]int64, 20)}, {make([]int64, 3)}, {make([]int64, 9)}}), Options{
		Order: Order{Tail: shuffle.Short}, Reading: Reading{RowKeys: true}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}}},
	})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
	dr, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer dr.Release()
	var g rowgroup.Gatherer
	a, err := g.Gather(1, d.Schema().Fields[1], dr.Blocks, dr.Picks, func(n int) ([]byte, error) { return make([]byte, n), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(mem.As[int64](a.Data)), fmt.Sprint([]int64{0, 8 << 40, 16 << 40, 2 + 1<<40}); got != want {
		t.Errorf("keys %v, want %v", got, want)
	}
}

// A shard that is gone after it was counted costs its blocks alone: steps and others stay.
func TestPackedBlocksThatAreLost(t *testing.T) {
	table := packRows(t, [][]int{{40}, {50}, {60}}, randomDocuments(7))
	o := Options{
		Order: Order{Shuffle: true, Seed: 1, Tail: shuffle.Short}, Reading: Reading{Columns: []string{"tokens", "id"}}, Losses: Losses{OnError: Mask, MaxLost: 1}, IndexDir: t.TempDir(),
		Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 32}, Strategy: rule.BestFitSplit}},
	}
	so := StreamOptions{BatchSize: 4}
	want, _ := packedSteps(t, open(t, table.store, o), 2, 1, so, 0)
	again := open(t, table.store, o) // which opens no shard: footers and counts were kept
	table.store.Remove("data/part-001.parquet")
	got, _ := packedSteps(t, again, 2, 1, so, 0)
	if len(got) != len(want) {
		t.Fatalf("%d steps, want %d", len(got), len(want))
	}
	lost := 0
	for i := range want {
		var kept packedStep
		for _, b := range want[i] {
			var first int64
			if _, err := fmt.Sscanf(b.IDs, "[%d", &first); err != nil {
				t.Fatal(err)
			}
			if first >= 40 && first < 90 {
				lost++
			} else {
				kept = append(kept, b)
			}
		}
		if fmt.Sprint(got[i]) != fmt.Sprint(kept) {
			t.Fatalf("step %d: %d blocks, want %d:\n%v\nwant\n%v", i, len(got[i]), len(kept), got[i], kept)
		}
	}
	if lost == 0 {
		t.Error("nothing was lost")
	}
}
