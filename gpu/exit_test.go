package gpu_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// leave takes n batches and leaves the loop in one of several ways.
func leave(t *testing.T, l *gpu.Loader, n int, how string, seen func(*gpu.Batch)) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { _ = recover() }()
		taken := 0
		for b, err := range l.Batches(ctx) {
			if err != nil {
				if how != "cancel" || !errors.Is(err, why) {
					t.Error(err)
				}
				return
			}
			if taken == n {
				t.Errorf("a batch after the end: %v", b)
			}
			seen(b)
			b.Release()
			if taken++; taken < n {
				continue
			}
			switch how {
			case "break":
				return
			case "panic":
				panic(why)
			case "goexit":
				runtime.Goexit()
			case "cancel":
				cancel(why)
			}
		}
	})
	wg.Wait()
}

// However the loop is left, nothing of it is left, and the next one goes on after the last batch
// that was handed out, and not after the batches on their way.
func TestEarlyExits(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := loader.Options{BatchSize: 7, Workers: 2, Epochs: 2}
		want := onHost(t, ds, loader.Options{BatchSize: 7, Epochs: 2})
		for _, unordered := range []bool{false, true} {
			o.Unordered = unordered
			l := newLoader(t, ds, d, gpu.Options{Loader: o, InFlight: 3})
			var got []picture
			for i, how := range []string{"break", "panic", "cancel", "goexit"} {
				leave(t, l, i+1, how, func(b *gpu.Batch) { got = append(got, ofDevice(t, d, b)) })
				if s := l.Stats(); s.Ring.Used != 0 || s.Device.Depth != 0 || s.Held != 0 {
					t.Fatalf("after %s: %+v", how, s)
				}
				if unordered {
					continue // what comes first is what is ready first
				}
				if diff := (picture{at: string(l.State().JSON())}).diff(picture{at: state(want[len(got)-1])}); diff != "" {
					t.Fatalf("after %s: %s", how, diff)
				}
			}
			if unordered {
				everyRow(t, d, l, ds, o)
				continue
			}
			rest, err := take(t, l, d, release)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rest...)
			same(t, got, want[:len(got)])
			if n := len(want); len(got) != n/2*2 && len(got) != n {
				t.Errorf("%d of %d batches", len(got), n)
			}
		}
	})
}

// state is the state in a picture.
func state(p picture) string {
	_, s, _ := strings.Cut(p.at, "state ")
	return s
}

// everyRow goes through the rest of an epoch and expects each row that the state leaves, out of
// order and at least once.
func everyRow(t *testing.T, d rig, l *gpu.Loader, ds *iterable.Dataset, o loader.Options) {
	t.Helper()
	o.State, o.Epochs = l.State(), 1
	o.Unordered = false
	want := onHost(t, ds, o)
	steps := map[string]bool{}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		steps[ofDevice(t, d, b).String()] = true
		b.Release()
	}
	for _, p := range want {
		if !steps[p.String()] {
			t.Errorf("missed: %s", p.at)
		}
	}
}

// A Close beside an iteration ends it, and again it does nothing.
func TestCloseWhileIterating(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		l, err := gpu.New(openThings(t, iterable.Options{}), d, gpu.Options{Loader: loader.Options{BatchSize: 10, Workers: 2, Epochs: -1}})
		if err != nil {
			t.Fatal(err)
		}
		closing := make(chan error, 1)
		n := 0
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				if !errors.Is(err, gpu.ErrClosed) {
					t.Errorf("got %v", err)
				}
				break
			}
			b.Release()
			if n++; n == 3 {
				go func() { closing <- l.Close() }()
			}
		}
		if err := <-closing; err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		for _, err := range l.Batches(t.Context()) {
			if !errors.Is(err, gpu.ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Batches that are kept stay what they are, over the end of the iteration and Close, which counts
// them; their memory goes with them.
func TestKeptBatches(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := loader.Options{BatchSize: 100}
		want := onHost(t, ds, o)
		l, err := gpu.New(ds, d, gpu.Options{Loader: o, Held: 3})
		if err != nil {
			t.Fatal(err)
		}
		var kept []*gpu.Batch
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, b)
		}
		if n := l.Stats().Held; n != 3 || len(kept) != 3 {
			t.Fatalf("%d of %d batches held", n, len(kept))
		}
		kept[1].Release()
		err = l.Close()
		if err == nil || !strings.Contains(err.Error(), "2 batches not released") {
			t.Errorf("closed with %v", err)
		}
		same(t, []picture{ofDevice(t, d, kept[0]), ofDevice(t, d, kept[2])}, []picture{want[0], want[2]})
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		kept[0].Release()
		if err := kept[2].ReleaseAfter(s); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		checkReleased(t, kept[0])
	})
}

// checkReleased uses a batch that was released.
func checkReleased(t *testing.T, b *gpu.Batch) {
	t.Helper()
	b.Release()
	if err := b.ReleaseAfter(nil); err != nil {
		t.Error(err)
	}
	if _, err := b.Column("id"); !errors.Is(err, gpu.ErrReleased) {
		t.Errorf("got %v", err)
	}
	if b.Memory() != nil || b.Columns != nil || b.Bytes(gpu.Span{}) != nil || !strings.HasSuffix(b.String(), "released") {
		t.Errorf("%v still has memory", b)
	}
}

// A consumer that holds all it may have waits with a reason.
func TestHeld(t *testing.T) {
	o := gpu.Options{Loader: loader.Options{BatchSize: 10, Timeout: 2 * time.Second}, InFlight: 1, Held: 1}
	l := newLoader(t, openThings(t, iterable.Options{}), gpu.OpenHost(), o)
	var held []*gpu.Batch
	var last error
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			last = err
			break
		}
		held = append(held, b)
	}
	var timeout *loader.TimeoutError
	if !errors.As(last, &timeout) || len(held) != 2 || !strings.Contains(last.Error(), "2 batches were handed out and not released") {
		t.Errorf("%d batches, then %v", len(held), last)
	}
	for _, b := range held {
		b.Release()
	}
}

// Options.Loader.Timeout is about the consumer's wait: a batch may take longer while the consumer
// is busy.
func TestTimeoutIsTheConsumers(t *testing.T) { synctest.Test(t, timeoutIsTheConsumers) }

func timeoutIsTheConsumers(t *testing.T) {
	slow := loader.Transform{Apply: func(_ context.Context, b *loader.Batch, _ *rand.Rand) error {
		if b.Step == 1 {
			time.Sleep(1500 * time.Millisecond)
		}
		return nil
	}}
	o := loader.Options{BatchSize: 100, Workers: 1, Timeout: time.Second, Transforms: []loader.Transform{slow}}
	l := newLoader(t, openThings(t, iterable.Options{}), gpu.OpenHost(), gpu.Options{Loader: o})
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Step == 0 {
			time.Sleep(1800 * time.Millisecond)
		}
		b.Release()
	}
}

// A consumer that loses all its batches gets an error, and their memory goes with the iteration.
func TestDropped(t *testing.T) {
	d := gpu.OpenHost()
	l, err := gpu.New(openThings(t, iterable.Options{}), d, gpu.Options{Loader: loader.Options{BatchSize: 10}, InFlight: 1, Held: 1})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range l.Batches(t.Context()) {
		last = err
	}
	var dropped *loader.DroppedError
	if !errors.As(last, &dropped) || dropped.Batches != 2 {
		t.Errorf("got %v", last)
	}
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "2 batches not released") {
		t.Errorf("closed with %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Two loaders share a device and know nothing of each other.
func TestTwoLoaders(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := everything()
		want := onHost(t, ds, o)
		var wg sync.WaitGroup
		for i := range 2 {
			o := o
			o.Workers = i * 2
			l := newLoader(t, ds, d, gpu.Options{Loader: o})
			wg.Go(func() {
				got, err := take(t, l, d, release)
				if err != nil {
					t.Error(err)
				}
				same(t, got, want)
			})
		}
		wg.Wait()
	})
}

// One loader has one iteration at a time.
func TestBusy(t *testing.T) {
	l := newLoader(t, openThings(t, iterable.Options{}), gpu.OpenHost(), gpu.Options{Loader: loader.Options{BatchSize: 10}})
	next, stop := iter.Pull2(l.Batches(t.Context()))
	b, err, _ := next()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.Batches(t.Context()) {
		if !errors.Is(err, loader.ErrBusy) {
			t.Errorf("got %v", err)
		}
	}
	b.Release()
	stop()
}
