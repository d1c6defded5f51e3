package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// The first iteration of rank 0 says that batches mix poorly. Others and resumed ones do not.
func TestPoorMixing(t *testing.T) {
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
		ds, err := iterable.Open(ctx, shard.Stores{"": local.Store{}}, []string{"../../testdata/shop"}, iterable.Options{
			Reading: iterable.Reading{Columns: []string{"unique_id"}}, Order: iterable.Order{Shuffle: true}, ShuffleBuffer: iterable.Size{Rows: 100, Per: iterable.PerRank}, Resources: iterable.Resources{Budget: (*iterable.Budget)(shopBudget)},
		})
		return &Data{Dataset: ds, Loader: loader.Options{BatchSize: r.Spec.BatchSize}}, err
	}})
	of := func(dataset string, rank int) func(wire.Join) wire.Joined {
		s := newSink(t, connect(t, e, dataset, testSpec()))
		return func(j wire.Join) wire.Joined {
			j.Rank, j.WorldSize = rank, 2
			joined := s.join(j)
			s.leave()
			return joined
		}
	}
	first := of("a", 0)
	joined := first(alone(0))
	if len(joined.Warnings) != 1 || !strings.Contains(joined.Warnings[0], "a global batch of 100 rows varies") || !strings.Contains(joined.Warnings[0], "a shuffle_buffer of 2MiB/rank") {
		t.Errorf("%q", joined.Warnings)
	}
	for name, told := range map[string][]string{
		"the next epoch": first(alone(1)).Warnings,
		"rank 1":         of("b", 1)(alone(2)).Warnings,
		"resumed":        of("c", 0)(wire.Join{Iteration: "d", State: &joined.State}).Warnings,
	} {
		if len(told) != 0 {
			t.Errorf("%s: %q", name, told)
		}
	}
}
