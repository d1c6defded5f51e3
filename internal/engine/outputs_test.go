package engine

import (
	"context"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// Results of a trainer's workers count within the stream's memory, as batches of the stream's.
func TestOutputs(t *testing.T) {
	budget := mem.NewBudget(1 << 40)
	open := func(memory int64) *sink {
		e := testEngine(t, Options{Budget: budget, Open: func(ctx context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
			return shopWithin(ctx, r, budget, memory)
		}})
		return newSink(t, connect(t, e, "d", testSpec()))
	}
	reserved := func(outputs int) (bytes, admitted int64) {
		s := open(1 << 30)
		j := alone(0)
		j.Outputs = outputs
		bytes = s.join(j).OutputBytes
		s.batches(1)
		admitted = budget.Admitted()
		s.client.close()
		until(t, "nothing is reserved", func() bool { return budget.Admitted() == 0 })
		return bytes, admitted
	}
	none, plain := reserved(0)
	told, with := reserved(100)
	if none != 0 || told == 0 || with-plain < told*9/10 || with-plain > told*11/10 {
		t.Errorf("%d bytes for no outputs, %d for 100, which reserve %d", none, told, with-plain)
	}

	t.Run("over the limit", func(t *testing.T) {
		s := open(64 << 20)
		j := alone(0)
		j.Outputs = 1 << 15
		s.ask(j)
		if f := s.failure(); f.Kind != wire.KindMemory {
			t.Errorf("%+v", f)
		}
	})
	t.Run("out of range", func(t *testing.T) {
		s := open(1 << 30)
		for _, n := range []int{-1, maxOutputs + 1} {
			j := alone(0)
			j.Outputs = n
			if err := s.client.join(j, s); wire.KindOf(err) != wire.KindValue {
				t.Errorf("%d: %v", n, err)
			}
		}
	})
	t.Run("an epoch with more", func(t *testing.T) { // is not that of the run that reads ahead with less
		s := open(1 << 30)
		for epoch := range 3 {
			j := alone(epoch)
			j.Outputs = 100 * (epoch / 2)
			s.join(j)
			s.batches(-1)
		}
		if got := budget.Admitted(); got < with*9/10 {
			t.Errorf("%d bytes are reserved, %d for the first such epoch of a run", got, with)
		}
	})
}

// What results take beyond JOIN's is reserved within the stream's memory, in each of its streams,
// until it is released or the trainer has gone.
func TestOutputsGrow(t *testing.T) {
	budget := mem.NewBudget(1 << 40)
	e := testEngine(t, Options{Budget: budget, Open: func(ctx context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
		return shopWithin(ctx, r, budget, 256<<20)
	}})
	s := newSink(t, connect(t, e, "d", testSpec()))
	s.join(alone(0))
	s.batches(1)
	begun := budget.Admitted()
	ask := func(bytes int64) error {
		_, err := s.client.ask(wire.Ask{WorldSize: 1, Outputs: &bytes})
		return err
	}
	for _, step := range []struct {
		bytes   int64
		want    int64
		refused bool
	}{
		{bytes: 60 << 20, want: 60 << 20},
		{bytes: 80 << 20, want: 80 << 20},
		{bytes: 300 << 20, refused: true},
		{bytes: 0},
		{bytes: 70 << 20, want: 70 << 20},
	} {
		err := ask(step.bytes)
		if (err != nil) != step.refused || step.refused && wire.KindOf(err) != wire.KindMemory {
			t.Errorf("%d bytes: %v", step.bytes, err)
		}
		if got := budget.Admitted() - begun; got != step.want {
			t.Errorf("after %d bytes %d are reserved, expected %d", step.bytes, got, step.want)
		}
	}
	if _, err := s.client.ask(wire.Ask{WorldSize: 1}); err != nil || budget.Admitted() != begun+70<<20 {
		t.Errorf("an ASK without outputs: %v, %d reserved", err, budget.Admitted()-begun)
	}
	s.leave()
	s.join(alone(5))
	s.batches(1)
	if got := budget.Admitted(); got < 70<<20 {
		t.Errorf("%d bytes are reserved for another stream of the same trainer", got)
	}
	s.client.close()
	until(t, "nothing is reserved", func() bool { return budget.Admitted() == 0 })
}
