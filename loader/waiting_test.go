package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/iteration"
)

func TestTimeout(t *testing.T) {
	stuck := func(ctx context.Context, b *Batch) error {
		if b.Step == 3 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	transforms := []Transform{{Apply: jitter}, {
		Name: "mask", Apply: func(ctx context.Context, b *Batch, _ *rand.Rand) error { return stuck(ctx, b) },
	}}
	for _, c := range []timeoutCase{
		{name: "rows", hang: 3, want: "rows from the stream (4 rows in 0 draws "},
		{name: "transform that goes on", hang: -1, deaf: true, want: "transform 0 (batch 3 of this iteration)"},
		{name: "transform", hang: -1, o: Options{Transforms: transforms}, want: "transform 1 (mask) (batch 3 of this iteration)"},
		{name: "memory", hang: -1, hold: true, want: "memory for a batch: 5 batches were handed out and not released; call Release when done with a batch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, o Options) {
				if c.deaf && o.Workers == 0 {
					t.Skip("nobody is there to interrupt it")
				}
				t.Parallel()
				c.check(t, o)
			})
		})
	}
}

type timeoutCase struct {
	name string
	o    Options
	hang int64 // step that the stream does not give
	hold bool  // the consumer releases nothing until the end
	deaf bool  // a transform takes no notice of its ctx
	want string
}

func (c timeoutCase) check(t *testing.T, o Options) {
	o.Timeout, o.Transforms = 300*time.Millisecond, c.o.Transforms
	if o.Allocator == nil {
		o.MaxBatches = 5
	}
	told := make(chan struct{})
	if c.deaf {
		o.Transforms = []Transform{{Apply: func(_ context.Context, b *Batch, _ *rand.Rand) error {
			if b.Step == 3 {
				<-told
			}
			return nil
		}}}
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
}

// A consumer that forgets Release gets an error, and does not wait for ever.
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
func TestDroppedOnce(t *testing.T) { synctest.Test(t, droppedOnce) }

func droppedOnce(t *testing.T) {
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
				time.Sleep(iteration.FirstLook * 5 / 4)
			}
			released = append(released, b.Step)
			b.Release()
		}
		if len(lost) != 1 || len(released) != 5 {
			t.Errorf("lost %v, released %v", lost, released)
		}
	}
}
