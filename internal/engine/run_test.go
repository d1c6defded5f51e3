package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// until waits for something that another goroutine brings about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within time: ", what)
		}
	}
}

// Runs that wait for others that are ending do not wait for each other when all of them are to end.
func TestRunsThatEndTogether(t *testing.T) {
	for name, wait := range map[string]func(*engine, *run){
		"settle":     func(e *engine, r *run) { e.settle(r) },
		"freeMemory": func(e *engine, r *run) { e.freeMemory(r, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(Options{})
				s := newSession(&dataset{engine: e}, "d", 0)
				var runs []*run
				for range 3 {
					r := &run{session: s, done: make(chan struct{})}
					r.ctx, r.cancel = context.WithCancelCause(t.Context())
					runs = append(runs, r)
					e.running[r] = true
				}
				last := runs[2] // is ending for a while, and the others wait for it
				last.cancel(errNotWanted)
				for _, r := range runs[:2] {
					go func() {
						wait(e, r)
						close(r.done)
					}()
				}
				synctest.Wait()
				for _, r := range runs[:2] {
					r.cancel(errNotWanted)
				}
				for _, r := range runs[:2] {
					<-r.done // or the bubble is deadlocked
				}
			})
		})
	}
}

// Iterations that are left, begun again and given up faster than their runs begin leave an engine
// that can end.
func TestEndsWhileIterationsBegin(t *testing.T) {
	for range 50 {
		e := newEngine(Options{Open: shop})
		var trainers sync.WaitGroup
		for k := range 8 {
			sink := newSink(t, connect(t, e, fmt.Sprint(k), testSpec()))
			trainers.Go(func() {
				for n := range 3 {
					if err := sink.client.join(alone(n), sink); err != nil {
						t.Error(err)
					}
					if n < 2 {
						sink.client.leave(sink)
					}
				}
				sink.client.close()
			})
		}
		trainers.Wait()
		ended := make(chan struct{})
		go func() {
			e.close()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("the engine waits for runs that wait for each other")
		}
	}
}

// leaver is a consumer whose trainer goes before its first batch.
type leaver struct{ *sink }

func (leaver) deliver(b *loader.Batch, _ ...consumer) error {
	b.Release()
	return errGone
}

// A trainer that goes within an iteration ends it, and is not logged as a failure.
func TestGoneIsNoFailure(t *testing.T) {
	var logged bytes.Buffer
	e := newEngine(Options{Open: shop, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	gone := leaver{newSink(t, connect(t, e, "d", testSpec()))}
	if err := gone.client.join(alone(0), gone); err != nil {
		t.Fatal(err)
	}
	until(t, "the run ends", func() bool { return len(e.runs()) == 0 })
	gone.client.close()
	e.close()
	if text := logged.String(); strings.Contains(text, "level=ERROR") || !strings.Contains(text, "opened") {
		t.Error(text)
	}
}

// The slots fill with the next epoch's batches before it is asked for, from the first epoch on.
func TestReadAhead(t *testing.T) {
	e := testEngine(t, Options{})
	sink := newSink(t, connect(t, e, "d", testSpec()))
	for epoch := range 2 {
		sink.join(alone(epoch))
		sink.batches(-1)
		until(t, "batches that are ready", func() bool { return len(sink.tokens) >= 4 })
		if len(sink.told) != 0 {
			t.Errorf("%v comes outside of an iteration", sink.next())
		}
	}
	sink.join(alone(2))
	until(t, "batches that were ready", func() bool { return len(sink.told) == cap(sink.tokens) })
	batches, _ := sink.batches(-1)
	same(t, "epoch 2", idsOf(batches), epochIDs(t, testSpec(), 0, 1, nil, 2))
}

// Batches that were read ahead are dropped when the next iteration is another one: another epoch,
// another state, another consumer.
func TestReadAheadDropped(t *testing.T) {
	nine := int64(9)
	for name, change := range map[string]func(*sink, *wire.Join){
		"epoch": func(_ *sink, j *wire.Join) { j.Epoch, j.EpochSerial = &nine, "e" },
		"state": func(s *sink, j *wire.Join) {
			now, _ := s.client.ask(wire.Ask{})
			state := *now.State
			state.Epoch, state.Position = 9, 0
			j.State = &state
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := testEngine(t, Options{})
			sink := newSink(t, connect(t, e, "d", testSpec()))
			for epoch := range 2 {
				sink.join(alone(epoch))
				sink.batches(-1)
			}
			until(t, "batches that are ready", func() bool { return len(sink.tokens) >= 4 })
			j := alone(2)
			change(sink, &j)
			sink.join(j)
			batches, _ := sink.batches(-1)
			same(t, "epoch 9", idsOf(batches), epochIDs(t, testSpec(), 0, 1, nil, 9))
		})
	}
	t.Run("consumer", func(t *testing.T) {
		e := testEngine(t, Options{})
		sink, other := newSink(t, connect(t, e, "d", testSpec())), newSink(t, connect(t, e, "d", testSpec()))
		for epoch := range 2 {
			sink.join(alone(epoch))
			sink.batches(-1)
		}
		other.join(alone(2))
		batches, _ := other.batches(-1)
		same(t, "epoch 2", idsOf(batches), epochIDs(t, testSpec(), 0, 1, nil, 2))
		sink.client.close()
		if len(sink.tokens) != 0 {
			t.Errorf("%d slots are held", len(sink.tokens))
		}
	})
	t.Run("connection", func(t *testing.T) {
		e := testEngine(t, Options{})
		connect(t, e, "d", testSpec())
		sink := newSink(t, connect(t, e, "d", testSpec()))
		for epoch := range 2 {
			sink.join(alone(epoch))
			sink.batches(-1)
		}
		sink.client.close()
		until(t, "the run ends", func() bool { return len(e.runs()) == 0 })
	})
}

// A stream is admitted whole or refused with the numbers, and what is read ahead of need makes
// room for it.
func TestMemory(t *testing.T) {
	need := func() int64 {
		e := testEngine(t, Options{})
		sink := newSink(t, connect(t, e, "d", testSpec()))
		sink.join(alone(0))
		sink.batches(1)
		return shopBudget.Admitted()
	}()
	for range 2 { // the second time with what the first has given back
		small := mem.NewBudget(need + need/2)
		e := testEngine(t, Options{Budget: small, Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
			return shopWithin(ctx, r, small, 64<<20)
		}})
		a, b := newSink(t, connect(t, e, "train", testSpec())), newSink(t, connect(t, e, "validation", testSpec()))
		for epoch := range 2 {
			a.join(alone(epoch))
			a.batches(-1)
		}
		until(t, "batches that are ready", func() bool { return len(a.tokens) >= 4 })
		b.join(alone(0)) // the next epoch of a makes room
		b.batches(1)
		a.ask(alone(2))
		f := a.failure()
		if f.Kind != wire.KindMemory || f.Step != -1 {
			t.Errorf("%+v", f)
		}
		b.leave()
		a.join(alone(3))
		a.batches(1)
		a.client.close()
		b.client.close()
		until(t, "nothing is reserved", func() bool { return small.Admitted() == 0 })
	}
}

// The memory that an error advises is admitted, also where it brings more workers: an iteration
// does with as many as fit, unless the trainer has asked for them.
func TestFewerWorkers(t *testing.T) {
	join := func(memory int64, workers int, fewer bool) (*sink, error) {
		e := testEngine(t, Options{Open: func(ctx context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
			d, err := shopWithin(ctx, r, mem.NewBudget(0), memory)
			if err == nil {
				d.Loader.Workers, d.FewerWorkers = workers, fewer
			}
			return d, err
		}})
		s := newSink(t, connect(t, e, "d", wire.Spec{Addresses: []string{"shop"}, Order: shardfeed.Order{Shuffle: true}, BatchSize: 500}))
		s.ask(alone(0))
		for {
			switch v := s.next().(type) {
			case *got:
				return s, nil
			case error:
				return s, v
			}
		}
	}
	_, err := join(100<<10, 8, true)
	var refused *iterable.MemoryError
	if !errors.As(err, &refused) || refused.Memory == 0 {
		t.Fatalf("under 100 KiB: %v", err)
	}
	for _, c := range []struct {
		fewer bool
		kind  string
	}{{true, ""}, {false, wire.KindMemory}} {
		t.Run(fmt.Sprintf("fewer %t", c.fewer), func(t *testing.T) {
			s, err := join(refused.Memory, 200, c.fewer)
			if kind := wire.KindOf(err); err != nil && kind != c.kind || err == nil && c.kind != "" {
				t.Fatalf("under the advised %d: %v", refused.Memory, err)
			}
			if err == nil {
				s.batches(-1)
			}
		})
	}
}

// An outgrowing sink fails for memory once, at a batch in the middle of an epoch, as a ring does
// that finds no memory for a batch beyond its estimate.
type outgrowing struct {
	*sink
	budget *mem.Budget
	begun  int
}

func (o *outgrowing) ring(n ringNeed, _ ...consumer) (loader.Allocator, error) {
	_, err := o.sink.ring(n)
	return o, err
}

func (o *outgrowing) Begin(ctx context.Context, size int) (loader.Memory, error) {
	if o.begun++; o.begun == 2*cap(o.tokens) { // more than were ready before the first was dealt out
		_, err := o.budget.Reserve(0, mem.Amounts{mem.Ring: 1 << 50})
		return nil, err
	}
	return o.sink.Begin(ctx, size)
}

// An iteration that has dealt out batches is not begun again when memory runs short: its rows would
// come twice.
func TestNoRetryInTheMidst(t *testing.T) {
	budget := mem.NewBudget(1 << 40)
	e := testEngine(t, Options{Budget: budget, Open: func(ctx context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
		return shopWithin(ctx, r, budget, 64<<20)
	}})
	ahead := newSink(t, connect(t, e, "train", testSpec()))
	for epoch := range 2 { // the run reads the next epoch ahead: memory that can be freed
		ahead.join(alone(epoch))
		ahead.batches(-1)
	}
	until(t, "batches that are ready", func() bool { return len(ahead.tokens) >= 2 })
	s := newSink(t, connect(t, e, "validation", testSpec()))
	if err := s.client.join(alone(0), &outgrowing{sink: s, budget: budget}); err != nil {
		t.Fatal(err)
	}
	for last := int64(-1); ; {
		switch v := s.next().(type) {
		case *got:
			if v.step != last+1 {
				t.Fatalf("step %d came after step %d", v.step, last)
			}
			last = v.step
		case error:
			if wire.KindOf(v) != wire.KindMemory || last < 0 {
				t.Errorf("after step %d: %v", last, v)
			}
			return
		case wire.End:
			t.Fatal("the iteration ended without an error")
		}
	}
}

// The end of the engine fails what is going on, and nothing of it is left.
func TestEngineEnds(t *testing.T) {
	e := testEngine(t, Options{})
	all := workers(t, e, "d", 2)
	joinAll(all, "0", nil)
	all[0].batches(1)
	waiting := newSink(t, connect(t, e, "d", testSpec()))
	waiting.ask(wire.Join{Iteration: "1", Workers: 3})
	e.close()
	for i, s := range all {
		if f := s.failure(); f.Text != "the engine ends" {
			t.Errorf("worker %d: %+v", i, f)
		}
	}
	if _, _, err := e.open(t.Context(), wire.Hello{}, wire.Open{Spec: testSpec()}, nil); wire.FailureOf(err).Text != "the engine ends" {
		t.Errorf("%v", err)
	}
	if n := shopBudget.Admitted(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}

// A consumer that keeps its slots stops the loader; its death in whatever state frees everything.
func TestSlowConsumer(t *testing.T) {
	for taken := range 8 {
		e := testEngine(t, Options{})
		sink := newSink(t, connect(t, e, "d", testSpec()))
		sink.join(alone(0))
		sink.batches(taken)
		until(t, "batches in all slots", func() bool { return len(sink.told) == cap(sink.tokens) })
		sink.client.close()
		until(t, fmt.Sprint("the run ends after ", taken), func() bool { return len(e.runs()) == 0 && shopBudget.Admitted() == 0 })
	}
}

func TestSlots(t *testing.T) {
	d := &Data{}
	for k, want := range map[int]int{1: 12, 2: 6, 3: 5, 16: 3} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			if got := slotsOf(d, 4, k); got != want {
				t.Errorf("%d consumers have %d slots each, want %d", k, got, want)
			}
		})
	}
	if d.Slots = 64; slotsOf(d, 4, 3) != 64 {
		t.Error("slots that the trainer asks for")
	}
}

// A trainer that asks for a number of slots may keep batches in all of them, and say nothing.
func TestKeepsAllSlots(t *testing.T) {
	const slots = 12
	c := dial(t, serveWares(t, wares(t, 3, 70, noImages), func(_ *Options, d *Data) { d.Slots = slots }))
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	if _, err := c.join(wire.Join{Iteration: "1"}); err != nil {
		t.Fatal(err)
	}
	for range slots {
		if _, end, err := c.batch(); err != nil || end != nil {
			t.Fatalf("end %v, error %v", end, err)
		}
	}
}

// In short epochs no batch is begun beyond the next epoch, however many slots are free.
func TestReadAheadEnds(t *testing.T) {
	e := testEngine(t, Options{})
	spec := testSpec()
	spec.BatchSize, spec.Slots = 1500, 12 // two batches an epoch
	c := connect(t, e, "d", spec)
	sink := newSink(t, c)
	for epoch := range 3 {
		sink.join(alone(epoch))
		if batches, _ := sink.batches(-1); len(batches) != 2 {
			t.Fatalf("%d batches", len(batches))
		}
		until(t, "batches of the next epoch", func() bool { return len(sink.tokens) == 2 })
		s := c.group.session(0)
		s.mu.Lock()
		for l := range s.figures.loaders {
			if begun := l.Stats().Memory.Items; begun > int64(2*(epoch+2)) {
				t.Errorf("%d batches are begun in epoch %d", begun, epoch)
			}
		}
		s.mu.Unlock()
	}
}
