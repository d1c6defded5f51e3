package engine

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

// seatedShop is the shop in 8 lanes, whose node notes what it reads.
func seatedShop(dir string) func(context.Context, Request, func(wire.Progress)) (*Data, error) {
	return func(ctx context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
		ds, err := iterable.Open(ctx, shard.Stores{"": local.Store{}}, []string{"../../testdata/shop"}, iterable.Options{
			Reading: iterable.Reading{Columns: []string{"unique_id", "price"}}, Order: iterable.Order{Shuffle: r.Spec.Shuffle, Seed: 3, Lanes: 8 * min(1, len(r.Spec.Start))}, Resources: iterable.Resources{Budget: (*iterable.Budget)(shopBudget)}, LaneDir: dir,
		})
		return &Data{Dataset: ds, Loader: loader.Options{BatchSize: r.Spec.BatchSize, Tail: shuffle.Pad}}, err
	}
}

func seatedSpec() wire.Spec {
	s := testSpec()
	s.Start, s.BatchSize = "filled", 64
	return s
}

// A node that holds the lanes of rank 0, and is rank 1 now, asks for seats and reads them again.
// The step has the same rows as without.
func TestSeats(t *testing.T) {
	e := testEngine(t, Options{Open: seatedShop(t.TempDir())})
	first := connect(t, e, "first", seatedSpec())
	asked, err := first.ask(wire.Ask{WorldSize: 2, Held: true})
	if err != nil || asked.Held != nil {
		t.Fatal(asked.Held, err)
	}
	step := func(dataset string, rank int, seats []int) []string {
		s := newSink(t, connect(t, e, dataset, seatedSpec()))
		s.join(wire.Join{Iteration: dataset, Rank: rank, WorldSize: 2, Seats: seats})
		batches, _ := s.batches(1)
		s.leave()
		return idsOf(batches)
	}
	left := step("a", 0, nil)
	if asked, err = first.ask(wire.Ask{WorldSize: 2, Held: true}); err != nil || len(asked.Held) != 1 || asked.Held[0] != 0b1111 {
		t.Fatalf("%08b is held, %v", asked.Held, err)
	}
	nodes := []wire.SeatNode{{Ranks: []int{0}}, {Ranks: []int{1}, Held: asked.Held}}
	asked, err = first.ask(wire.Ask{WorldSize: 2, Nodes: nodes})
	if err != nil || !slices.Equal(asked.Seats, []int{4, 5, 6, 7, 0, 1, 2, 3}) {
		t.Fatalf("seats %v, %v", asked.Seats, err)
	}
	if again := step("b", 1, asked.Seats); !slices.Equal(again, left) {
		t.Errorf("rank 1 has %v, rank 0 had %v", again, left)
	}
	plain, seated := append(step("c", 1, nil), left...), append(step("d", 0, asked.Seats), left...)
	slices.Sort(plain)
	slices.Sort(seated)
	if !slices.Equal(plain, seated) {
		t.Errorf("the step has %v with seats, %v without", seated, plain)
	}
}

// A job that resumes asks about the order of its state, which may differ from a new run's.
func TestSeatsOfAState(t *testing.T) {
	dir := t.TempDir()
	e := testEngine(t, Options{Open: seatedShop(dir)})
	s := newSink(t, connect(t, e, "a", seatedSpec()))
	state := s.join(wire.Join{Iteration: "a", WorldSize: 2}).State
	s.batches(1) // its lanes are noted by then
	s.leave()
	other := seatedSpec()
	other.Start = "" // as many lanes as the rule finds
	c := connect(t, testEngine(t, Options{Open: seatedShop(dir)}), "b", other)
	if plain, err := c.ask(wire.Ask{WorldSize: 2, Held: true}); err != nil || plain.State.Params.Lanes == 8 || plain.Held != nil {
		t.Fatalf("%+v, %v", plain, err)
	}
	asked, err := c.ask(wire.Ask{WorldSize: 2, Held: true, State: &state, StateSerial: "s"})
	if err != nil || asked.State.Params.Lanes != 8 || !slices.Equal(asked.Held, []byte{0b1111}) {
		t.Fatalf("%+v, %v", asked, err)
	}
	asked, err = c.ask(wire.Ask{WorldSize: 2, State: &state, StateSerial: "s", Nodes: []wire.SeatNode{{Ranks: []int{1}, Held: asked.Held}, {Ranks: []int{0}}}})
	if err != nil || !slices.Equal(asked.Seats, []int{4, 5, 6, 7, 0, 1, 2, 3}) {
		t.Fatalf("seats %v, %v", asked.Seats, err)
	}
	state.Manifest = "another"
	if _, err := c.ask(wire.Ask{WorldSize: 2, Held: true, State: &state, StateSerial: "t"}); wire.KindOf(err) != wire.KindState {
		t.Error(err)
	}
}

func TestSeatsOfRanksDiffer(t *testing.T) {
	e := testEngine(t, Options{Open: seatedShop("")})
	a, b := newSink(t, connect(t, e, "a", seatedSpec())), newSink(t, connect(t, e, "b", seatedSpec()))
	a.join(wire.Join{Iteration: "a", WorldSize: 2, Agree: "x"})
	b.ask(wire.Join{Iteration: "b", Rank: 1, WorldSize: 2, Agree: "x", Seats: []int{1, 0, 2, 3, 4, 5, 6, 7}})
	if f := b.failure(); f.Kind != wire.KindRanks || !strings.Contains(f.Text, "seats: none on rank 0, [1 0 2 3 4 5 6 7] on rank 1") {
		t.Errorf("%+v", f)
	}
}

func TestSeatsRefused(t *testing.T) {
	e := testEngine(t, Options{Open: seatedShop("")})
	c := connect(t, e, "a", seatedSpec())
	for text, nodes := range map[string][]wire.SeatNode{
		"lack rank 0 of 2":                               {},
		"have rank 2 in a world of 2":                    {{Ranks: []int{0, 1, 2}}},
		"in 2 bytes what node 0 holds, and 8 lanes have": {{Ranks: []int{0, 1}, Held: []byte{1, 2}}},
	} {
		if _, err := c.ask(wire.Ask{WorldSize: 2, Nodes: nodes}); err == nil || wire.KindOf(err) != wire.KindValue || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	plain := seatedSpec()
	plain.Shuffle, plain.Start = false, ""
	if _, err := connect(t, e, "b", plain).ask(wire.Ask{WorldSize: 2, Nodes: []wire.SeatNode{}}); err == nil || !strings.Contains(err.Error(), "not of file order") {
		t.Errorf("%v", err)
	}
	s := newSink(t, c)
	s.ask(wire.Join{Iteration: "j", WorldSize: 2, Seats: []int{0}})
	if f := s.failure(); f.Kind != wire.KindValue || !strings.Contains(f.Text, "are 1, for 8 lanes") {
		t.Errorf("%+v", f)
	}
}
