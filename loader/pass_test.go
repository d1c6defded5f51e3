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
			for end := time.Now().Add(time.Minute); s.next.Load() < c.want && time.Now().Before(end); {
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

// Random numbers depend on the step alone, not on who makes the batch, when, or after how many
// restarts.
func TestTransformsRepeat(t *testing.T) {
	var want []float64
	eachShape(t, func(t *testing.T, o Options) {
		draw := func(_ context.Context, b *Batch, r *rand.Rand) error {
			b.Data = append(b.Data.([]float64), r.Float64())
			return nil
		}
		begin := func(_ context.Context, b *Batch, _ *rand.Rand) error {
			b.Data = []float64{}
			return nil
		}
		o.Transforms = []Transform{{Apply: begin}, {Apply: draw}, {Apply: jitter}, {Apply: draw}}
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
