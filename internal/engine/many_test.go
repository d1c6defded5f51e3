package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// A wanderer is a trainer that does whatever trainers may do, in any order.
type wanderer struct {
	t      *testing.T
	r      *rand.Rand
	path   string
	client *testClient
	name   string
	epochs int
}

// live opens a connection, and uses it for some iterations.
func (w *wanderer) live(life int) error {
	w.client = dial(w.t, w.path)
	defer w.client.close()
	if _, err := w.client.open(wire.Open{Dataset: fmt.Sprint(w.name, w.r.IntN(2)), Spec: opening.Spec}); err != nil {
		return err
	}
	for i := range w.r.IntN(5) {
		if err := w.iterate(fmt.Sprint(w.name, life, i)); err != nil {
			return err
		}
	}
	if w.r.IntN(3) == 0 { // dies within an iteration
		if _, err := w.client.join(wire.Join{Iteration: fmt.Sprint(w.name, life, "last")}); err != nil {
			return err
		}
		time.Sleep(time.Duration(w.r.IntN(3)) * time.Millisecond)
	}
	return nil
}

// iterate takes an epoch, or a part of it, and releases batches in any order; some stay its own
// until the next iteration.
func (w *wanderer) iterate(iteration string) error {
	j, err := w.client.join(wire.Join{Iteration: iteration})
	if err != nil {
		return err
	}
	leave := -1
	if w.r.IntN(2) == 0 {
		leave = w.r.IntN(int(j.Steps) + 1)
	}
	seen := map[string]int{}
	for n := 0; ; n++ {
		if n == leave {
			if err := w.client.send(wire.FrameLeave, struct{}{}); err != nil {
				return err
			}
		}
		b, end, err := w.client.batch()
		if err != nil {
			return err
		}
		if end != nil && (leave < 0 || end.Left) {
			break
		}
		if end != nil {
			continue // crossed by LEAVE
		}
		columns, err := b.columns(j.Schema)
		if err != nil {
			return err
		}
		for _, id := range columns[0] {
			seen[id]++
		}
		if err := w.release(); err != nil {
			return err
		}
	}
	if leave < 0 {
		w.epochs++
		if len(seen) != 210 {
			return fmt.Errorf("%d rows in epoch %d", len(seen), j.Epoch)
		}
	}
	for id, n := range seen {
		if n != 1 {
			return fmt.Errorf("row %s came %d times in epoch %d", id, n, j.Epoch)
		}
	}
	return nil
}

// release releases some held batches, so that at most three of the four slots are.
func (w *wanderer) release() error {
	for _, b := range w.client.held { // in the order of Go's maps, which is none
		if len(w.client.held) <= w.r.IntN(4) {
			break
		}
		if err := w.client.release(b); err != nil {
			return err
		}
	}
	return nil
}

// Trainers that open, join, leave, hold, release and die as they like get every row of each epoch
// once, while rings grow.
func TestServeMany(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, someLarge), nil)
	var all sync.WaitGroup
	epochs := make([]int, 4)
	for k := range epochs {
		all.Go(func() {
			w := &wanderer{t: t, r: rand.New(rand.NewPCG(uint64(k), 5)), path: path, name: string('a' + rune(k))}
			for life := range *lives {
				if err := w.live(life); err != nil {
					t.Errorf("trainer %d, life %d: %v", k, life, err)
					return
				}
			}
			epochs[k] = w.epochs
		})
	}
	all.Wait()
	eventually(t, "the rings are gone", func() bool { return rings(t) == 0 })
	if slices.Max(epochs) == 0 {
		t.Error("no trainer saw a whole epoch")
	}
}
