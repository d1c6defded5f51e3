package gpu_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// A bench is a loader over a ring, and a transfer: what a gpu.Loader is made of, step by step.
type bench struct {
	ring     *gpu.Ring
	transfer *gpu.Transfer
	loader   *loader.Loader
}

func newBench(t testing.TB, d gpu.Device, ds *iterable.Dataset, o loader.Options, slots, buffers int) *bench {
	t.Helper()
	w := &bench{ring: newRing(t, d, gpu.RingOptions{Slots: slots, SlotBytes: 64 * kib})}
	o.Allocator = w.ring
	var err error
	if w.loader, err = loader.New(ds, o); err != nil {
		t.Fatal(err)
	}
	if w.transfer, err = gpu.NewTransfer(d, buffers); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := errors.Join(w.transfer.Close(), w.loader.Close()); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// A slot is the batch's until the copy has ended, in any order of waiting.
func TestSlotsReturnAfterTheirEvent(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := loader.Options{BatchSize: 40}
		want := onHost(t, ds, o)
		w := newBench(t, d, ds, o, 2, 3)
		if d.delay != nil {
			d.delay(30 * time.Millisecond)
		}
		n := 0
		for host, err := range w.loader.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			b, err := w.transfer.Send(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			used := w.ring.Stats().Used
			if d.delay != nil && time.Since(begin) < 20*time.Millisecond && used != 1 {
				t.Errorf("batch %d: %d slots in use while it is copied", n, used)
			}
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if used := w.ring.Stats().Used; used != 0 {
				t.Errorf("batch %d: %d slots in use after its copy", n, used)
			}
			if diff := ofDevice(t, d, b).diff(want[n]); diff != "" {
				t.Fatalf("batch %d: %s", n, diff)
			}
			b.Release()
			n++
		}
		if n != len(want) {
			t.Errorf("%d batches", n)
		}
	})
}

// The test that a batch released too early is a wrong byte on a device that reads late: without it,
// the tests above would prove nothing.
func TestEarlyReleaseShows(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		if d.hold == nil {
			t.Skip("a device that is never late, or one of Go's: there the race detector would end the test")
		}
		ds := openThings(t, iterable.Options{})
		o := loader.Options{BatchSize: 40}
		want := onHost(t, ds, o)
		w := newBench(t, d, ds, o, 1, 4)
		end := d.hold()
		var sent []*gpu.Batch
		for host, err := range w.loader.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := w.transfer.Send(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			host.Release() // the fault: the one slot is the next batch's now
			if sent = append(sent, b); len(sent) == 4 {
				break
			}
		}
		end()
		for i, b := range sent {
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i < 3 && ofDevice(t, d, b).diff(want[i]) == "" {
				t.Errorf("batch %d is right: this device does not read late", i)
			}
			b.Release()
		}
	})
}

// heap is a transform that makes columns on Go's heap: all of a kind of column and one of each of
// its parts.
func heap(_ context.Context, b *loader.Batch, _ *rand.Rand) error {
	n := b.Rows
	number := &column.Field{Name: "heap", Kind: column.Fixed, Type: column.TypeInt32, Width: 4}
	text := &column.Field{Name: "heap text", Kind: column.Binary, Type: column.TypeString}
	list := &column.Field{Name: "heap list", Kind: column.List, Children: []*column.Field{number}}
	data, valid, offsets := make([]byte, 4*n), make([]byte, (n+7)/8), make([]int32, n+1)
	for i := range n {
		data[4*i], offsets[i+1] = byte(i), int32(i+1)
		valid[i/8] |= 1 << (i % 8)
	}
	valid[0] &^= 1
	values := &column.Array{Field: number, Len: n, Nulls: 1, Valid: valid, Data: data}
	b.Data = "made by heap"
	return errors.Join(
		b.Add(values),
		b.Add(&column.Array{Field: text, Len: n, Offsets: offsets, Data: data}),
		b.Add(&column.Array{Field: list, Len: n, Offsets: offsets, Children: []*column.Array{values}}),
	)
}

// What a collate makes on Go's heap is copied into the batch's memory first, and counted; the rest
// is not copied.
func TestColumnsOfTheHeap(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := everything()
		o.Transforms = append([]loader.Transform{{Apply: heap}}, o.Transforms...)
		want := onHost(t, ds, o)
		l := newLoader(t, ds, d, gpu.Options{Loader: o})
		got, err := take(t, l, d, release)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		bytes := int64(0)
		for rows := range slicesOf(thingRows, o.BatchSize) {
			bytes += int64(2*(4*rows+(rows+7)/8) + rows + 2*4*(rows+1))
		}
		if s := l.Stats(); s.HostCopied != bytes {
			t.Errorf("%d bytes copied on the host, want %d", s.HostCopied, bytes)
		}
	})
}

// slicesOf are the batches' rows of an epoch.
func slicesOf(rows, batch int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for ; rows > 0; rows -= batch {
			if !yield(min(rows, batch)) {
				return
			}
		}
	}
}

// A batch in several pieces is one buffer on the device.
func TestBatchesThatOutgrowTheirSlot(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := everything()
		o.BatchSize = 25 // more batches than buffers
		o.Transforms = append(o.Transforms, loader.Transform{Apply: large})
		want := onHost(t, ds, o)
		l := newLoader(t, ds, d, gpu.Options{Loader: o, SlotBytes: 1, InFlight: 1})
		got, err := take(t, l, d, release)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		s := l.Stats()
		if s.Ring.Pieces == 0 || s.Ring.Grown == 0 || s.Copies != int64(len(want))+s.Ring.Pieces || s.HostCopied != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// What a consumer's stream still reads is neither written nor freed, while batches become larger
// and when the iteration ends.
func TestReleaseAfter(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := loader.Options{BatchSize: 25, Workers: 1, Transforms: []loader.Transform{{Apply: large}}}
		want := onHost(t, ds, o)
		l := newLoader(t, ds, d, gpu.Options{Loader: o})
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		if d.delay != nil {
			d.delay(5 * time.Millisecond)
		}
		var films []*film
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			films = append(films, expose(t, d, s, b))
			if err := b.ReleaseAfter(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.Sync(), s.Close()); err != nil {
			t.Fatal(err)
		}
		var got []picture
		for _, f := range films {
			got = append(got, f.develop(t))
		}
		same(t, got, want)
	})
}

// A batch of other memory is refused, and given back.
func TestSendRefuses(t *testing.T) {
	ds := openThings(t, iterable.Options{})
	d, other := gpu.OpenHost(), newLate(t)
	w := newBench(t, d, ds, loader.Options{BatchSize: 100}, 1, 1)
	foreign, err := gpu.NewTransfer(other, 4)
	if err != nil {
		t.Fatal(err)
	}
	for host, err := range w.loader.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := foreign.Send(t.Context(), host); err == nil || !strings.Contains(err.Error(), "give the ring to the loader as its Allocator") {
			t.Errorf("got %v", err)
		}
	}
	if err := foreign.Close(); err != nil {
		t.Error(err)
	}
	pooled, err := loader.New(ds, loader.Options{BatchSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	for host, err := range pooled.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		_, err := w.transfer.Send(t.Context(), host)
		var where *gpu.Error
		if !errors.As(err, &where) || where.Step != host.Step || where.Device != "host" {
			t.Errorf("got %v", err)
		}
	}
	if err := errors.Join(pooled.Close(), w.transfer.Close()); err != nil {
		t.Error(err)
	}
	for host, err := range w.loader.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.transfer.Send(t.Context(), host); !errors.Is(err, gpu.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := gpu.NewTransfer(d, 0); err == nil || !strings.Contains(err.Error(), "at least 1 buffer, got 0") {
		t.Errorf("got %v", err)
	}
}

// Ten thousand batches take no more memory than a few, and the device has nothing left of them.
func TestTenThousandBatches(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		if d.delay != nil {
			d.delay(0)
		}
		ds := openThings(t, iterable.Options{})
		l := newLoader(t, ds, d, gpu.Options{Loader: loader.Options{BatchSize: 1, Workers: 1, Epochs: 4}})
		total := int64(10_000)
		if testing.Short() || racetest.Enabled {
			total = 1000
		}
		var held *gpu.Batch
		for l.Stats().Batches < total {
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if held != nil {
					held.Release()
				}
				held = b
			}
		}
		held.Release()
		s := l.Stats()
		if s.Device.Items != s.Batches || s.Rows != s.Batches || s.Held != 0 || s.HostCopied != 0 || s.Ring.Used != 0 || s.Ring.Slots != 4 {
			t.Errorf("got %+v", s)
		}
	})
}
