package iterable

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// prefixed has 24 row groups of 200 rows whose texts share a long prefix: some 60 KiB of a file that
// decode to 6.4 MiB each.
func prefixed(t *testing.T) *memstore.Store {
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text,delta"`
	}
	store, id, long := &memstore.Store{}, int64(0), strings.Repeat("x", 32<<10)
	for s := range 4 {
		store.Put(fmt.Sprintf("data/part-%d.parquet", s), writeShard(t, []int{200, 200, 200, 200, 200, 200}, func() row {
			id++
			return row{id, fmt.Sprint(long, id%7)}
		}, parquet.PageBufferSize(16<<20)))
	}
	return store
}

// Blocks that are larger than foretold take memory before they are made: as far as the limit goes,
// needed ones first. A row group beyond the limit is refused with the numbers.
func TestMemoryBeyondEstimates(t *testing.T) {
	for _, c := range []struct {
		memory  int64
		shuffle bool
		refused bool
	}{
		{memory: 256 << 20, shuffle: true}, {memory: 64 << 20, shuffle: true}, {memory: 40 << 20}, {memory: 22 << 20}, {memory: 6 << 20, refused: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			d := underestimated(t, Options{Order: Order{Shuffle: c.shuffle}, ShuffleBuffer: Size{Rows: 300}, Resources: Resources{Memory: c.memory}})
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 2, Parallel: 3, Epochs: 1})
			rows, err := readAll(t, s)
			if _, most := s.account.Peak(); most > c.memory {
				t.Errorf("the account held %s of %s\n%v", mem.Bytes(most), mem.Bytes(c.memory), s.account)
			}
			if c.refused {
				if e := (*rowgroup.Error)(nil); !errors.Is(err, rowgroup.ErrTooLarge) || !errors.As(err, &e) || e.Column != "text" || e.RowGroup < 0 || rowgroup.IsLoss(err) {
					t.Error(err)
				}
				return
			}
			if rows != 4800 {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

// A filter on texts that share a long prefix, of which a page has few bytes, is counted and read
// within the memory.
func TestRuleOfSharedPrefixes(t *testing.T) {
	for _, memory := range []int64{24 << 20, 48 << 20} {
		t.Run(mem.Bytes(memory).String(), func(t *testing.T) {
			d := open(t, prefixed(t), Options{Choice: Choice{Filters: "text != 'a'"}, Reading: Reading{Columns: []string{"id"}}, Resources: Resources{Memory: memory}})
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 2, Epochs: 1})
			if rows, err := readAll(t, s); rows != 4800 {
				t.Errorf("%d rows, %v", rows, err)
			}
			if _, most := s.account.Peak(); most > memory {
				t.Errorf("the account held %s", mem.Bytes(most))
			}
			if most := d.pool.Stats().Peak; most > memory+estimate.FreeScratch {
				t.Errorf("blocks and scratch took %s", mem.Bytes(most))
			}
		})
	}
}
