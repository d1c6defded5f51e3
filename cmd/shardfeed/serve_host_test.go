package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// opened opens what a spec asks for, until the test ends.
func opened(t *testing.T, h *host, r engine.Request) *engine.Data {
	t.Helper()
	d, err := h.open(t.Context(), r, func(wire.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// readAll reads an epoch, and returns its figures.
func readAll(t *testing.T, d *engine.Data) engine.Figures {
	t.Helper()
	l, err := loader.New(d.Dataset, d.Loader)
	if err != nil {
		t.Fatal(err)
	}
	f := engine.Figures{}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		f.Batches, f.Rows, f.Bytes = f.Batches+1, f.Rows+int64(b.Valid), f.Bytes+b.Bytes()
		b.Release()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	f.Loaders = []loader.Stats{l.Stats()}
	return f
}

// The figures of a session have the names of bench's.
func TestSessionFigures(t *testing.T) {
	h := newHost(quiet())
	t.Cleanup(func() { h.close(t.Context()) })
	d := opened(t, h, asked(wire.Spec{BatchSize: 100}))
	got, err := json.Marshal(d.Stats(readAll(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	var figures, bench map[string]any
	object(t, &bench, "bench", shop)
	if err := json.Unmarshal(got, &figures); err != nil {
		t.Fatal(err)
	}
	if a, b := slices.Sorted(maps.Keys(figures)), slices.Sorted(maps.Keys(bench)); !slices.Equal(a, b) {
		t.Errorf("keys %q, bench has %q", a, b)
	}
	if figures["rows"] != 2026.0 || figures["batches"] != 21.0 || figures["read_bytes"] != bench["read_bytes"] || figures["row_groups_per_batch"] == 0.0 {
		t.Errorf("figures %v", figures)
	}
}

// The default limit of a rank is its share of the machine, and changes no order; a rank's collating
// goroutines are its share of the processors.
func TestShareOfRank(t *testing.T) {
	h := newHost(quiet())
	t.Cleanup(func() { h.close(t.Context()) })
	r := asked(wire.Spec{Order: shardfeed.Order{Shuffle: true}, BatchSize: 10})
	alone := opened(t, h, r)
	r.LocalWorldSize = 4
	four := opened(t, h, r)
	a, err := loader.Plan(alone.Dataset, alone.Loader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := loader.Plan(four.Dataset, four.Loader)
	if err != nil || *a.Params != *b.Params || a.Memory != mem.ThisMachine().RankLimit(1) || b.Memory != mem.ThisMachine().RankLimit(4) {
		t.Errorf("memory %d of %v, %d of %v, %v", a.Memory, a.Params, b.Memory, b.Params, err)
	}
	if a, b := alone.Loader.Workers, four.Loader.Workers; b > a || b < 1 {
		t.Errorf("%d workers for a rank of four, %d for one alone", b, a)
	}
}

// Many processors do not make a stream of large batches one that is refused.
func TestWorkersWithin(t *testing.T) {
	for _, c := range []struct {
		workers       int
		memory, batch int64
		want          int
	}{
		{64, 1 << 30, 1 << 20, 64}, {64, 1 << 30, 4 << 20, 30}, {64, 1 << 30, 100 << 20, 1}, {2, 1 << 30, 32 << 20, 2}, {1, 1, 1 << 30, 1}, {8, 1 << 30, 0, 8},
	} {
		t.Run(fmt.Sprintf("%d workers", c.workers), func(t *testing.T) {
			if got := workersWithin(c.workers, c.memory, c.batch); got != c.want {
				t.Errorf("%+v: %d", c, got)
			}
		})
	}
	h := newHost(quiet())
	t.Cleanup(func() { h.close(t.Context()) })
	if d := opened(t, h, asked(wire.Spec{BatchSize: 1000, Memory: "8MiB"})); d.Loader.Workers != 1 {
		t.Errorf("%d workers", d.Loader.Workers)
	}
	if d := opened(t, h, asked(wire.Spec{BatchSize: 1000, Memory: "8MiB", Workers: 2})); d.Loader.Workers != 2 {
		t.Errorf("%d workers, where the trainer asks for 2", d.Loader.Workers)
	}
	if d := opened(t, h, asked(wire.Spec{Slots: 2})); d.Loader.Workers != 1 {
		t.Errorf("%d workers, where one batch is being made and the other is the trainer's", d.Loader.Workers)
	}
}

// Opening tells how far it is, the last footer included.
func TestOpeningProgress(t *testing.T) {
	h := newHost(quiet())
	t.Cleanup(func() { h.close(t.Context()) })
	var last atomic.Pointer[wire.Progress]
	d, err := h.open(t.Context(), asked(wire.Spec{}), func(p wire.Progress) { last.Store(&p) })
	if err != nil {
		t.Fatal(err)
	}
	if p := last.Load(); p == nil || p.Of != 8 || p.Footers != 8 || p.Doing != "footers" {
		t.Errorf("told %+v", p)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
