package watch

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

func TestRates(t *testing.T) {
	before := &engine.Snapshot{
		Engine:   engine.Process{Seconds: 10, CPUSeconds: 4},
		Ranks:    []engine.RankWork{{Rank: 0, Rows: 100, Bytes: 1000}},
		Sessions: []engine.SessionWork{{ID: 1, Rows: 100, Wait: wait.Report{Seconds: 1, Of: 5, Parts: map[string]float64{"open": 1}}}},
		Caches:   []engine.CacheWork{{Stats: cache.Stats{HitBytes: 10, MissBytes: 90}}},
		Stores:   []shard.StoreTraffic{{Store: "s3://b", Traffic: shard.Traffic{Reads: 5, Window: 3}}},
	}
	now := &engine.Snapshot{
		Engine: engine.Process{Seconds: 12, CPUSeconds: 7},
		Ranks:  []engine.RankWork{{Rank: 0, Rows: 140, Bytes: 1600}, {Rank: 1, Rows: 20}},
		Sessions: []engine.SessionWork{
			{ID: 2, Rank: 1, Rows: 20},
			{ID: 1, Rows: 140, Wait: wait.Report{Seconds: 1.5, Of: 7, Parts: map[string]float64{"open": 1, "storage": 0.5}}},
		},
		Caches: []engine.CacheWork{{Stats: cache.Stats{HitBytes: 40, MissBytes: 100}}},
		Stores: []shard.StoreTraffic{{Store: "hdfs://ns", Traffic: shard.Traffic{Lists: 4}}, {Store: "s3://b", Traffic: shard.Traffic{Reads: 9, ReadBytes: 50, Throttled: 2, Window: 1}}},
	}
	r := ratesOf(before, now)
	if r.Seconds != 2 || r.Processors != 1.5 || r.Rows != 30 || r.Bytes != 300 || *r.HitShare != 0.75 {
		t.Errorf("rates %+v, hits %v", r, *r.HitShare)
	}
	if a, b := r.Sessions[0], r.Sessions[1]; a.Rows != 10 || a.Wait.Known || b.Rows != 20 || !b.Wait.Known || b.Wait.Share != 0.25 || len(b.Wait.Parts) != 1 || b.Wait.Parts["storage"] != 0.25 {
		t.Errorf("sessions %+v", r.Sessions)
	}
	if a, b := r.Stores[0], r.Stores[1]; a.Requests != 2 || b.Requests != 2 || b.Bytes != 25 || b.Throttles != 1 {
		t.Errorf("stores %+v", r.Stores)
	}
	if ratesOf(now, now) != nil {
		t.Error("a rate without time")
	}
	if r := ratesOf(&engine.Snapshot{}, &engine.Snapshot{Engine: engine.Process{Seconds: 1}}); r.HitShare != nil || r.Wait.Known || math.IsNaN(r.Rows) {
		t.Errorf("an idle engine has %+v", r)
	}
}

// Loops that have not reported since the last look are shown as they were in all.
func TestWaitWithoutNews(t *testing.T) {
	r := wait.Report{Seconds: 3, Of: 10, Parts: map[string]float64{"decode": 3}}
	if w := waitOf(r, r); !w.Known || w.Share != 0.3 || w.Parts["decode"] != 0.3 {
		t.Errorf("got %+v", w)
	}
}

// A wait that reaches back before the last report is not more than the whole time.
func TestWaitIsAtMostAll(t *testing.T) {
	before := wait.Report{Seconds: 1, Of: 10, Parts: map[string]float64{"decode": 1}}
	now := wait.Report{Seconds: 4, Of: 12, Parts: map[string]float64{"decode": 2.5, "storage": 1.5}}
	if w := waitOf(before, now); w.Share != 1 || w.Parts["decode"] != 0.5 || w.Parts["storage"] != 0.5 {
		t.Errorf("got %+v", w)
	}
}

// serve starts an engine that nothing asks for data.
func serve(t *testing.T, path string) {
	t.Helper()
	l, err := engine.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- engine.New(engine.Options{Grace: -1}).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// Engines are found in the directory of engines, at the socket of the environment and anywhere
// else, each once.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SHARDFEED_RUNTIME_DIR", filepath.Join(dir, "r"))
	t.Setenv("SHARDFEED_SOCKET", filepath.Join(dir, "r", "a.sock"))
	first, second := filepath.Join(dir, "r", "a.sock"), filepath.Join(dir, "elsewhere", "b")
	serve(t, first)
	serve(t, second)
	w := New()
	shown := func() (all map[string]Engine) {
		all = map[string]Engine{}
		for _, e := range w.Look(t.Context()).Engines {
			if !strings.HasPrefix(e.Socket, dir) { // another engine of this user
				continue
			}
			if _, twice := all[e.Socket]; twice {
				t.Errorf("%s is shown twice", e.Socket)
			}
			all[e.Socket] = e
		}
		return all
	}
	if all := shown(); all[first].Now == nil || all[first].Rates != nil {
		t.Errorf("the first look: %+v", all)
	}
	time.Sleep(time.Millisecond)
	if all := shown(); all[first].Rates == nil || len(engine.Sockets()) < len(all) {
		t.Errorf("the second look: %+v", all)
	}
	given := New(second, filepath.Join(dir, "none")).Look(t.Context()).Engines
	if len(given) != 2 || given[0].Now != nil || !strings.Contains(given[0].Error, "no engine listens there") || given[1].Now == nil {
		t.Errorf("of two sockets: %+v", given)
	}
}
