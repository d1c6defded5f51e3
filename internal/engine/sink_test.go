package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

const patience = time.Minute // of tests that wait for an event

// shop opens testdata/shop by a spec.
func shop(ctx context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
	return shopWithin(ctx, r, shopBudget, 64<<20)
}

func shopWithin(ctx context.Context, r Request, budget *mem.Budget, memory int64) (*Data, error) {
	if r.Spec.Addresses[0] == "nothing" {
		return nil, &shard.Error{Op: "list", URI: "nothing", Err: shard.ErrNotExist}
	}
	path, err := filepath.Abs("../../testdata/shop")
	if err != nil {
		return nil, err
	}
	store := local.Store{}
	ds, err := iterable.Open(ctx, shard.Stores{"": store, "file": store}, []string{path}, iterable.Options{
		Reading: iterable.Reading{Columns: []string{"unique_id", "price"}}, Order: iterable.Order{Shuffle: r.Spec.Shuffle, Seed: r.Spec.Seed}, Resources: iterable.Resources{Memory: memory, Budget: (*iterable.Budget)(budget)},
	})
	if err != nil {
		return nil, err
	}
	return &Data{Dataset: ds, Loader: loader.Options{BatchSize: max(1, r.Spec.BatchSize), Tail: shuffle.Tail(r.Spec.Tail), Workers: 2}, Slots: r.Spec.Slots}, nil
}

var shopBudget = mem.NewBudget(1 << 30)

// testEngine is an engine of the shop. Whatever a test leaves open, its end closes.
func testEngine(t *testing.T, o Options) *engine {
	t.Helper()
	if o.Open == nil {
		o.Open = shop
	}
	e := newEngine(o)
	t.Cleanup(e.close)
	return e
}

// testSpec reads the shop shuffled in batches of 50, 41 of them.
func testSpec() wire.Spec {
	return wire.Spec{Addresses: []string{"shop"}, Order: shardfeed.Order{Shuffle: true, Seed: 3}, BatchSize: 50, Slots: 6}
}

// sit makes the client of a trainer's connection.
func connect(t *testing.T, e *engine, dataset string, s wire.Spec) *client {
	t.Helper()
	c, _, err := e.open(t.Context(), wire.Hello{Job: "job", PID: 42}, wire.Open{Dataset: dataset, Spec: s}, func(wire.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c.(*client)
}

// A sink is a consumer that keeps what it gets until the test looks at it; a slot is free again
// when its batch was looked at.
type sink struct {
	t      *testing.T
	client *client

	told   chan any // Joined, *got, End or error, in their order
	noted  chan wire.Note
	inside bool // an iteration
	tokens chan struct{}

	mu     sync.Mutex
	rings  int
	shared []consumer // with these at last
}

// A got is a batch as a sink saw it.
type got struct {
	ids                   []string
	epoch, step, position int64
	valid                 int
	free                  func() // gives the slot back, when all replicas have looked
}

func newSink(t *testing.T, s *client) *sink {
	return &sink{t: t, client: s, told: make(chan any, 1000), noted: make(chan wire.Note, 100)}
}

func (s *sink) ring(n ringNeed, also ...consumer) (loader.Allocator, error) {
	s.shared = also
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rings++; s.tokens == nil {
		s.tokens = make(chan struct{}, n.slots)
	}
	return s, nil
}

// Begin takes a slot.
func (s *sink) Begin(ctx context.Context, _ int) (loader.Memory, error) {
	select {
	case s.tokens <- struct{}{}:
		return &sinkMemory{sink: s}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type sinkMemory struct {
	sink *sink
	sent bool
}

func (m *sinkMemory) Alloc(n int) ([]byte, error) { return make([]byte, n+64)[:n:n], nil }

func (m *sinkMemory) Free() {
	if !m.sent {
		<-m.sink.tokens
	}
}

func (s *sink) progress(wire.Progress) {}

func (s *sink) held(wire.Held)   {}
func (s *sink) note(n wire.Note) { s.noted <- n }
func (s *sink) end(e wire.End)   { s.over(e) }
func (s *sink) fail(err error)   { s.over(err) }

func (s *sink) joined(j wire.Joined) {
	if s.inside {
		s.t.Error("JOINED twice")
	}
	s.inside = true
	s.told <- j
}

func (s *sink) over(v any) {
	s.inside = false
	s.told <- v
}

func (s *sink) deliver(b *loader.Batch, also ...consumer) error {
	defer b.Release()
	b.Memory().(*sinkMemory).sent = true
	ids, err := column.Strings(b.Columns[0])
	if err != nil {
		return err
	}
	from, left := b.Memory().(*sinkMemory).sink, &atomic.Int64{}
	left.Store(int64(1 + len(also)))
	free := func() {
		if left.Add(-1) == 0 {
			<-from.tokens
		}
	}
	for _, c := range append([]consumer{s}, also...) {
		c.(*sink).told <- &got{ids: slices.Clone(ids), epoch: b.Epoch, step: b.Step, position: b.Position, valid: b.Valid, free: free}
	}
	return nil
}

// next is the sink's next call.
func (s *sink) next() any {
	s.t.Helper()
	select {
	case v := <-s.told:
		if b, ok := v.(*got); ok {
			b.free()
		}
		return v
	case <-time.After(patience):
		s.t.Fatal("nothing comes")
		return nil
	}
}

// join joins, and expects JOINED.
func (s *sink) join(j wire.Join) wire.Joined {
	s.t.Helper()
	s.ask(j)
	v := s.next()
	joined, ok := v.(wire.Joined)
	if !ok {
		s.t.Fatalf("after JOIN came %v", v)
	}
	return joined
}

// ask asks for an iteration whose beginning comes later.
func (s *sink) ask(j wire.Join) {
	s.t.Helper()
	if err := s.client.join(j, s); err != nil {
		s.t.Fatal(err)
	}
}

// batches takes so many batches; below 0 all until the end, which it returns.
func (s *sink) batches(n int) (all []*got, end wire.End) {
	s.t.Helper()
	for ; n != 0; n-- {
		switch v := s.next().(type) {
		case *got:
			all = append(all, v)
		case wire.End:
			return all, v
		case wire.Joined:
			n++
		case error:
			s.t.Fatalf("after %d batches: %v", len(all), v)
		}
	}
	return all, end
}

// failure reads until the iteration fails.
func (s *sink) failure() wire.Failure {
	s.t.Helper()
	for {
		switch v := s.next().(type) {
		case error:
			return wire.FailureOf(v)
		case wire.End:
			s.t.Fatalf("the iteration ended without an error: %+v", v)
		}
	}
}

// leave leaves, and forgets what came before the end.
func (s *sink) leave() wire.End {
	s.t.Helper()
	s.client.leave(s)
	for {
		if e, ok := s.next().(wire.End); ok && e.Left {
			return e
		}
	}
}

// epochIDs are the rows of an epoch in order, as a loader of its own reads them.
func epochIDs(t *testing.T, s wire.Spec, rank, world int, state *shuffle.State, epoch int) []string {
	t.Helper()
	d, err := shop(t.Context(), Request{Spec: s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := d.Loader
	o.Rank, o.WorldSize, o.State = rank, world, state
	if state == nil {
		o.Epoch = epoch
	}
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		some, err := column.Strings(b.Columns[0])
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, some[:b.Valid]...)
		b.Release()
	}
	if err := errors.Join(l.Close(), d.Dataset.Close()); err != nil {
		t.Fatal(err)
	}
	return ids
}

// idsOf are the rows of batches in the order of the steps.
func idsOf(all ...[]*got) []string {
	var ids []string
	for i := 0; ; i++ {
		some := false
		for _, batches := range all {
			if i < len(batches) {
				ids, some = append(ids, batches[i].ids[:batches[i].valid]...), true
			}
		}
		if !some {
			return ids
		}
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Errorf("%s: %d rows, want %d; they differ at row %d", what, len(got), len(want), i)
	}
}

// A deskFunc opens data sets, and has no work to show.
type deskFunc func(context.Context, wire.Hello, wire.Open, func(wire.Progress)) (handler, wire.Opened, error)

func (f deskFunc) open(ctx context.Context, h wire.Hello, o wire.Open, p func(wire.Progress)) (handler, wire.Opened, error) {
	return f(ctx, h, o, p)
}

func (f deskFunc) snapshot() Snapshot { return Snapshot{} }

func (f deskFunc) follow(of loads.Rank) *loads.Follower { return new(loads.Log).Follow(of) }
