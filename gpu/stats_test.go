package gpu_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/option/optiontest"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// What the consumer waits for is charged to its place: the loader, the copy, or the consumer
// itself.
func TestWaitsAreCharged(t *testing.T) {
	const long = 20 * time.Millisecond
	ds := openThings(t, iterable.Options{})
	slow := func(of *loader.Options) {
		of.Transforms = []loader.Transform{{Apply: func(context.Context, *loader.Batch, *rand.Rand) error {
			time.Sleep(long)
			return nil
		}}}
	}
	for _, c := range []struct {
		name     string
		making   bool
		copying  bool
		training bool
		most     func(s gpu.Stats) (got time.Duration, others []time.Duration)
	}{
		{"making", true, false, false, func(s gpu.Stats) (time.Duration, []time.Duration) {
			return s.Feed.Get, []time.Duration{s.Device.Get, s.Feed.Put, s.Loader.Ready.Put}
		}},
		{"copying", false, true, false, func(s gpu.Stats) (time.Duration, []time.Duration) {
			return s.Device.Get, []time.Duration{s.Feed.Get}
		}},
		{"training", false, false, true, func(s gpu.Stats) (time.Duration, []time.Duration) {
			return s.Loader.Ready.Put + s.Loader.Memory.Get, []time.Duration{s.Feed.Get, s.Device.Get}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newLate(t)
			d.delay(0)
			if c.copying {
				d.delay(long)
			}
			o := gpu.Options{Loader: loader.Options{BatchSize: 10, Workers: 1}}
			if c.making {
				slow(&o.Loader)
			}
			l := newLoader(t, ds, d, o)
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if c.training {
					time.Sleep(long)
				}
				b.Release()
			}
			s := l.Stats()
			got, others := c.most(s)
			if got < 20*long/2 {
				t.Errorf("%v is charged:\n%v", got, s)
			}
			for _, other := range others {
				if other > got {
					t.Errorf("%v is charged, and %v elsewhere:\n%v", got, other, s)
				}
			}
		})
	}
}

// A slow consumer stops the copies and then the loader, within what is in flight, and gets
// everything.
func TestSlowConsumer(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := loader.Options{BatchSize: 5, Workers: 2}
		want := onHost(t, ds, o)
		l := newLoader(t, ds, d, gpu.Options{Loader: o})
		var got []picture
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Millisecond)
			if s := l.Stats(); s.Copies > s.Batches+2 || s.Ring.Used > 6 || s.Ring.Slots != 6 || s.Device.Depth > 2 || s.Held != 1 {
				t.Errorf("got %+v", s)
			}
			got = append(got, ofDevice(t, d, b))
			b.Release()
		}
		same(t, got, want)
	})
}

// Stats count over iterations, and Sub subtracts an earlier snapshot.
func TestStats(t *testing.T) {
	l := newLoader(t, openThings(t, iterable.Options{}), gpu.OpenHost(), gpu.Options{Loader: loader.Options{BatchSize: 100}})
	var before gpu.Stats
	for i := range 3 {
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if s := l.Stats(); s.Loader.Rows < s.Rows || s.Loader.Stream.Rows == 0 || s.Feed.Items < s.Batches {
				t.Errorf("got %+v", s)
			}
			b.Release()
		}
		s := l.Stats()
		one := s.Sub(before)
		if s.Batches != int64(3*(i+1)) || one.Batches != 3 || one.Rows != 250 {
			t.Errorf("iteration %d: %+v", i, one)
		}
		if one.Loader.Rows != 250 || one.Loader.Draws.Items != 3 || one.Copies != 3 || one.Device.Items != 3 {
			t.Errorf("iteration %d: %+v", i, one)
		}
		if s.Copied != one.Copied+before.Copied || one.Copied == 0 || s.Ring.Bytes != one.Ring.Bytes {
			t.Errorf("iteration %d: %d bytes, %d in all", i, one.Copied, s.Copied)
		}
		before = s
	}
	text := before.String()
	for _, want := range []string{
		"9 batches, 750 rows, 0 batches with the consumer", "feed ", "device         0       2         9",
		"in 9 copies, 0 B copied on the host after collation", "ring: 0 of 3 slots in use, ", " ordinary", "draws",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, c := range []struct {
		s    gpu.RingStats
		want string
	}{
		{gpu.RingStats{Slots: 2, Bytes: 1 << 20, PinnedBytes: 1 << 20, Pinned: true}, "0 of 2 slots in use, 1.0 MiB page-locked"},
		{gpu.RingStats{Slots: 2, Used: 1, Bytes: 2 << 20, PinnedBytes: 1 << 20}, "1 of 2 slots in use, 2.0 MiB 1.0 MiB of it page-locked"},
		{gpu.RingStats{Pieces: 3, Grown: 2}, "0 of 0 slots in use, 0 B ordinary; slots were too small 3 times and made anew 2 times"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := c.s.String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What it takes to bring a batch to a device does not depend on its number of rows.
func TestAllocations(t *testing.T) {
	ds := openThings(t, iterable.Options{})
	allocations := func(batchSize int) float64 {
		const runs = 10
		w := newBench(t, gpu.OpenHost(), ds, loader.Options{BatchSize: batchSize, Epochs: -1}, runs+3, 1)
		var made []*loader.Batch // before anything is counted
		for host, err := range w.loader.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if made = append(made, host); len(made) == runs+2 {
				break
			}
		}
		send1 := func() {
			b, err := w.transfer.Send(t.Context(), made[0])
			if err != nil {
				t.Fatal(err)
			}
			made = made[1:]
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		send1() // the buffer is made
		return testing.AllocsPerRun(runs, send1)
	}
	few, many := allocations(2), allocations(50)
	if few < 1 || few > 20 || many > few+2 {
		t.Errorf("%v allocations for a batch of 2 rows, %v for one of 50", few, many)
	}
	t.Logf("%v allocations for a batch of 2 rows, %v for one of 50", few, many)
}

func TestOptionsValidateEveryField(t *testing.T) {
	optiontest.Walk(t, gpu.Options{}, map[string]string{
		"Loader": "package loader walks its fields", "RequirePinned": "both are meant", "Events": "functions",
	}, nil)
}

// Whatever is wrong with the options is one error, before anything is allocated.
func TestOptions(t *testing.T) {
	ds, d := openThings(t, iterable.Options{}), gpu.OpenHost()
	_, err := gpu.New(ds, d, gpu.Options{
		Loader: loader.Options{BatchSize: -1, Allocator: &gpu.Ring{}}, InFlight: -1, Held: -2, SlotBytes: -3,
	})
	for _, want := range []string{"BatchSize must not be", "Loader.Allocator must be nil", "InFlight must not be negative, got -1", "Held must not", "SlotBytes must not"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err = gpu.New(ds, d, gpu.Options{Loader: loader.Options{Pad: []loader.Padding{{Column: "title"}}}})
	if err == nil || !strings.Contains(err.Error(), `Pad["title"]`) {
		t.Errorf("got %v", err)
	}
	_, err = gpu.New(ds, d, gpu.Options{RequirePinned: true})
	if !errors.Is(err, gpu.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
