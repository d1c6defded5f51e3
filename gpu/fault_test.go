package gpu_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// take drains an iteration and returns its batches.
func take(t testing.TB, l *gpu.Loader, d rig, release func(*gpu.Batch) error) (all []picture, err error) {
	t.Helper()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			return all, err
		}
		all = append(all, ofDevice(t, d, b))
		if err := release(b); err != nil {
			b.Release()
			return all, err
		}
	}
	return all, nil
}

func same(t testing.TB, got, want []picture) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d batches, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if diff := got[i].diff(want[i]); diff != "" {
			t.Fatalf("batch %d: %s", i, diff)
		}
	}
}

func release(b *gpu.Batch) error {
	b.Release()
	return nil
}

// Whatever fails, there is one error that says what, at which step; the device loses nothing, and
// the next iteration begins with the first batch that was not handed out.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		op    string
		nth   int
		want  string
		least int  // batches that come before it
		left  bool // the device itself keeps memory that is not freed
	}{
		{"stream", 1, "open a stream: ", 0, false},
		{"event", 1, "take memory for a batch: epoch 0, step 0: make an event: ", 0, false},
		{"event", 3, "take memory for a batch: epoch 0, step 2: make an event: ", 0, false},
		{"alloc", 1, "take memory for a batch: epoch 0, step 0: allocate ", 0, false},
		{"copy", 1, "copy a batch: epoch 0, step 0: ", 0, false},
		{"copy", 5, "copy a batch: epoch 0, step 4: ", 2, false},
		{"record", 1, "record the event behind a copy: epoch 0, step 0: ", 0, false},
		{"record", 5, "record the event behind a copy: epoch 0, step 4: ", 2, false},
		{"wait", 1, "wait for a copy: epoch 0, step 0: ", 0, false},
		{"wait", 5, "wait for a copy: epoch 0, step 4: ", 4, false},
		{"close stream", 9, "close a stream: ", 8, true}, // eight are of ofDevice
		{"free device memory", 2, "free the memory of a batch: ", 8, true},
		{"free event", 1, "free an event: ", 8, true},
	} {
		t.Run(c.op, func(t *testing.T) {
			onDevices(t, func(t *testing.T, d rig) {
				if d.fail == nil {
					t.Skip("no faults")
				}
				ds := openThings(t, iterable.Options{})
				o := everything()
				o.Workers = 1
				want := onHost(t, ds, o)
				l, err := gpu.New(ds, d, gpu.Options{Loader: o, InFlight: 3})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				d.fail(c.op, c.nth)
				got, err := take(t, l, d, release)
				if err == nil || strings.Count(err.Error(), c.want) != 1 || strings.Contains(err.Error(), "\n") {
					t.Fatalf("got %v, want %s", err, c.want)
				}
				var where *gpu.Error
				if !errors.As(err, &where) || where.Device != d.Info().Name || len(got) < c.least {
					t.Errorf("%d batches, then %#v", len(got), where)
				}
				if s := l.Stats(); s.Ring.Used != 0 || s.Held != 0 || s.Device.Depth != 0 {
					t.Errorf("left %+v", s)
				}
				if len(got) < len(want) {
					rest, err := take(t, l, d, release)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, rest...)
				}
				same(t, got, want)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				if c.left {
					d.forgive()
				}
			})
		})
	}
}

// When the device does not even say that a stream has ended, what a copy may still read is left
// alone, and said.
func TestFaultsOfALostDevice(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		if d.fail == nil {
			t.Skip("no faults")
		}
		l, err := gpu.New(openThings(t, iterable.Options{}), d, gpu.Options{Loader: everything()})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{"wait", "sync", "close stream"} {
			d.fail(op, 0)
		}
		if _, err := take(t, l, d, release); err == nil || !strings.Contains(err.Error(), "wait for a copy: epoch 0, step 0: ") {
			t.Errorf("got %v", err)
		}
		if s := l.Stats(); s.Ring.Used == 0 || s.Ring.Bytes == 0 {
			t.Errorf("a slot that may be read was given back: %+v", s.Ring)
		}
		err = l.Close()
		for _, want := range []string{"wait for what could not be waited for before: ", "close a stream: ", "are lost with it", "slots in use"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("closed with %v, want %s", err, want)
			}
		}
		if err := d.Close(); err == nil || !strings.Contains(err.Error(), "device ") {
			t.Errorf("memory that may be written was freed: %v", err)
		}
		d.forgive()
	})
}

// The ring's own faults: of its memory when it is made, and when it goes.
func TestFaultsOfTheRing(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		if d.fail == nil {
			t.Skip("no faults")
		}
		ds := openThings(t, iterable.Options{})
		d.fail("alloc host", 2)
		_, err := gpu.New(ds, d, gpu.Options{})
		var pin *gpu.PinError
		if !errors.As(err, &pin) || pin.Slots != 3 {
			t.Errorf("got %v", err)
		}
		l, err := gpu.New(ds, d, gpu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.fail("free host memory", 1)
		if err := l.Close(); err == nil || !strings.Contains(err.Error(), "free the memory of a batch: ") {
			t.Errorf("got %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
		d.forgive()
	})
}

// What a consumer's stream does with a batch is awaited by the copy of the one that comes after it
// in its memory, and a fault of that is the step's error.
func TestFaultsOfReleaseAfter(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		if d.fail == nil {
			t.Skip("no faults")
		}
		ds := openThings(t, iterable.Options{})
		want := onHost(t, ds, loader.Options{BatchSize: 20})
		l := newLoader(t, ds, d, gpu.Options{Loader: loader.Options{BatchSize: 20}})
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		d.fail("await", 2)
		after := func(b *gpu.Batch) error { return b.ReleaseAfter(s) }
		got, err := take(t, l, d, after)
		if err == nil || !strings.Contains(err.Error(), "await the consumer of an earlier batch: epoch 0, step 5: ") {
			t.Errorf("got %v", err)
		}
		d.fail("record", 4) // the first three are of copies, or of this: it comes as either
		more, err := take(t, l, d, after)
		if err == nil || !strings.Contains(err.Error(), "re") {
			t.Errorf("got %v", err)
		}
		rest, err := take(t, l, d, after)
		if err != nil {
			t.Fatal(err)
		}
		same(t, append(append(got, more...), rest...), want)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// While it is unknown whether a copy has ended, its slot is the batch's, and nothing else is sent;
// both end with the transfer.
func TestSlotsOfCopiesThatMayGoOn(t *testing.T) {
	for _, op := range []string{"record", "wait"} {
		t.Run(op, func(t *testing.T) {
			onDevices(t, func(t *testing.T, d rig) {
				if d.fail == nil {
					t.Skip("no faults")
				}
				w := newBench(t, d, openThings(t, iterable.Options{}), loader.Options{BatchSize: 50}, 3, 3)
				d.delay(20 * time.Millisecond)
				d.fail(op, 1)
				n := 0
				for host, err := range w.loader.Batches(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					b, err := w.transfer.Send(t.Context(), host)
					if err == nil {
						err = b.Wait(t.Context())
						b.Release()
					}
					var where *gpu.Error
					if !errors.As(err, &where) || where.Step != int64(n) {
						t.Errorf("batch %d: %v", n, err)
					}
					if used := w.ring.Stats().Used; used != 1 {
						t.Errorf("batch %d: %d slots in use", n, used)
					}
					if n++; n == 3 {
						break
					}
				}
				if err := w.transfer.Close(); err != nil {
					t.Error(err)
				}
				if used := w.ring.Stats().Used; used != 0 {
					t.Errorf("%d slots in use at the end", used)
				}
			})
		})
	}
}

// The stream awaits a consumer once, not before each later copy to the same memory.
func TestAwaitsOnce(t *testing.T) {
	d := newLate(t)
	l := newLoader(t, openThings(t, iterable.Options{}), d, gpu.Options{Loader: loader.Options{BatchSize: 20}, InFlight: 1, Held: 1})
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	d.fail("await", 2, errFault)
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Step > 0 {
			b.Release()
		} else if err := b.ReleaseAfter(s); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	d.fail("await", 0, nil)
}

// A copy that fails on the device takes the device with it: one error of its step, and all ends.
func TestFaultsOfTheDeviceItself(t *testing.T) {
	d := onFake(t)
	l, err := gpu.New(openThings(t, iterable.Options{}), d, gpu.Options{Loader: loader.Options{BatchSize: 20}})
	if err != nil {
		t.Fatal(err)
	}
	d.fail("late copy", 3)
	n := 0
	for range 2 {
		err = nil
		for b, problem := range l.Batches(t.Context()) {
			if err = problem; err == nil {
				n++
				b.Release()
			}
		}
		if err == nil || n > 2 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d batches, then %v", n, err)
		}
	}
	if !strings.Contains(err.Error(), "gpu: cuda:0: open a stream: ") {
		t.Errorf("got %v", err)
	}
	if err := l.Close(); err == nil || strings.Count(err.Error(), "\n") > 8 {
		t.Errorf("closed with %v", err)
	}
	d.forgive()
}

// What the end of an iteration has to say is kept for Close when the consumer had left.
func TestFaultsAfterTheConsumerLeft(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		if d.fail == nil {
			t.Skip("no faults")
		}
		l, err := gpu.New(openThings(t, iterable.Options{}), d, gpu.Options{Loader: loader.Options{BatchSize: 20}})
		if err != nil {
			t.Fatal(err)
		}
		d.fail("close stream", 1)
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
			break
		}
		if err := l.Close(); err == nil || !strings.Contains(err.Error(), "close a stream: ") {
			t.Errorf("closed with %v", err)
		}
		d.forgive()
	})
}
