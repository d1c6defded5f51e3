package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shapes are the ways in which a loader can work.
var shapes = []Options{
	{},
	{Workers: 1, PrefetchFactor: 1},
	{Workers: 1},
	{Workers: 4, PrefetchFactor: 1},
	{Workers: 3},
	{Workers: 1, PrefetchFactor: 1, Unordered: true},
	{Workers: 4, Unordered: true},
}

// eachShape runs a test for every shape, with a default allocator and with one of the user's.
func eachShape(t *testing.T, test func(t *testing.T, o Options)) {
	for _, o := range shapes {
		for _, custom := range []bool{false, true} {
			name := fmt.Sprintf("workers %d, prefetch %d, unordered %t, custom allocator %t", o.Workers, o.PrefetchFactor, o.Unordered, custom)
			t.Run(name, func(t *testing.T) {
				if custom {
					o.Allocator = newSlots(5)
				}
				test(t, o)
			})
		}
	}
}

// jitter makes workers overtake each other.
func jitter(_ context.Context, b *Batch, _ *rand.Rand) error {
	time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
	_, err := AddTensor[int64](b, "made")
	return err
}

func TestOrder(t *testing.T) {
	eachShape(t, func(t *testing.T, o Options) {
		o.Transforms = []Transform{{Apply: jitter}}
		l, opened := fakeLoader(t, o, 40, nil)
		var got []int64
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if s := l.State(); !o.Unordered && s.Position != b.State.Position {
				t.Errorf("step %d: the loader's state is at %d, the batch's at %d", b.Step, s.Position, b.State.Position)
			}
			got = append(got, b.Step)
			b.Release()
		}
		if o.Unordered {
			slices.Sort(got)
		}
		if !reflect.DeepEqual(got, upTo(40)) {
			t.Errorf("got steps %v", got)
		}
		if s := l.State(); s.Position != 40 {
			t.Errorf("the state is at %d", s.Position)
		}
		nothingLeft(t, l, *opened)
	})
}

// A first step that is slow is overtaken, and the state stays before it.
func TestUnordered(t *testing.T) {
	overtaken := make(chan struct{})
	slow := Transform{Apply: func(_ context.Context, b *Batch, _ *rand.Rand) error {
		if b.Step == 0 {
			<-overtaken
		}
		return nil
	}}
	l, opened := fakeLoader(t, Options{Workers: 2, Unordered: true, Transforms: []Transform{slow}}, 10, nil)
	var got []int64
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Step)
		b.Release()
		if len(got) == 3 {
			if s := l.State(); s != nil {
				t.Errorf("the state passed a step that was not handed out: %d", s.Position)
			}
			close(overtaken)
		}
	}
	if got[0] == 0 || got[1] == 0 || got[2] == 0 {
		t.Errorf("step 0 was waited for: %v", got)
	}
	if s := l.State(); s.Position != 10 {
		t.Errorf("the state is at %d", s.Position)
	}
	nothingLeft(t, l, *opened)
}

func TestErrors(t *testing.T) {
	breakAt := func(step int64, do func() error) Transform {
		return Transform{Name: "flip", Apply: func(_ context.Context, b *Batch, _ *rand.Rand) error {
			if b.Step == step {
				return do()
			}
			return nil
		}}
	}
	for _, c := range []struct {
		name  string
		o     func(*Options)
		s     func(*fakeStream)
		is    error
		want  string // how the error begins
		stack bool
	}{
		{
			name: "transform", o: func(o *Options) { o.Transforms = []Transform{breakAt(5, func() error { return errTest })} },
			is: errTest, want: "loader: transform 0 (flip): rank 0, epoch 0, step 5: it broke",
		},
		{
			name: "panic", o: func(o *Options) { o.Transforms = []Transform{breakAt(5, func() error { panic("oh") })} },
			want: "loader: transform 0 (flip): rank 0, epoch 0, step 5: panic: oh\ngoroutine ", stack: true,
		},
		{
			name: "panic with an error", o: func(o *Options) { o.Transforms = []Transform{breakAt(5, func() error { panic(errTest) })} },
			is: errTest, want: "loader: transform 0 (flip): rank 0, epoch 0, step 5: panic: it broke\n", stack: true,
		},
		{name: "collate", o: func(o *Options) {
			o.Collate = func(ctx context.Context, b *Batch) error {
				return breakAt(5, func() error { return errTest }).Apply(ctx, b, nil)
			}
		}, is: errTest, want: "loader: collate: rank 0, epoch 0, step 5: it broke"},
		{name: "read", s: func(s *fakeStream) { s.failAt, s.err = 5, errTest }, is: errTest, want: "loader: read: it broke"},
		{name: "panic in read", s: func(s *fakeStream) { s.failAt = 5 }, want: "loader: read: panic: no error\ngoroutine ", stack: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, o Options) {
				if c.o != nil {
					c.o(&o)
				}
				l, opened := fakeLoader(t, o, 20, c.s)
				got, err := steps(t.Context(), l)
				if !o.Unordered && !reflect.DeepEqual(got, upTo(5)) {
					t.Errorf("steps %v came before the error", got)
				}
				if err == nil || !strings.HasPrefix(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("got %v", err)
				}
				var e *Error
				if !errors.As(err, &e) || (e.Stack != nil) != c.stack {
					t.Errorf("no stack, or one too many: %#v", err)
				}
				nothingLeft(t, l, *opened)
			})
		})
	}
}

func TestErrorsOfAllocator(t *testing.T) {
	for _, workers := range []int{0, 2} {
		s := newSlots(3)
		s.fail = errTest
		l, opened := fakeLoader(t, Options{Workers: workers, Allocator: s}, 20, nil)
		_, err := steps(t.Context(), l)
		if err == nil || err.Error() != "loader: memory: it broke" {
			t.Errorf("got %v", err)
		}
		nothingLeft(t, l, *opened)

		s = newSlots(3)
		s.full = errTest
		l, opened = fakeLoader(t, Options{Workers: workers, Allocator: s, Transforms: []Transform{{Apply: jitter}}}, 20, nil)
		_, err = steps(t.Context(), l)
		if err == nil || err.Error() != "loader: transform 0: rank 0, epoch 0, step 0: it broke" {
			t.Errorf("got %v", err)
		}
		nothingLeft(t, l, *opened)
	}
}

func TestTimeout(t *testing.T) {
	stuck := func(ctx context.Context, b *Batch) error {
		if b.Step == 3 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	for _, c := range []struct {
		name string
		o    Options
		hang int64
		hold bool
		want string
	}{
		{name: "rows", hang: 3, want: "rows from the stream (4 rows in 0 draws "},
		{name: "collate", hang: -1, o: Options{Collate: stuck}, want: "collate (batch 3 of this iteration)"},
		{name: "collate that goes on", hang: -1, want: "collate (batch 3 of this iteration)"},
		{name: "transform", hang: -1, o: Options{Transforms: []Transform{{Apply: jitter}, {
			Name: "mask", Apply: func(ctx context.Context, b *Batch, _ *rand.Rand) error { return stuck(ctx, b) },
		}}}, want: "transform 1 (mask) (batch 3 of this iteration)"},
		{name: "memory", hang: -1, hold: true, want: "memory for a batch: 5 batches were handed out and not released; call Release when done with a batch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, o Options) {
				if c.name == "collate that goes on" && o.Workers == 0 {
					t.Skip("nobody is there to interrupt it")
				}
				t.Parallel()
				o.Timeout, o.Transforms, o.Collate = 300*time.Millisecond, c.o.Transforms, c.o.Collate
				if o.Allocator == nil {
					o.MaxBatches = 5
				}
				told := make(chan struct{})
				if c.name == "collate that goes on" {
					o.Collate = func(_ context.Context, b *Batch) error {
						if b.Step == 3 {
							<-told
						}
						return nil
					}
				}
				l, opened := fakeLoader(t, o, 20, func(s *fakeStream) { s.hangAt = c.hang })
				var held []*Batch
				var err error
				for b, e := range l.Batches(t.Context()) {
					if err = e; e != nil {
						close(told)
						break
					}
					held = append(held, b)
					if !c.hold {
						b.Release()
					}
				}
				var timeout *TimeoutError
				if !errors.As(err, &timeout) || !timeout.Timeout() {
					t.Fatalf("got %v", err)
				}
				if want := "loader: no batch within 300ms: waiting for " + c.want; !strings.HasPrefix(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
				for _, b := range held {
					b.Release()
				}
				nothingLeft(t, l, *opened)
			})
		})
	}
}

// Nothing is read beyond what the bound on batches allows while the consumer holds what it has.
func TestBound(t *testing.T) {
	eachShape(t, func(t *testing.T, o Options) {
		if o.Allocator == nil {
			o.MaxBatches = 5
		}
		l, opened := fakeLoader(t, o, 1000, nil)
		var held []*Batch
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if held = append(held, b); len(held) == 5 {
				break
			}
		}
		if n := (*opened)[0].next.Load(); n > 6 { // one waits for memory
			t.Errorf("%d steps were drawn while 5 batches were held", n)
		}
		if n := l.Stats().Held; n != 5 {
			t.Errorf("%d count as held", n)
		}
		for _, b := range held {
			b.Release()
		}
		nothingLeft(t, l, *opened)
	})
}

func TestAhead(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want int64 // steps drawn while the consumer looks at the first batch
	}{
		{Options{}, 1},
		{Options{Workers: 1, PrefetchFactor: 1}, 2},
		{Options{Workers: 2}, 5},
		{Options{Workers: 2, PrefetchFactor: 3}, 7},
	} {
		l, opened := fakeLoader(t, c.o, 1000, nil)
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			s := (*opened)[0]
			for end := time.Now().Add(5 * time.Second); s.next.Load() < c.want && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(5 * time.Millisecond)
			if n := s.next.Load(); n != c.want {
				t.Errorf("workers %d, prefetch %d: %d steps were drawn, not %d", c.o.Workers, c.o.PrefetchFactor, n, c.want)
			}
			b.Release()
			break
		}
		nothingLeft(t, l, *opened)
	}
}

func TestCancel(t *testing.T) {
	eachShape(t, func(t *testing.T, o Options) {
		l, opened := fakeLoader(t, o, 1000, func(s *fakeStream) { s.hangAt = 7 })
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(errTest) })
		_, err := steps(ctx, l)
		if !errors.Is(err, errTest) {
			t.Errorf("got %v", err)
		}
		nothingLeft(t, l, *opened)
	})
}

func TestLeave(t *testing.T) {
	for name, leave := range map[string]func(){
		"break":  nil,
		"panic":  func() { panic("consumer") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, o Options) {
				o.Transforms = []Transform{{Apply: jitter}}
				l, opened := fakeLoader(t, o, 1000, nil)
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					for b, err := range l.Batches(context.Background()) {
						if err != nil {
							t.Error(err)
						}
						b.Release()
						if b.Step >= 3 && leave == nil {
							break
						}
						if b.Step >= 3 {
							leave()
						}
					}
				}()
				<-done
				nothingLeft(t, l, *opened)
			})
		})
	}
}

// An iteration goes on where the one before was left.
func TestAgain(t *testing.T) {
	eachShape(t, func(t *testing.T, o Options) {
		if o.Unordered {
			t.Skip("may repeat")
		}
		l, opened := fakeLoader(t, o, 20, nil)
		var got []int64
		for range 6 {
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b.Step)
				b.Release()
				if len(got)%4 == 0 {
					break
				}
			}
		}
		if !reflect.DeepEqual(got, upTo(20)) {
			t.Errorf("got %v", got)
		}
		nothingLeft(t, l, *opened)
	})
}

func TestBusy(t *testing.T) {
	l, opened := fakeLoader(t, Options{Workers: 1}, 20, nil)
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		if _, err := steps(t.Context(), l); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		break
	}
	nothingLeft(t, l, *opened)
	if _, err := steps(t.Context(), l); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestCloseDuringIteration(t *testing.T) {
	eachShape(t, func(t *testing.T, o Options) {
		l, opened := fakeLoader(t, o, 1000, func(s *fakeStream) { s.hangAt = 5 })
		var wg sync.WaitGroup
		var last error
		wg.Go(func() { _, last = steps(context.Background(), l) })
		time.Sleep(5 * time.Millisecond)
		if err := l.Close(); err != nil && !strings.Contains(err.Error(), "not released") {
			t.Error(err)
		}
		wg.Wait()
		if !errors.Is(last, ErrClosed) {
			t.Errorf("the consumer got %v", last)
		}
		nothingLeft(t, l, *opened)
	})
}

func TestCloseNamesBatches(t *testing.T) {
	l, _ := fakeLoader(t, Options{MaxBatches: 3}, 3, nil)
	var held []*Batch
	for b := range l.Batches(t.Context()) {
		held = append(held, b)
	}
	if err := l.Close(); err == nil || err.Error() != "loader: closed with 3 batches not released" {
		t.Errorf("got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	for _, b := range held {
		b.Release()
	}
	if n := l.pool.Stats().InUse; n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}

// A consumer that forgets Release is told so, and not left to wait for ever.
func TestDropped(t *testing.T) {
	for _, o := range []Options{{}, {Workers: 2}, {Workers: 2, Unordered: true, Allocator: newSlots(4)}} {
		l, _ := fakeLoader(t, o, 1000, nil)
		n := 0
		var last error
		for _, err := range l.Batches(t.Context()) {
			n, last = n+1, err
		}
		var dropped *DroppedError
		if !errors.As(last, &dropped) || dropped.Batches != int64(n-1) {
			t.Errorf("after %d batches: %v", n, last)
		}
		want := fmt.Sprintf("loader: memory: %d batches were dropped without Release and no memory is left for another; call Release when done with a batch", n-1)
		if last == nil || last.Error() != want {
			t.Errorf("got  %v\nwant %s", last, want)
		}
	}
}

// A consumer that is slow and has once lost a batch is left in peace.
func TestDroppedOnce(t *testing.T) {
	for _, o := range []Options{{MaxBatches: 2}, {Workers: 1, MaxBatches: 3}} {
		l, _ := fakeLoader(t, o, 6, nil)
		var lost, released []int64
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Step == 0 {
				lost = append(lost, b.Step)
				continue
			}
			if b.Step == 2 {
				time.Sleep(firstLook * 5 / 4)
			}
			released = append(released, b.Step)
			b.Release()
		}
		if len(lost) != 1 || len(released) != 5 {
			t.Errorf("lost %v, released %v", lost, released)
		}
	}
}

// Random numbers depend on the step alone, not on who makes the batch, when, or after how many restarts.
func TestTransformsRepeat(t *testing.T) {
	var want []float64
	eachShape(t, func(t *testing.T, o Options) {
		draw := func(_ context.Context, b *Batch, r *rand.Rand) error {
			b.Data = append(b.Data.([]float64), r.Float64())
			return nil
		}
		o.Collate = func(_ context.Context, b *Batch) error {
			b.Data = []float64{}
			return nil
		}
		o.Transforms = []Transform{{Apply: draw}, {Apply: jitter}, {Apply: draw}}
		l, opened := fakeLoader(t, o, 30, nil)
		got := make([]float64, 60)
		for left := 30; left > 0; {
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				copy(got[2*b.Step:], b.Data.([]float64))
				b.Release()
				left--
				if left%7 == 0 && !o.Unordered {
					break
				}
			}
		}
		if want == nil {
			want = got
			seen := slices.Clone(got)
			slices.Sort(seen)
			if len(slices.Compact(seen)) != 60 {
				t.Error("steps or transforms share their numbers")
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		nothingLeft(t, l, *opened)
	})
}

// Random ends at random steps: nothing is left, nothing is lost.
func TestRandomEnds(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := shapes[r.IntN(len(shapes))]
		if r.IntN(2) == 0 {
			o.Allocator = newSlots(2 + o.Workers + r.IntN(4))
		}
		o.Transforms = []Transform{{Apply: jitter}}
		end, how := int64(r.IntN(30)), r.IntN(4)
		if how == 0 {
			o.Transforms = append(o.Transforms, Transform{Apply: func(_ context.Context, b *Batch, _ *rand.Rand) error {
				if b.Step == end {
					return errTest
				}
				return nil
			}})
		}
		l, opened := fakeLoader(t, o, 30, func(s *fakeStream) {
			if how == 1 {
				s.failAt, s.err = end, errTest
			}
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		var got []int64
		for b, err := range l.Batches(ctx) {
			if err != nil {
				if !errors.Is(err, errTest) {
					t.Errorf("seed %d: %v", seed, err)
				}
				break
			}
			got = append(got, b.Step)
			if b.Step == end && how == 2 {
				cancel(errTest)
			}
			b.Release()
			if b.Step == end && how == 3 {
				break
			}
		}
		cancel(nil)
		if !o.Unordered && !slices.Equal(got, upTo(int64(len(got)))) {
			t.Errorf("seed %d: got %v", seed, got)
		}
		nothingLeft(t, l, *opened)
	}
}
