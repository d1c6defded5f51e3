package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// workers are K clients of torch workers.
func workers(t *testing.T, e *engine, dataset string, k int) []*sink {
	t.Helper()
	var all []*sink
	for range k {
		all = append(all, newSink(t, connect(t, e, dataset, testSpec())))
	}
	return all
}

// joinAll joins all workers to an iteration, the last first.
func joinAll(all []*sink, id string, change func(k int, j *wire.Join)) {
	for k := len(all) - 1; k >= 0; k-- {
		j := wire.Join{Iteration: id, Worker: k, Workers: len(all), WorldSize: 1}
		if change != nil {
			change(k, &j)
		}
		all[k].ask(j)
	}
}

// drain takes all batches of all workers, who read at the same time.
func drain(all []*sink) (parts [][]*got, ends []wire.End) {
	parts, ends = make([][]*got, len(all)), make([]wire.End, len(all))
	var group sync.WaitGroup
	for k, s := range all {
		group.Go(func() { parts[k], ends[k] = s.batches(-1) })
	}
	group.Wait()
	return parts, ends
}

// K workers make one iteration: worker k has the steps k (mod K), and together they have the rows
// in the order of one. Epoch follows epoch, for the workers of the same connections and for new
// ones.
func TestWorkers(t *testing.T) {
	for _, k := range []int{1, 2, 3, 5} {
		for _, stay := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d workers, persistent %t", k, stay), func(t *testing.T) {
				e := testEngine(t, Options{})
				connect(t, e, "d", testSpec()) // of the main process
				all := workers(t, e, "d", k)
				for epoch := range 4 {
					joinAll(all, fmt.Sprint(epoch), nil)
					parts, ends := drain(all)
					for w, batches := range parts {
						if end := ends[w]; end.State.Epoch != uint64(epoch)+1 || end.Batches != int64((41-w+k-1)/k) {
							t.Errorf("worker %d ends with %+v", w, end)
						}
						for i, b := range batches {
							if b.step != int64(i*k+w) {
								t.Fatalf("worker %d has step %d", w, b.step)
							}
						}
					}
					same(t, fmt.Sprint("epoch ", epoch), idsOf(parts...), epochIDs(t, testSpec(), 0, 1, nil, epoch))
					if !stay {
						for _, s := range all {
							s.client.close()
						}
						all = workers(t, e, "d", k)
					}
				}
			})
		}
	}
}

// Workers that resume within an epoch, at positions of their own, have the batches that
// they would have had.
func TestWorkersGoOn(t *testing.T) {
	e := testEngine(t, Options{})
	all := workers(t, e, "d", 3)
	joinAll(all, "0", nil)
	want, _ := drain(all)
	first, _ := all[0].client.ask(wire.Ask{})
	state := *first.State
	state.Epoch, state.Position = 0, 0
	taken := []int64{3, 2, 2} // batches that each has had: steps 9, 7 and 8 are next
	joinAll(all, "1", func(k int, j *wire.Join) {
		next := (taken[k]*3 + int64(k)) * 50
		j.State, j.Next = &state, &next
	})
	parts, _ := drain(all)
	for k, batches := range parts {
		same(t, fmt.Sprint("worker ", k), idsOf(batches), idsOf(want[k][taken[k]:]))
	}
	state.GlobalBatch = 100
	joinAll(all, "elsewhere", func(k int, j *wire.Join) { // the same rows, by steps of 100 of another world size
		j.State, j.Next = &state, &[]int64{700, 600, 800}[k]
	})
	parts, _ = drain(all)
	if got := parts[1][0]; got.position != 600 || got.step != 12 {
		t.Errorf("the first is step %d at %d", got.step, got.position)
	}
	same(t, "elsewhere", idsOf(parts[1], parts[0], parts[2]), epochIDs(t, testSpec(), 0, 1, nil, 0)[600:])
	state.GlobalBatch = 50
	for _, next := range [][]int64{{450, 350, 350}, {450, 350, 450}, {50, -50, 0}} {
		joinAll(all, fmt.Sprint("wrong ", next), func(k int, j *wire.Join) { j.State, j.Next = &state, &next[k] })
		for _, s := range all {
			if f := s.failure(); f.Kind != wire.KindState && f.Kind != wire.KindValue {
				t.Errorf("%v: %+v", next, f)
			}
		}
	}
}

// Workers wait for each other so long, and the error names the missing ones.
func TestLateWorkers(t *testing.T) {
	e := testEngine(t, Options{WorkerTimeout: 100 * time.Millisecond})
	all := workers(t, e, "d", 4)
	for _, k := range []int{0, 2} {
		all[k].ask(wire.Join{Iteration: "0", Worker: k, Workers: 4})
	}
	for _, k := range []int{0, 2} {
		if f := all[k].failure(); f.Kind != wire.KindTimeout || !strings.Contains(f.Text, "torch workers 1, 3 of 4 have not begun to iterate within 100ms") {
			t.Errorf("%+v", f)
		}
	}
	joinAll(all, "1", nil) // the epoch is used up
	for _, s := range all {
		if batches, _ := s.batches(1); batches[0].epoch != 1 {
			t.Errorf("epoch %d", batches[0].epoch)
		}
		s.leave()
	}
}

// A worker that joins again with the same iteration begins another, also while the first is not
// complete.
func TestWorkerJoinsAgain(t *testing.T) {
	e := testEngine(t, Options{})
	all := workers(t, e, "d", 2)
	joinAll(all, "same", nil)
	drain(all)
	joinAll(all, "same", nil)
	for _, s := range all {
		if batches, _ := s.batches(1); batches[0].epoch != 1 {
			t.Errorf("epoch %d", batches[0].epoch)
		}
		s.leave()
	}
	all[0].ask(wire.Join{Iteration: "same", Worker: 0, Workers: 2})
	again := newSink(t, connect(t, e, "d", testSpec()))
	again.ask(wire.Join{Iteration: "same", Worker: 0, Workers: 2})
	if f := all[0].failure(); f.Kind != wire.KindTimeout || !strings.Contains(f.Text, "began another iteration") {
		t.Errorf("%+v", f)
	}
	all[1].ask(wire.Join{Iteration: "same", Worker: 1, Workers: 2})
	if batches, _ := again.batches(1); batches[0].epoch != 3 {
		t.Errorf("epoch %d", batches[0].epoch)
	}
}

// A worker that dies within an epoch ends it for the others with one clear error; before
// all have come, too.
func TestWorkerDies(t *testing.T) {
	for _, complete := range []bool{true, false} {
		e := testEngine(t, Options{})
		all := workers(t, e, "d", 3)
		if complete {
			joinAll(all, "0", nil)
			all[1].batches(2)
		} else {
			for _, k := range []int{0, 1} {
				all[k].ask(wire.Join{Iteration: "0", Worker: k, Workers: 3})
			}
		}
		all[1].client.close()
		want := "torch worker 1 of 3 (process 42) ended within the epoch"
		if f := all[0].failure(); f.Kind != wire.KindInternal || f.Text != want {
			t.Errorf("%+v", f)
		}
		if complete {
			if f := all[2].failure(); f.Text != want {
				t.Errorf("%+v", f)
			}
		}
		joinAll(workers(t, e, "d", 2), "1", nil)
	}
}

// A worker that leaves is not missed: the others have their batches, though it kept all its slots.
func TestWorkerLeaves(t *testing.T) {
	e := testEngine(t, Options{})
	all := workers(t, e, "d", 2)
	joinAll(all, "0", nil)
	all[1].batches(1)
	if end := all[1].leave(); !end.Left {
		t.Errorf("%+v", end)
	}
	batches, end := all[0].batches(-1)
	if len(batches) != 21 || end.Left || batches[20].step != 40 {
		t.Errorf("%d batches, %+v", len(batches), end)
	}
}

// What cannot be an iteration is refused, and the connection stays.
func TestJoinRefuses(t *testing.T) {
	e := testEngine(t, Options{})
	all := workers(t, e, "d", 3)
	for want, j := range map[string]wire.Join{
		"rank must be from 0 to 1 in a world of 2, got 2":  {Iteration: "0", Rank: 2, WorldSize: 2},
		"rank must be from 0 to 0 in a world of 1, got -1": {Iteration: "0", Rank: -1},
		"worker must be from 0 to 1 of 2 workers, got 2":   {Iteration: "0", Worker: 2, Workers: 2},
		"JOIN without an iteration":                        {},
	} {
		t.Run(want, func(t *testing.T) {
			if err := all[0].client.join(j, all[0]); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	all[0].ask(wire.Join{Iteration: "0", Workers: 2})
	if err := all[0].client.join(wire.Join{Iteration: "1"}, all[0]); err == nil || !strings.Contains(err.Error(), "JOIN before the END") {
		t.Errorf("%v", err)
	}
	if err := all[1].client.join(wire.Join{Iteration: "0", Worker: 1, Workers: 3}, all[1]); err == nil || !strings.Contains(err.Error(), "as one of 3") {
		t.Errorf("%v", err)
	}
	all[1].ask(wire.Join{Iteration: "0", Worker: 1, Workers: 2})
	all[0].batches(1)
	spec := testSpec()
	spec.Tail, spec.BatchSize = "drop", 3000
	few := newSink(t, connect(t, e, "d", spec))
	if err := few.client.join(alone(0), few); wire.FailureOf(err).Kind != wire.KindValue {
		t.Errorf("%v", err)
	}
}
