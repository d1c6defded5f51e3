package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shuffle"
)

func alone(id int) wire.Join { return wire.Join{Iteration: fmt.Sprint("alone ", id), WorldSize: 1} }

// One iteration is one epoch after the other, each in the order in which a loader of its own reads
// it, by one loader that continues.
func TestEpochs(t *testing.T) {
	s := connect(t, testEngine(t, Options{}), "d", testSpec())
	sink := newSink(t, s)
	for epoch := range 5 {
		joined := sink.join(alone(epoch))
		if joined.Epoch != int64(epoch) || joined.Steps != 41 || joined.State.Epoch != uint64(epoch) || len(joined.Schema) != 2 {
			t.Errorf("joined %+v", joined)
		}
		batches, end := sink.batches(-1)
		same(t, fmt.Sprint("epoch ", epoch), idsOf(batches), epochIDs(t, testSpec(), 0, 1, nil, epoch))
		if end.Left || end.Batches != 41 || end.State.Epoch != uint64(epoch)+1 || end.State.Position != 0 {
			t.Errorf("end %+v", end)
		}
		for i, b := range batches {
			if b.epoch != int64(epoch) || b.step != int64(i) {
				t.Fatalf("batch %d is step %d of epoch %d", i, b.step, b.epoch)
			}
		}
	}
	if sink.rings != 1 {
		t.Errorf("%d rings", sink.rings)
	}
}

// The time of whole epochs is reported, that of the rest of one is not.
func TestEpochTook(t *testing.T) {
	var took []time.Duration
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		d.EpochTook = func(d time.Duration) { took = append(took, d) }
		return d, err
	}})
	sink := newSink(t, connect(t, e, "d", testSpec()))
	state := sink.join(alone(0)).State
	sink.leave()
	time.Sleep(20 * time.Millisecond)
	state.Position = 50
	sink.join(wire.Join{Iteration: "1", State: &state})
	sink.leave()
	sink.join(alone(2))
	sink.leave()
	if len(took) != 1 || took[0] < 20*time.Millisecond {
		t.Errorf("took %v", took)
	}
}

// An iteration that was left has used up its epoch.
func TestAbandoned(t *testing.T) {
	e := testEngine(t, Options{})
	s := connect(t, e, "d", testSpec())
	sink := newSink(t, s)
	for epoch := range 4 {
		if joined := sink.join(alone(epoch)); joined.Epoch != int64(epoch) {
			t.Errorf("epoch %d, want %d", joined.Epoch, epoch)
		}
		if n := len(e.runs()); n != 1 { // the one before has given back its memory
			t.Errorf("%d runs", n)
		}
		some, _ := sink.batches(epoch)
		if end := sink.leave(); end.State.Position < int64(len(some)*50) {
			t.Errorf("left at %+v after %d batches", end.State, len(some))
		}
	}
	until(t, "no run is left", func() bool { return len(e.runs()) == 0 })
	sink.join(alone(4))
	batches, _ := sink.batches(-1)
	same(t, "epoch 4", idsOf(batches), epochIDs(t, testSpec(), 0, 1, nil, 4))
	if end := sink.leave(); !end.Left {
		t.Errorf("LEAVE outside of an iteration: %+v", end)
	}
}

// A state wins over an epoch that was set, each is used once, and an epoch that came by EPOCH is
// younger than one that a worker carries.
func TestWhichEpoch(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	e := testEngine(t, Options{})
	sink := newSink(t, connect(t, e, "d", testSpec()))
	first := sink.join(alone(0))
	sink.leave()
	state := first.State
	state.Epoch, state.Position = 6, 500
	for i, c := range []struct {
		name     string
		told     *wire.SetEpoch
		j        wire.Join
		epoch    int64
		position int64
	}{
		{name: "the next", epoch: 1},
		{name: "state", j: wire.Join{State: &state, StateSerial: "s1"}, epoch: 6, position: 500},
		{name: "state again", j: wire.Join{State: &state, StateSerial: "s1"}, epoch: 7},
		{name: "epoch", j: wire.Join{Epoch: at(3), EpochSerial: "e1"}, epoch: 3},
		{name: "epoch again", j: wire.Join{Epoch: at(3), EpochSerial: "e1"}, epoch: 4},
		{name: "the same epoch, set again", j: wire.Join{Epoch: at(3), EpochSerial: "e2"}, epoch: 3},
		{name: "state and epoch", j: wire.Join{State: &state, StateSerial: "s2", Epoch: at(9), EpochSerial: "e3"}, epoch: 6, position: 500},
		{name: "both again", j: wire.Join{State: &state, StateSerial: "s2", Epoch: at(9), EpochSerial: "e3"}, epoch: 7},
		{name: "by EPOCH", told: &wire.SetEpoch{Epoch: 20, Serial: "e4"}, epoch: 20},
		{name: "after EPOCH", epoch: 21},
		{name: "by EPOCH, over a worker's", told: &wire.SetEpoch{Epoch: 30, Serial: "e6"}, j: wire.Join{Epoch: at(29), EpochSerial: "e5"}, epoch: 30},
		{name: "the worker's again", j: wire.Join{Epoch: at(29), EpochSerial: "e5"}, epoch: 31},
		{name: "state over EPOCH", told: &wire.SetEpoch{Epoch: 40, Serial: "e7"}, j: wire.Join{State: &state, StateSerial: "s3"}, epoch: 6, position: 500},
		{name: "after state over EPOCH", epoch: 7},
		{name: "EPOCH that a worker told before", told: &wire.SetEpoch{Epoch: 29, Serial: "e5"}, epoch: 8},
		{name: "states without serials", j: wire.Join{State: &state}, epoch: 6, position: 500},
		{name: "are always new", j: wire.Join{State: &state}, epoch: 6, position: 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.told != nil {
				if _, err := sink.client.setEpoch(*c.told); err != nil {
					t.Fatal(err)
				}
			}
			c.j.Iteration = strconv.Itoa(i)
			now, err := sink.client.ask(wire.Ask{})
			if err != nil {
				t.Fatal(err)
			}
			joined := sink.join(c.j)
			if joined.Epoch != c.epoch || joined.State.Position != c.position {
				t.Errorf("%s: epoch %d from %d on, want %d from %d", c.name, joined.Epoch, joined.State.Position, c.epoch, c.position)
			}
			if c.j.State == nil && c.j.Epoch == nil && (now.NextEpoch != c.epoch || now.State.Epoch != uint64(c.epoch)) {
				t.Errorf("%s: ASK foretold epoch %d, %+v", c.name, now.NextEpoch, now.State)
			}
			sink.leave()
		})
	}
	if _, err := sink.client.setEpoch(wire.SetEpoch{Epoch: -1}); wire.FailureOf(err).Kind != wire.KindValue {
		t.Errorf("epoch -1: %v", err)
	}
}

// A state resumes within an epoch, at another world size too, and the epochs after it keep
// its order.
func TestResumeElsewhere(t *testing.T) {
	e := testEngine(t, Options{})
	first := newSink(t, connect(t, e, "before", testSpec()))
	first.join(wire.Join{Iteration: "1", WorldSize: 4, Rank: 2})
	first.batches(3)
	end := first.leave()
	state := end.State
	state.Position = 3 * 4 * 50
	var ids []string
	var parts [][]*got
	for rank := range 2 {
		sink := newSink(t, connect(t, e, fmt.Sprint("after", rank), testSpec()))
		joined := sink.join(wire.Join{Iteration: "1", WorldSize: 2, Rank: rank, State: &state})
		if n := <-sink.noted; !strings.Contains(n.Text, "200 rows a step over all ranks, now there are 100") {
			t.Errorf("noted %+v", n)
		}
		if joined.State.Params.Lanes != state.Params.Lanes || joined.State.GlobalBatch != 100 {
			t.Errorf("joined %+v", joined.State)
		}
		batches, end := sink.batches(-1)
		parts = append(parts, batches)
		if end.State.Epoch != 1 || end.State.Params.Lanes != state.Params.Lanes {
			t.Errorf("end %+v", end.State)
		}
		second := sink.join(wire.Join{Iteration: "2", WorldSize: 2, Rank: rank})
		if second.Epoch != 1 || *second.State.Params != *joined.State.Params {
			t.Errorf("second epoch %+v", second.State)
		}
	}
	for _, p := range parts {
		ids = append(ids, idsOf(p)...)
	}
	seen := map[string]int{}
	for _, id := range ids {
		seen[id]++
	}
	if len(seen) != len(ids) || len(ids) != 2026-600 {
		t.Errorf("%d rows, %d of them different, want %d", len(ids), len(seen), 2026-600)
	}
}

// Torch workers that took several steps in a row resume where each one stood: the batches that a
// worker had are read again, and left out.
func TestWorkersResumeApart(t *testing.T) {
	e := testEngine(t, Options{})
	whole := newSink(t, connect(t, e, "whole", testSpec()))
	state := whole.join(alone(0)).State
	all, _ := whole.batches(-1)
	next := []int64{450, 50, 400} // of three workers in steps of 50 rows: the steps 9, 1 and 8
	var ids []string
	sinks := make([]*sink, len(next))
	for k := range next {
		sinks[k] = newSink(t, connect(t, e, "apart", testSpec()))
		j := wire.Join{Iteration: "1", Worker: k, Workers: len(next), WorldSize: 1, State: &state, StateSerial: "s", Next: &next[k]}
		sinks[k].ask(j)
	}
	for k := range sinks {
		if joined, ok := sinks[k].next().(wire.Joined); !ok || joined.State.Position != 50 {
			t.Fatalf("joined %+v", joined)
		}
	}
	taken := make([][]*got, len(next))
	var reads sync.WaitGroup
	for k := range sinks {
		reads.Go(func() { taken[k], _ = sinks[k].batches(-1) })
	}
	reads.Wait()
	for k, batches := range taken {
		if len(batches) == 0 || batches[0].position != next[k] {
			t.Fatalf("worker %d begins with %d batches at %d", k, len(batches), next[k])
		}
		ids = append(ids, idsOf(batches)...)
	}
	var want []string
	for _, b := range all {
		if b.step >= 7 || b.step == 1 || b.step == 4 {
			want = append(want, idsOf([]*got{b})...)
		}
	}
	slices.Sort(ids)
	slices.Sort(want)
	same(t, "rows", ids, want)
}

// Each tail, over several epochs: the batches are those of a loader that reads them in a row.
func TestTails(t *testing.T) {
	for _, tail := range []shuffle.Tail{"", shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
		t.Run(string(tail), func(t *testing.T) {
			spec := testSpec()
			spec.Tail, spec.BatchSize = tail, 300
			sink := newSink(t, connect(t, testEngine(t, Options{}), "d", spec))
			var all []*got
			for epoch := range 4 {
				joined := sink.join(alone(epoch))
				batches, end := sink.batches(-1)
				if joined.Epoch != int64(epoch) || end.Batches != int64(len(batches)) {
					t.Errorf("epoch %d has %d batches, %+v", joined.Epoch, len(batches), end)
				}
				all = append(all, batches...)
			}
			rows := 0
			for i, b := range all {
				rows += b.valid
				if tail == shuffle.Carry && (b.valid != 300 || b.epoch*2026+b.position != int64(i)*300) {
					t.Errorf("batch %d has %d rows, at %d of epoch %d", i, b.valid, b.position, b.epoch)
				}
			}
			want := map[shuffle.Tail]int{"": 4 * 2026, shuffle.Drop: 4 * 1800, shuffle.Pad: 4 * 2026, shuffle.Short: 4 * 2026, shuffle.Carry: 4 * 2026 / 300 * 300}
			if rows != want[tail] {
				t.Errorf("%d rows, want %d", rows, want[tail])
			}
		})
	}
}

// Iterators of one data set object may read at the same time, an epoch each.
func TestTwoIterators(t *testing.T) {
	e := testEngine(t, Options{})
	a, b := newSink(t, connect(t, e, "d", testSpec())), newSink(t, connect(t, e, "d", testSpec()))
	a.join(alone(0))
	some, _ := a.batches(2)
	b.join(alone(1))
	second, _ := b.batches(-1)
	rest, _ := a.batches(-1)
	same(t, "first", idsOf(append(some, rest...)), epochIDs(t, testSpec(), 0, 1, nil, 0))
	same(t, "second", idsOf(second), epochIDs(t, testSpec(), 0, 1, nil, 1))
}

// Sessions of two data set objects, and of two ranks of one, count for themselves.
func TestSessionsApart(t *testing.T) {
	e := testEngine(t, Options{})
	a, b, c := newSink(t, connect(t, e, "a", testSpec())), newSink(t, connect(t, e, "b", testSpec())), newSink(t, connect(t, e, "a", testSpec()))
	for i := range 2 {
		a.join(wire.Join{Iteration: fmt.Sprint(i), WorldSize: 2})
		a.leave()
	}
	b.join(alone(0))
	if joined := c.join(wire.Join{Iteration: "0", WorldSize: 2, Rank: 1}); joined.Epoch != 0 {
		t.Errorf("rank 1 begins with epoch %d", joined.Epoch)
	}
	b.leave()
	a.client.close()
	c.client.close()
	if joined := newSink(t, connect(t, e, "a", testSpec())).join(wire.Join{Iteration: "2", WorldSize: 2}); joined.Epoch != 0 {
		t.Errorf("a session continues in epoch %d after its last connection", joined.Epoch)
	}
}

// A position that no epoch has is the state's fault.
func TestWrongState(t *testing.T) {
	sink := newSink(t, connect(t, testEngine(t, Options{}), "d", testSpec()))
	joined := sink.join(alone(0))
	sink.leave()
	state := joined.State
	state.Position = 3000
	err := sink.client.join(wire.Join{Iteration: "1", State: &state}, sink)
	if f := wire.FailureOf(err); f.Kind != wire.KindState || !strings.Contains(f.Text, "position") {
		t.Errorf("%+v", f)
	}
	state.Position, state.Manifest = 0, strings.Repeat("0", 64)
	err = sink.client.join(wire.Join{Iteration: "1", State: &state}, sink)
	if f := wire.FailureOf(err); f.Kind != wire.KindState {
		t.Errorf("%+v", f)
	}
	if joined := sink.join(alone(2)); joined.Epoch != 1 {
		t.Errorf("epoch %d after states that were refused", joined.Epoch)
	}
}

// Too few rows for one step are the fault of the world size, and not of the state that came along.
func TestStateOfTooFewRows(t *testing.T) {
	spec := testSpec()
	spec.Tail = shuffle.Drop
	sink := newSink(t, connect(t, testEngine(t, Options{}), "d", spec))
	joined := sink.join(alone(0))
	sink.leave()
	err := sink.client.join(wire.Join{Iteration: "1", State: &joined.State, WorldSize: 64}, sink)
	if f := wire.FailureOf(err); f.Kind != wire.KindValue || !strings.Contains(f.Text, "fewer than one global batch of 3200 rows") {
		t.Errorf("%+v", f)
	}
}

// SELECT has the data set write a list of rows, and says what is in it; an error leaves the client
// as it was.
func TestSelect(t *testing.T) {
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		d.Choose = func(bits, save string) (int64, error) {
			if save == "" {
				return 0, fs.ErrPermission
			}
			return int64(len(bits)), nil
		}
		return d, err
	}})
	client := connect(t, e, "d", testSpec())
	if got, err := client.choose(wire.Select{Bits: "12345", Save: "s"}); err != nil || got != (wire.Selected{Rows: 5, AllRows: 2026}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := client.choose(wire.Select{}); wire.FailureOf(err).Kind != wire.KindAccess {
		t.Errorf("a refusal: %v", err)
	}
	if _, err := connect(t, testEngine(t, Options{}), "d", testSpec()).choose(wire.Select{}); !errors.Is(err, wire.ErrProtocol) {
		t.Errorf("an engine without lists of rows: %v", err)
	}
}

// Ranks have in common which rows they read, by the names of Python's arguments.
func TestFingerprintOfChosenRows(t *testing.T) {
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		d.Chosen = map[string]string{"Filters": "price > 1", "PartKey": "label"}
		return d, err
	}})
	now, err := connect(t, e, "d", testSpec()).ask(wire.Ask{WorldSize: 2, Plan: true})
	if err != nil || now.Fingerprint["filters"] != "price > 1" || now.Fingerprint["part_key"] != "label" {
		t.Errorf("%v, %v", now.Fingerprint, err)
	}
}

// ASK says what an iteration would be, and what the session did.
func TestAsk(t *testing.T) {
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		d.Stats = func(f Figures) any { return f }
		return d, err
	}})
	sink := newSink(t, connect(t, e, "d", testSpec()))
	before, err := sink.client.ask(wire.Ask{WorldSize: 2, Plan: true})
	if err != nil || before.Steps != 21 || before.NextEpoch != 0 || before.Fingerprint["world_size"] != "2" || before.State.GlobalBatch != 100 {
		t.Errorf("before: %+v, %v", before, err)
	}
	joined := sink.join(wire.Join{Iteration: "0", WorldSize: 2, Workers: 1})
	if !reflect.DeepEqual(joined.Fingerprint, before.Fingerprint) {
		t.Errorf("fingerprint %v, foretold %v", joined.Fingerprint, before.Fingerprint)
	}
	batches, _ := sink.batches(-1)
	after, err := sink.client.ask(wire.Ask{WorldSize: 2, Stats: true})
	var f Figures
	if err := json.Unmarshal(after.Stats, &f); err != nil {
		t.Fatal(err)
	}
	if err != nil || after.NextEpoch != 1 || after.Workers != 1 || f.Batches != 21 || int(f.Rows) != len(idsOf(batches)) || f.Took <= 0 || len(f.Loaders) != 1 {
		t.Errorf("after: %+v, %v, %+v", after, err, f)
	}
	if _, err := sink.client.ask(wire.Ask{Rank: 2, WorldSize: 2}); wire.FailureOf(err).Kind != wire.KindValue {
		t.Errorf("rank 2 of 2: %v", err)
	}
	places, err := sink.client.ask(wire.Ask{WorldSize: 2, Locate: []int64{0, 2025}})
	if err != nil || len(places.Places) != 2 || places.Places[0].Row != 0 || places.Places[1].RowGroup != 3 || places.Places[1].Row != 69 || !strings.HasSuffix(places.Places[1].Path, ".parquet") {
		t.Errorf("places: %+v, %v", places.Places, err)
	}
	if _, err := sink.client.ask(wire.Ask{WorldSize: 2, Locate: []int64{2026}}); wire.FailureOf(err).Kind != wire.KindValue {
		t.Errorf("row 2026 of 2026: %v", err)
	}
}

// Statistics can be asked for at any moment, while an iteration begins or ends too: a monitor asks
// all the time.
func TestAskWhileIterationsBegin(t *testing.T) {
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		d.Stats = func(f Figures) any { return f }
		return d, err
	}})
	sink, monitor := newSink(t, connect(t, e, "d", testSpec())), connect(t, e, "d", testSpec())
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			if _, err := monitor.ask(wire.Ask{WorldSize: 1, Stats: true}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for iteration := range 80 {
		sink.join(alone(iteration))
		sink.batches(2)
		sink.leave()
	}
	stop()
	asking.Wait()
}
