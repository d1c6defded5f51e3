package iterable

import (
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Blocks that take more than the metadata foretold are said once, with the numbers; the run goes
// on, and the account counts what is true.
func TestOverEstimateIsSaidOnce(t *testing.T) {
	var said atomic.Int64
	var measured, foretold atomic.Int64
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 600}, Events: Events{OverEstimate: func(m, f int64) {
		said.Add(1)
		measured.Store(m)
		foretold.Store(f)
	}}})
	d.sources[0].sizes.decoded = func(int) estimate.Group { return estimate.Group{Narrow: 1 << 20} }
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 20})
	if rows := len(rest(t, s)) * 20; rows != 3840 {
		t.Errorf("%d rows", rows)
	}
	if said.Load() != 1 || measured.Load() <= foretold.Load() || foretold.Load() < 1<<20 {
		t.Errorf("said %d times: %d measured, %d foretold", said.Load(), measured.Load(), foretold.Load())
	}
	if by, _ := s.account.Peak(); by[mem.Shuffle]+by[mem.Decode] <= s.account.Reserved()[mem.Shuffle] {
		t.Errorf("the account does not show it:\n%s", s.account)
	}
}

// A state of another global batch is said; the rows go on where they were.
func TestBatchChangedIsSaid(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	var from, to int64
	d := open(t, store, Options{Order: Order{Shuffle: true}, Events: Events{BatchChanged: func(a, b int64) { from, to = a, b }}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10})
	want := rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 1}))
	dr, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dr.Release()
	state := s.State()
	s = stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10, State: &state})
	if from != 0 || to != 0 {
		t.Errorf("said for the same batch: from %d to %d", from, to)
	}
	s.Close()
	s = stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, State: &state})
	if from != 10 || to != 4 {
		t.Errorf("from %d to %d", from, to)
	}
	x := rest(t, s)[0]
	for i, id := range x.ids {
		if id != want[10+i].ids[0] {
			t.Errorf("row %d is %d, want %d", 10+i, id, want[10+i].ids[0])
		}
	}
	if x.pos != 10 || x.step != 2 {
		t.Errorf("position %d, step %d", x.pos, x.step)
	}
}

// The tail of a state can be changed unless one of the two carries rows over.
func TestStateWithAnotherTail(t *testing.T) {
	d := open(t, files(t, [][]int{{20, 3}}, noImage), Options{Order: Order{Shuffle: true, Tail: "drop"}})
	state := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10}).State()
	if all := rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10, State: &state, Tail: "pad"})); len(all) != 3 || all[2].valid != 3 {
		t.Errorf("%v", all)
	}
	if all := rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10, State: &state})); len(all) != 2 {
		t.Errorf("%v", all)
	}
	carried := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10, Tail: "carry"}).State()
	if all := rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10, State: &carried})); len(all) != 2 {
		t.Errorf("%v", all)
	}
	for _, x := range []struct {
		state *StreamOptions
	}{{&StreamOptions{BatchSize: 10, State: &carried, Tail: "drop"}}, {&StreamOptions{BatchSize: 10, State: &state, Tail: "carry"}}} {
		t.Run(string(x.state.State.Params.Tail)+" to "+string(x.state.Tail), func(t *testing.T) {
			if s, err := d.Stream(t.Context(), shuffle.Worker{}, *x.state); err == nil {
				s.Close()
				t.Errorf("%s became %s", x.state.State.Params.Tail, x.state.Tail)
			}
		})
	}
}
