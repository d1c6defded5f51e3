package iterable

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/rule"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Footers tell how many tokens there are where no list is empty, by writers that count empty lists:
// then no list is read to count blocks. The counts equal those of a read.
func TestPackCountsByFooters(t *testing.T) {
	type document struct {
		Tokens []int64 `parquet:"tokens,list"`
	}
	write := func(t *testing.T, createdBy, version string, empty bool) *memstore.Store {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[document](&b, parquet.CreatedBy(createdBy, version, "x"), parquet.PageBufferSize(256))
		for g := range 4 {
			for i := range 30 {
				n := 1 + (7*i+g)%19
				if empty && g == 2 && i == 5 {
					n = 0
				}
				if _, err := w.Write([]document{{make([]int64, n)}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		store := &memstore.Store{}
		store.Put("data/a.parquet", b.Bytes())
		return store
	}
	eos := int64(1)
	for _, c := range []struct {
		name, createdBy, version string
		empty                    bool
		change                   func(o *Options)
		reads                    int // row groups
	}{
		{"full lists", "parquet-cpp-arrow", "15.0.0", false, nil, 0},
		{"with eos", "parquet-cpp-arrow", "15.0.0", false, func(o *Options) { o.Pack.EOS = &eos }, 0},
		{"an empty list", "parquet-cpp-arrow", "15.0.0", true, nil, 1},
		{"an old writer", "parquet-cpp-arrow", "6.0.1", false, nil, 4},
		{"another writer", "somebody", "1", false, nil, 4},
		{"slices of row groups", "parquet-cpp-arrow", "15.0.0", false, func(o *Options) { o.UnitRows = 10 }, 4},
		{"a filter", "parquet-cpp-arrow", "15.0.0", false, func(o *Options) { o.Filters = "len(tokens) > 0" }, 4},
		{"best fit", "parquet-cpp-arrow", "15.0.0", false, func(o *Options) { o.Pack.Strategy = rule.BestFit }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := write(t, c.createdBy, c.version, c.empty)
			reports := 0
			o := Options{Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 16}}}, pruneFrom: 1, Events: Events{Counted: func(_, _ int64) { reports++ }}}
			if c.change != nil {
				c.change(&o)
			}
			d := open(t, store, o)
			want := c.reads + 1
			if c.reads == 0 {
				want = 2 // at the start, and when the footers have told
			}
			if reports != want {
				t.Errorf("%d reports, want %d", reports, want)
			}
			o.pruneFrom = 1 << 40
			if read := open(t, store, o); read.NumSamples() != d.NumSamples() || d.sources[0].counted().Tokens != read.sources[0].counted().Tokens || d.sources[0].counted().Tokens == 0 {
				t.Errorf("%d blocks of %d tokens, %d of %d by reading", d.NumSamples(), d.sources[0].counted().Tokens, read.NumSamples(), read.sources[0].counted().Tokens)
			}
			readThrough(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 3}))
		})
	}
	t.Run("kept", func(t *testing.T) {
		o := Options{Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 16}}}, pruneFrom: 1, IndexDir: t.TempDir()}
		store := write(t, "DuckDB", "2.0.0", false)
		first := open(t, store, o)
		o.pruneFrom = 1 << 40
		reports := ""
		o.Events.Counted = func(n, of int64) { reports += fmt.Sprint(n, "/", of, " ") }
		if second := open(t, store, o); second.NumSamples() != first.NumSamples() || reports != "4/4 " {
			t.Errorf("%d samples, %d the first time, counted %s", second.NumSamples(), first.NumSamples(), reports)
		}
	})
}
