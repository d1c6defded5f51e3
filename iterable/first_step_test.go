package iterable

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A sparing store lends nothing and answers so many reads; the others hang until they are given up.
type sparing struct {
	shard.Store
	reads atomic.Int64 // that are left
}

type sparingObject struct {
	shard.Object
	store *sparing
}

func (s *sparing) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	if err != nil {
		return nil, err
	}
	return sparingObject{o, s}, nil
}

func (o sparingObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	if o.store.reads.Add(-1) < 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return o.Object.ReadAt(ctx, p, off)
}

// The first step, and the first after a resume, waits for the units of its own rows, not for all
// that the shuffle buffer is filled with.
func TestFirstStepWaitsForItsOwnUnits(t *testing.T) {
	const shards, rows, batch = 60, 40, 8
	groups := make([][]int, shards)
	for i := range groups {
		groups[i] = []int{rows}
	}
	store := &sparing{Store: files(t, groups, noImage)}
	for _, pos := range []int64{0, 3 * batch, 500} {
		// A subtest closes its stream, so that the next one has all reads for itself.
		t.Run(fmt.Sprint("from row ", pos), func(t *testing.T) {
			store.reads.Store(1 << 30) // footers
			d := open(t, store, Options{Order: Order{Shuffle: true, Lanes: 4}, ShuffleBuffer: Size{Rows: shards * rows}, Reading: Reading{Columns: []string{"id"}}, Resources: Resources{Fetchers: 1}})
			start := stepper{Steps: shuffle.Steps{Rows: shards * rows, GlobalBatch: batch, Tail: shuffle.Drop}, pos: pos, end: 1}
			e := laneEpochsOf(t, d, shuffle.Worker{}, start)
			needed := int64(0)
			for _, l := range allLoads(newLaneSchedule(e, d.sources[0].sizes)) {
				if l.Need < pos+batch {
					needed++
				}
			}
			if needed > batch {
				t.Errorf("%d units are needed for %d rows", needed, batch)
			}
			state := e.plan.State(0, pos, batch)
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: batch, State: &state})
			store.reads.Store(needed)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			draw, err := s.Next(ctx)
			cancel()
			if err != nil {
				t.Fatalf("%v, with %d units of %d", err, needed, shards)
			}
			if draw.Rows != batch {
				t.Errorf("%d rows", draw.Rows)
			}
			if used, reserved := s.account.Used(), s.account.Reserved(); used[mem.Shuffle] > reserved[mem.Shuffle] {
				t.Errorf("%v are taken of %v", used, reserved)
			}
			draw.Release()
		})
	}
}
