package iterable

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// slowness is how much a step of the tests takes at least.
const slowness = 10 * time.Millisecond

// lagging is a store whose objects answer late once it is slow.
type lagging struct {
	shard.Store
	slow  atomic.Bool
	lends bool
}

// remoteLagging is a lagging store behind a network.
type remoteLagging struct {
	*lagging
	shard.Remote
}

func (*remoteLagging) Parallel(string) int { return 4 }

// Open returns an object that keeps copies if it lends bytes, as a cache.
func (s *remoteLagging) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	lag := laggingObject{o, s.lagging}
	if s.lends {
		return keptObject{lag}, err
	}
	return lag, err
}

type keptObject struct{ laggingObject }

func (keptObject) Discard([]shard.Span) {}

type laggingObject struct {
	shard.Object
	store *lagging
}

func (s *lagging) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return laggingObject{o, s}, err
}

func (s *lagging) lag() {
	if s.slow.Load() {
		time.Sleep(slowness)
	}
}

func (o laggingObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.store.lag()
	return o.Object.ReadAt(ctx, p, off)
}

func (o laggingObject) Lend(off, n int64) (shard.Lease, error) {
	if !o.store.lends {
		return nil, errors.ErrUnsupported
	}
	o.store.lag()
	return o.Object.(shard.Lender).Lend(off, n)
}

// charged takes a draw, and returns the time that it took by cause.
func charged(t *testing.T, next func(context.Context) (*Draw, error)) (*Draw, wait.Parts) {
	t.Helper()
	begin := wait.Now()
	d, err := next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := wait.Now()
	if marks := d.Trail.Marks(); !slices.IsSortedFunc(marks, func(a, b Mark) int { return int(a.End - b.End) }) {
		t.Errorf("marks are out of order: %v", marks)
	}
	var p wait.Parts
	d.Trail.Charge(&p, begin, end)
	if whole := time.Duration(end - begin); p.Sum() != whole || p[wait.HandOver] > whole/50+2*slowness {
		t.Errorf("%v took %v, by cause %v", d.Step, whole, p.Seconds())
	}
	return d, p
}

// The parts of a draw's trail add up to the time that Next took, and the largest has the slow part
// as its cause.
func TestTrailOfADraw(t *testing.T) {
	words := Words{Vocabulary: map[string][]string{"label": {"label 0", "label 1", "label 2", "label 3", "label 4", "label 5", "label 6"}}}
	for name, c := range map[string]struct {
		remote, lends, reads, decodes, holds bool
		want                                 wait.Cause
	}{
		"slow disk":     {lends: true, reads: true, want: wait.Storage},
		"slow store":    {remote: true, reads: true, want: wait.Storage},
		"slow cache":    {remote: true, lends: true, reads: true, want: wait.Cache},
		"slow decoding": {lends: true, decodes: true, want: wait.Decode},
		"small buffer":  {lends: true, holds: true, want: wait.Room},
	} {
		t.Run(name, func(t *testing.T) {
			groups := slices.Repeat([][]int{{8, 8, 8, 8}}, 4)
			lag := &lagging{Store: files(t, groups, noImage), lends: c.lends}
			store := shard.Store(lag)
			if c.remote {
				store = &remoteLagging{lagging: lag}
			}
			d := open(t, store, Options{Words: words, Resources: Resources{Fetchers: 1}})
			if apply := d.sources[0].transforms.Steps[0].Apply; c.decodes {
				d.sources[0].transforms.Steps[0].Apply = func(d *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32) (transform.Made, error) {
					time.Sleep(2 * slowness)
					return apply(d, blocks, rows)
				}
			}
			lag.slow.Store(c.reads)
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8, Parallel: 1, Draws: 1})
			var all wait.Parts
			for range 12 {
				dr, p := charged(t, s.Next)
				for i, x := range p {
					all[i] += x
				}
				if !c.holds {
					dr.Release()
					continue
				}
				time.AfterFunc(slowness, dr.Release)
			}
			if all.Most() != c.want || all[c.want] < all.Sum()*3/4 {
				t.Errorf("the draws waited for %v, want %v", all.Seconds(), c.want)
			}
			time.Sleep(2 * slowness) // for the last draw
		})
	}
}

// A draw of rows by number has the trail of the units that it waited for.
func TestTrailOfATake(t *testing.T) {
	lag := &lagging{Store: files(t, [][]int{{8, 8}, {8, 8}}, noImage)}
	d := open(t, &remoteLagging{lagging: lag}, Options{})
	x := taker(t, d, TakerOptions{})
	lag.slow.Store(true)
	dr, p := charged(t, func(ctx context.Context) (*Draw, error) { return x.Take(ctx, []int64{1, 9, 30}) })
	if p.Most() != wait.Storage {
		t.Errorf("the rows waited for %v", p.Seconds())
	}
	dr.Release()
	dr, p = charged(t, func(ctx context.Context) (*Draw, error) { return x.Take(ctx, []int64{1, 9, 30}) })
	if p[wait.Storage] > 0 {
		t.Errorf("rows that are there waited for %v", p.Seconds())
	}
	dr.Release()
}
