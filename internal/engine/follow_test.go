package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/loads"
)

func TestFollow(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	follow := func(rank int) *Follower {
		f, err := Follow(t.Context(), path, loads.Rank{Dataset: "d", Rank: rank})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		return f
	}
	f, other := follow(0), follow(1)
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	if _, err := c.join(wire.Join{Iteration: "1"}); err != nil {
		t.Fatal(err)
	}
	for {
		b, end, err := c.batch()
		if err != nil {
			t.Fatal(err)
		}
		if end != nil {
			break
		}
		if err := c.release(b); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Next()
	if err != nil || len(got.Loads) == 0 || got.Missed != 0 {
		t.Fatalf("got %+v, error %v", got, err)
	}
	for _, l := range got.Loads {
		if l.Shard == "" || l.Rows == 0 || len(l.Marks) == 0 || l.Begin > l.Marks[0].End {
			t.Errorf("load %+v", l)
		}
	}
	if again, err := f.Next(); err != nil || again.Loads == nil || slices.ContainsFunc(again.Loads, func(l loads.Load) bool {
		return slices.ContainsFunc(got.Loads, func(told loads.Load) bool { return l.Unit == told.Unit && l.Begin == told.Begin })
	}) { // others may be of the next epoch, which is read ahead
		t.Errorf("again %+v, error %v", again, err)
	}
	if got, err := other.Next(); err != nil || len(got.Loads) != 0 {
		t.Errorf("of another rank %+v, error %v", got, err)
	}
}

func TestFollowRefuses(t *testing.T) {
	if _, err := Follow(t.Context(), t.TempDir()+"/none", loads.Rank{Dataset: "d"}); !errors.Is(err, ErrNoEngine) {
		t.Errorf("without an engine: %v", err)
	}
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	if _, err := Follow(t.Context(), path, loads.Rank{}); err == nil {
		t.Error("it followed no data set")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Follow(ended, path, loads.Rank{Dataset: "d"}); err == nil {
		t.Error("it followed after the end")
	}
	f, err := Follow(t.Context(), path, loads.Rank{Dataset: "d"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.ask, err = wire.AppendMessage(nil, wire.FrameTrace, wire.Trace{Dataset: "d", Rank: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Next(); err == nil {
		t.Error("one connection followed two ranks")
	}
}
