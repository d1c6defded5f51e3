package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shuffle"
)

// ranked is a rank of a world, whose data set is its own.
func ranked(t *testing.T, e *engine, rank int, s wire.Spec) *sink {
	t.Helper()
	return newSink(t, connect(t, e, fmt.Sprint("rank ", rank), s))
}

// Ranks that do not agree all fail with what differs on which rank. Ranks that agree read on.
func TestRanks(t *testing.T) {
	other := testSpec()
	other.Seed, other.BatchSize = 4, 60
	for _, c := range []struct {
		name   string
		second wire.Spec
		change func(*wire.Join)
		want   []string
	}{
		{name: "the same", second: testSpec()},
		{
			name: "spec", second: other,
			want: []string{"batch_size: 50 on rank 0, 60 on rank 1", "seed: 3 on rank 0, 4 on rank 1"},
		},
		{
			name: "world", second: testSpec(), change: func(j *wire.Join) { j.WorldSize = 3 },
			want: []string{
				"lanes: 2 on rank 0, 3 on rank 1", "life: 307 on rank 0, 205 on rank 1", "shuffle_buffer: 29315 on rank 0, 43972 on rank 1",
				"world_size: 2 on rank 0, 3 on rank 1",
			},
		},
		{
			name: "epoch", second: testSpec(), change: func(j *wire.Join) { four := int64(4); j.Epoch = &four },
			want: []string{"epoch: 0 on rank 0, 4 on rank 1"},
		},
		{name: "no comparison", second: other, change: func(j *wire.Join) { j.Agree = "" }},
		{name: "other name", second: other, change: func(j *wire.Join) { j.Agree = "validation" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := testEngine(t, Options{})
			all := []*sink{ranked(t, e, 0, testSpec()), ranked(t, e, 1, c.second)}
			for rank, s := range all {
				j := wire.Join{Iteration: "0", Rank: rank, WorldSize: 2, Agree: "train"}
				if rank == 1 && c.change != nil {
					c.change(&j)
				}
				s.ask(j)
			}
			for _, s := range all {
				if c.want == nil {
					s.batches(-1)
					continue
				}
				f := s.failure()
				if f.Kind != wire.KindRanks || !slices.Equal(f.Details, c.want) || !strings.Contains(f.Text, strings.Join(c.want, "; ")) {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// Ranks with the same arguments differ in the decoder of images where one machine lacks
// libjpeg-turbo: the error says what to do.
func TestRanksOfUnlikeDecoders(t *testing.T) {
	for differ, want := range map[string]bool{
		"image_decoder: turbo on rank 0, go on rank 1":                                true,
		"image_decoder: turbo on rank 0, go on rank 1|seed: 3 on rank 0, 4 on rank 1": false,
		"seed: 3 on rank 0, 4 on rank 1":                                              false,
	} {
		t.Run(differ, func(t *testing.T) {
			f := wire.FailureOf(ranksError(strings.Split(differ, "|")))
			if n := strings.Count(f.Text, "give image_decoder='go' to all ranks"); n != map[bool]int{true: 1}[want] {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Where an iteration begins is compared once: later iterations of one rank may be over before
// another's begin. All else is compared each time.
func TestRanksLater(t *testing.T) {
	e := testEngine(t, Options{})
	a, b := ranked(t, e, 0, testSpec()), ranked(t, e, 1, testSpec())
	join := func(s *sink, rank, n int) {
		s.ask(wire.Join{Iteration: fmt.Sprint(n), Rank: rank, WorldSize: 2, Agree: "train"})
	}
	join(a, 0, 0)
	a.batches(-1)
	join(b, 1, 0)
	join(a, 0, 1)
	a.batches(-1)
	b.batches(-1)
	other := testSpec()
	other.Seed = 9
	c := ranked(t, e, 1, other)
	join(c, 1, 2)
	if f := c.failure(); f.Kind != wire.KindRanks || len(f.Details) != 1 {
		t.Errorf("%+v", f)
	}
	a.client.close()
	join(c, 1, 3) // rank 0 has gone, and what it had
	c.batches(1)
	if n := len(e.agreed.ranks); n != 1 {
		t.Errorf("%d agreements", n)
	}
	b.client.close()
	c.client.close()
	if n := len(e.agreed.ranks); n != 0 {
		t.Errorf("%d agreements are left", n)
	}
}

// epochs is a world of two ranks that read small batches.
type epochs struct {
	ranks  []*sink
	mapped []*sink // another data set object of each rank
	n      int
}

func newEpochs(t *testing.T) *epochs {
	e, s := testEngine(t, Options{}), testSpec()
	s.BatchSize = 10
	w := &epochs{}
	for rank := range 2 {
		w.ranks = append(w.ranks, ranked(t, e, rank, s))
		w.mapped = append(w.mapped, newSink(t, connect(t, e, fmt.Sprint("mapped ", rank), s)))
	}
	return w
}

func (w *epochs) join(rank int) {
	w.n++
	w.ranks[rank].ask(wire.Join{Iteration: fmt.Sprint(w.n), Rank: rank, WorldSize: 2, Agree: "train"})
}

// peek takes one batch of an epoch, and uses it up.
func (w *epochs) peek(rank int) {
	w.join(rank)
	w.ranks[rank].batches(1)
	w.ranks[rank].leave()
}

// together reads n batches of an epoch on both ranks, step by step, below 0 all; rank 1 begins as
// soon as rank 0 has its first batch.
func (w *epochs) together(n int) {
	for rank := range w.ranks {
		w.join(rank)
		w.ranks[rank].batches(1)
	}
	for step := 1; step < n || n < 0 && step < 102; step++ {
		for _, s := range w.ranks {
			s.batches(1)
		}
	}
	for _, s := range w.ranks {
		if n < 0 {
			s.batches(-1)
		} else {
			s.leave()
		}
	}
}

// A rank that takes a look at a batch on its own is an epoch ahead of the others. Both fail as
// soon as it is certain.
func TestRanksPeek(t *testing.T) {
	for _, c := range []struct {
		name  string
		begin func(*epochs)
	}{
		{"before the others begin", func(w *epochs) {
			w.peek(0)
			w.join(0)
			w.ranks[0].batches(1)
			w.join(1)
		}},
		{"after the others begin", func(w *epochs) {
			w.join(1)
			w.ranks[1].batches(1)
			w.peek(0)
			w.join(0)
		}},
		{"twice", func(w *epochs) {
			w.peek(0)
			w.peek(0)
			w.join(0)
			w.join(1)
		}},
		{"after an epoch", func(w *epochs) {
			w.together(-1)
			w.peek(0)
			w.join(0)
			w.join(1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newEpochs(t)
			c.begin(w)
			for _, rank := range []int{1, 0} { // rank 1 reads on, and then both fail
				f := w.ranks[rank].failure()
				if f.Kind != wire.KindRanks || !strings.Contains(f.Text, "on rank 0") || !strings.Contains(f.Text, "rank 1 went on in it") ||
					!strings.Contains(f.Hint, "set_epoch") {
					t.Errorf("rank %d: %+v", rank, f)
				}
			}
		})
	}
}

// Ranks that take the same batches may begin their epochs at different times, leave them early, and
// be set to epochs.
func TestRanksInStep(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*epochs)
	}{
		{"whole epochs", func(w *epochs) {
			for range 3 {
				w.together(-1)
			}
		}},
		{"all look first", func(w *epochs) {
			w.peek(0)
			w.peek(1)
			w.together(-1)
			w.together(-1)
		}},
		{"epochs that are left early", func(w *epochs) {
			for _, n := range []int{40, 60, 3} {
				w.together(n)
			}
		}},
		{"one is faster by epochs", func(w *epochs) {
			for range 3 {
				w.join(0)
				w.ranks[0].batches(-1)
			}
			for range 3 {
				w.join(1)
				w.ranks[1].batches(-1)
			}
		}},
		{"a look, and an epoch that is set", func(w *epochs) {
			w.peek(0)
			w.peek(0)
			w.join(1)
			w.ranks[1].batches(1)
			if _, err := w.ranks[0].client.setEpoch(wire.SetEpoch{Epoch: 0, Serial: "s"}); err != nil {
				w.ranks[0].t.Fatal(err)
			}
			w.join(0)
			w.ranks[1].batches(-1)
			w.ranks[0].batches(-1)
		}},
		{"an evaluation of another object of the same data", func(w *epochs) {
			w.together(5)
			w.together(5)
			w.ranks, w.mapped = w.mapped, w.ranks
			w.join(0)
			w.ranks[0].batches(-1) // before the other rank begins
			w.join(1)
			w.ranks[1].batches(-1)
		}},
		{"one leaves before the other, which is further", func(w *epochs) {
			w.join(0)
			w.join(1)
			w.ranks[0].batches(10)
			w.ranks[1].batches(60)
			w.ranks[0].leave()
			w.join(0)
			w.ranks[1].batches(3)
			w.ranks[1].leave()
			w.join(1)
			w.ranks[0].batches(-1)
			w.ranks[1].batches(-1)
		}},
	} {
		t.Run(c.name, func(*testing.T) { c.run(newEpochs(t)) })
	}
}

// Ranks that have failed are compared again.
func TestRanksRepaired(t *testing.T) {
	e := testEngine(t, Options{})
	other := testSpec()
	other.Seed = 9
	a, b, repaired := ranked(t, e, 0, testSpec()), ranked(t, e, 1, other), ranked(t, e, 1, testSpec())
	a.ask(wire.Join{Iteration: "0", WorldSize: 2, Agree: "train"})
	b.ask(wire.Join{Iteration: "0", Rank: 1, WorldSize: 2, Agree: "train"})
	a.failure()
	b.failure()
	repaired.ask(wire.Join{Iteration: "1", Rank: 1, WorldSize: 2, Agree: "train"})
	a.ask(wire.Join{Iteration: "1", WorldSize: 2, Agree: "train"})
	repaired.batches(1)
	a.batches(1)
}

// A rank that comes when the others have failed and gone hears of it too, once.
func TestRanksLate(t *testing.T) {
	e := testEngine(t, Options{})
	other := testSpec()
	other.Seed = 9
	all := []*sink{ranked(t, e, 0, testSpec()), ranked(t, e, 1, other), ranked(t, e, 2, testSpec())}
	join := func(rank, n int) {
		all[rank].ask(wire.Join{Iteration: fmt.Sprint(n), Rank: rank, WorldSize: 3, Agree: "train"})
	}
	for _, rank := range []int{1, 2} {
		join(rank, 0)
	}
	for _, rank := range []int{1, 2} {
		if f := all[rank].failure(); f.Kind != wire.KindRanks {
			t.Errorf("rank %d: %+v", rank, f)
		}
		all[rank].client.close()
	}
	join(0, 0)
	if f := all[0].failure(); f.Kind != wire.KindRanks || !slices.Equal(f.Details, []string{"seed: 9 on rank 1, 3 on rank 2"}) {
		t.Errorf("rank 0: %+v", f)
	}
	join(0, 1) // the others have gone, and this one has heard
	all[0].batches(1)
	all[0].client.close()
	again := ranked(t, e, 3, testSpec()) // another run of the job
	again.ask(wire.Join{Iteration: "0", Rank: 3, WorldSize: 4, Agree: "train"})
	again.batches(1)
}

func TestFingerprintOfManyColumns(t *testing.T) {
	var nodes []wire.Node
	for i := range 100 {
		nodes = append(nodes, wire.Node{Name: fmt.Sprint("column ", i), Type: "int32"})
	}
	few, many := columnsOf(nodes[:2]), columnsOf(nodes)
	if few != "column 0 int32, column 1 int32" || !strings.HasPrefix(many, "100 columns ") || len(many) > 40 {
		t.Errorf("%q, %q", few, many)
	}
	nodes[99].Type = "int64"
	if columnsOf(nodes) == many {
		t.Error("another type makes no difference")
	}
}

// Ranks that change the weights of a mixture begin a little before or after the others: weights are
// compared where iterations begin at one place.
func TestWeightsAreComparedAtOnePlace(t *testing.T) {
	at := func(epoch, position, weights string) *agreed {
		return &agreed{print: wire.Fingerprint{placeEpoch: epoch, placePosition: position, weightsOf: weights}}
	}
	for _, c := range []struct {
		name string
		a, b *agreed
		want int
	}{
		{"alike", at("1", "0", "[[0,[1,2]]]"), at("1", "0", "[[0,[1,2]]]"), 0},
		{"one rank did not change them", at("1", "0", "[[0,[1,2]],[50,[1,1]]]"), at("1", "0", "[[0,[1,2]]]"), 1},
		{"another epoch", at("2", "0", "[[0,[1,2]],[50,[1,1]]]"), at("1", "0", "[[0,[1,2]]]"), 0},
		{"within the epoch", at("1", "20", "[[0,[1,2]],[20,[1,1]]]"), at("1", "0", "[[0,[1,2]]]"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := differences(c.a, c.b, 0, 1); len(got) != c.want {
				t.Errorf("differences %v, want %d", got, c.want)
			}
		})
	}
}

// What ranks compare of a mixture are its weights, and each source with its rule and parameters.
func TestFingerprintOfAMixture(t *testing.T) {
	f := wire.Fingerprint{}
	addMixture(f, &shuffle.MixState{
		Lanes: 4, Weights: []shuffle.Weights{{Weights: []float64{7, 3}}}, Sources: []shuffle.SourceState{{Name: "web", Rows: 9, Units: "u"}, {Name: "code", Rule: "r", Tokens: 7}},
		Batching: shuffle.PerSource, WeightsIn: "tokens",
	})
	if f["batching"] != "per_source" || f["weights_in"] != "tokens" || !strings.Contains(f["sources.code"], "7 tokens") {
		t.Errorf("fingerprint %v", f)
	}
	if f["lanes"] != "4" || f[weightsOf] != "[[0,[7,3]]]" || !strings.Contains(f["sources.web"], "9 samples, units u, rule none") || !strings.Contains(f["sources.code"], "rule r") {
		t.Errorf("fingerprint %v", f)
	}
	long := wire.Fingerprint{}
	addMixture(long, &shuffle.MixState{Weights: slices.Repeat([]shuffle.Weights{{Weights: []float64{7, 3}}}, 50)})
	if n := len(long[weightsOf]); n > fewColumns {
		t.Errorf("weights take %d bytes", n)
	}
}
