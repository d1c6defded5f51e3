package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shard"
)

// A counted store is one of a server with a number of requests.
type countedStore struct {
	shard.Store
	shard.Remote
	reads int64
}

func (s *countedStore) ByStore() []shard.StoreTraffic {
	return []shard.StoreTraffic{{Store: "s3://b", Traffic: shard.Traffic{Reads: s.reads, Window: 4}}}
}

func TestSnapshotOfWork(t *testing.T) {
	store := &countedStore{reads: 3}
	e := testEngine(t, Options{Build: "b", Budget: shopBudget, Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		d.Stores = shard.Stores{"s3": store, "s3a": store}
		return d, err
	}})
	empty := e.snapshot()
	if p := empty.Engine; p.PID != os.Getpid() || p.Build != "b" || p.ID != e.id || p.Processors < 1 || len(p.Jobs) != 0 {
		t.Errorf("process %+v", p)
	}
	if len(empty.Ranks)+len(empty.Sessions)+len(empty.Stores) != 0 {
		t.Errorf("work of none: %+v", empty)
	}
	c := connect(t, e, "d", testSpec())
	sink := newSink(t, c)
	sink.join(wire.Join{Iteration: "1", Rank: 1, WorldSize: 2})
	sink.batches(5)
	s := e.snapshot()
	if len(s.Sessions) != 1 || len(s.Ranks) != 1 || s.Memory.Purposes["shuffle"].Reserved == 0 || s.Memory.Limit != 1<<30 {
		t.Fatalf("got %+v", s)
	}
	got := s.Sessions[0]
	if got.Rank != 1 || got.WorldSize != 2 || got.Job != "job" || !slices.Equal(got.Trainers, []int{42}) || !got.Iterating || got.Steps != 21 || got.Step < 5 ||
		got.Batches < 5 || got.Rows < 250 || got.Bytes == 0 || !slices.Equal(got.Addresses, []string{"shop"}) {
		t.Errorf("session %+v", got)
	}
	if !slices.Equal(s.Engine.Jobs, []string{"job"}) {
		t.Errorf("jobs %q", s.Engine.Jobs)
	}
	sink.batches(-1)
	if got := e.snapshot().Sessions[0]; got.Iterating || got.Step != 21 || got.Epoch != 0 || got.Batches != 21 {
		t.Errorf("after the epoch %+v", got)
	}
}

// Counts stay when what they count has closed.
func TestSnapshotNeverFalls(t *testing.T) {
	store := &countedStore{reads: 3}
	e := testEngine(t, Options{Budget: shopBudget, Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		d.Stores = shard.Stores{"s3": store}
		return d, err
	}})
	var last Snapshot
	for n := range int64(3) {
		c := connect(t, e, "d", testSpec())
		sink := newSink(t, c)
		sink.join(alone(0))
		sink.batches(-1)
		open := e.snapshot()
		c.close()
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			s := e.snapshot()
			r := s.Ranks[0]
			if r.Batches != 41*(n+1) || r.Rows != open.Ranks[0].Rows || r.Read < last.read() || s.Stores[0].Reads != 3*(n+1) {
				t.Fatalf("after %d data sets: %+v, %+v", n+1, r, s.Stores)
			}
			last = s
			if len(s.Sessions) == 0 && s.Stores[0].Window == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the data set does not close: %+v", s)
			}
		}
	}
	if r := last.Ranks[0]; r.Read == 0 || r.Decoded == 0 {
		t.Errorf("work %+v", r)
	}
	for p, use := range last.Memory.Purposes {
		if use.Reserved != 0 {
			t.Errorf("%d bytes stay reserved for %s", use.Reserved, p)
		}
	}
}

func (s Snapshot) read() int64 {
	if len(s.Ranks) == 0 {
		return 0
	}
	return s.Ranks[0].Read
}

// SURVEY shows what is being opened, and no secret of an address.
func TestSurvey(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{})
	path := serveWares(t, nil, func(o *Options, _ *Data) {
		o.Open = func(_ context.Context, _ Request, progress func(wire.Progress)) (*Data, error) {
			progress(wire.Progress{Shards: 7, Doing: "list"})
			close(begun)
			<-release
			return nil, wire.ValueError("enough")
		}
	})
	c := dial(t, path)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.open(wire.Open{Dataset: "d", Spec: wire.Spec{Addresses: secretAddresses}})
	}()
	<-begun
	s, err := Survey(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Openings) != 1 || s.Openings[0].Progress.Shards != 7 || len(s.Openings[0].Addresses) != len(secretAddresses) || s.Engine.Socket != path || s.Engine.Log != "/log" {
		t.Errorf("got %+v", s)
	}
	text, err := json.Marshal(s)
	if err != nil || strings.Contains(string(text), "hush") {
		t.Errorf("a secret is in %s, error %v", text, err)
	}
	close(release)
	<-done
	if s, err := Survey(t.Context(), path); err != nil || len(s.Openings) != 0 || s.Sessions == nil || s.Stores == nil || s.Caches == nil {
		t.Errorf("afterwards %+v, error %v", s, err)
	}
}

// Surveys do not make an engine live longer.
func TestSurveyIsNoClient(t *testing.T) {
	path := filepath.Join(runtimeDir(t), "engine.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- New(Options{Open: shop, Grace: 100 * time.Millisecond}).Serve(t.Context(), l) }()
	surveyed := 0
	for end := time.Now().Add(patience); ; surveyed++ {
		if _, err := Survey(t.Context(), path); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the engine lives as long as it is surveyed")
		}
	}
	if err := <-served; err != nil || surveyed == 0 {
		t.Errorf("%d surveys, error %v", surveyed, err)
	}
}
