package iterable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
	"github.com/shardfeed/shardfeed/shuffle"
)

// watch fails the test with the stacks of all goroutines when it takes longer than any machine
// would.
func watch(t *testing.T, what string) (stop func()) {
	t.Helper()
	timer := time.AfterFunc(time.Minute, func() {
		b := make([]byte, 4<<20)
		panic(fmt.Sprintf("%s hangs\n%s", what, b[:runtime.Stack(b, true)]))
	})
	return func() { timer.Stop() }
}

// A slow store, any number of fetchers, decoders and draws, and any memory give the rows of a fast
// one in its order.
func TestSlowStoresKeepTheOrder(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	r := rand.New(rand.NewPCG(5, 5))
	for range 8 {
		world := 1 + r.IntN(3)
		o := Options{
			Order: Order{Shuffle: r.IntN(4) > 0, Seed: r.Uint64(), Lanes: 6, Tail: shuffle.Short, UnitRows: []int64{0, 9}[r.IntN(2)]}, ShuffleBuffer: Size{Rows: 20 + r.Int64N(400)},
			Resources: Resources{Memory: 4<<20 + r.Int64N(60<<20)},
		}
		so := StreamOptions{BatchSize: 1 + r.IntN(20), Epochs: 2}
		all := func(d *Dataset, so StreamOptions) (steps []string) {
			for rank := range world {
				s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world}, so)
				steps = append(steps, fmt.Sprint(rest(t, s)))
				s.Close()
			}
			return steps
		}
		want := fmt.Sprint(all(open(t, store, o), so))
		stop := watch(t, fmt.Sprintf("%+v", o))
		slow := &far{Store: store, latency: time.Duration(1+r.IntN(50)) * time.Millisecond / 4, parallel: []int{0, 1, 3, 64}[r.IntN(4)]}
		so.Parallel, so.Draws = 1+r.IntN(4), 1+r.IntN(4)
		if got := fmt.Sprint(all(open(t, slow, o), so)); got != want {
			t.Errorf("%+v, %+v, %d fetchers: other rows", o, so, slow.parallel)
		}
		stop()
	}
}

// A fault that the store did not get over ends the stream with one error that names the shard and
// the row group, however many fetches are under way, and leaves nothing behind.
func TestPassingFaultsAmongManyFetches(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	for i := range 12 {
		slow := &far{Store: store, latency: time.Millisecond, parallel: 64}
		faults := shardtest.NewFaults(slow, shardtest.Rule{Op: shardtest.OpRead, From: 7 + 3*i, Count: 1 + 5*(i%3), Err: shard.ErrTransient})
		stop := watch(t, "a stream with faults")
		d := open(t, faults, Options{Order: Order{Shuffle: i%2 == 0, Lanes: 4}, ShuffleBuffer: Size{Rows: 60}})
		s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, Epochs: 3})
		var err error
		for err == nil {
			var dr *Draw
			if dr, err = s.Next(t.Context()); err == nil {
				take(t, s, dr)
			}
		}
		if !errors.Is(err, shard.ErrTransient) || !contains(err.Error(), "part-") || !contains(err.Error(), "row group") || contains(err.Error(), "\n") {
			t.Errorf("round %d: error %v", i, err)
		}
		if faults.Struck(0) == 0 {
			t.Errorf("round %d: there was no fault", i)
		}
		if err := errors.Join(s.Close(), d.Close()); err != nil || faults.OpenObjects() != 0 {
			t.Errorf("round %d: %d shards stay open, error %v", i, faults.OpenObjects(), err)
		}
		stop()
	}
}

// Streams that are cancelled, resumed, closed under a waiting Next, or share blocks never wait for
// what does not come.
func TestNothingHangs(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range 16 {
		slow := &far{Store: store, latency: time.Duration(r.IntN(2000)) * time.Microsecond, parallel: []int{0, 2, 64}[r.IntN(3)]}
		o := Options{
			Order: Order{Shuffle: r.IntN(3) > 0, Seed: r.Uint64(), Lanes: []int{0, 2, 9}[r.IntN(3)], Tail: shuffle.Short, UnitRows: []int64{0, 0, 7}[r.IntN(3)]}, ShuffleBuffer: Size{Rows: 10 + r.Int64N(300)},
			Resources: Resources{Memory: 3<<20 + r.Int64N(20<<20)},
		}
		stop := watch(t, fmt.Sprintf("seed %d, round %d, %+v", seed, round, o))
		d := open(t, slow, o)
		world := 1 + r.IntN(3)
		var ranks sync.WaitGroup
		for rank := range world {
			w, r := shuffle.Worker{Rank: rank, WorldSize: world}, rand.New(rand.NewPCG(r.Uint64(), 2))
			ranks.Go(func() { restless(t, d, w, r) })
		}
		ranks.Wait()
		stop()
	}
}

// restless reads a stream as an impatient user does: calls that are cut short, draws that are kept,
// streams that are closed and gone on with.
func restless(t *testing.T, d *Dataset, w shuffle.Worker, r *rand.Rand) {
	var state *shuffle.State
	for range 4 {
		o := StreamOptions{BatchSize: 1 + r.IntN(12), Epochs: 2, Draws: 1 + r.IntN(3), Parallel: 1 + r.IntN(3), State: state}
		s, err := d.Stream(t.Context(), w, o)
		if refused := (*MemoryError)(nil); errors.As(err, &refused) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		steps := r.IntN(40)
		var held []*Draw
		for n := 0; n < steps; {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(3000))*time.Microsecond)
			dr, err := s.Next(ctx)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) && len(held) == 0 {
				continue
			}
			if err == nil {
				held, n = append(held, dr), n+1
			} else if errors.Is(err, io.EOF) {
				break
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
				break
			}
			for len(held) > 0 && (len(held) == o.Draws || err != nil || r.IntN(2) == 0) {
				held[0].Release()
				held = held[1:]
			}
		}
		now := s.State()
		state = &now
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			if dr, err := s.Next(context.Background()); err == nil {
				dr.Release()
			}
		}()
		time.Sleep(time.Duration(r.IntN(500)) * time.Microsecond)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, dr := range held {
			dr.Release()
		}
		<-waiting
	}
}
