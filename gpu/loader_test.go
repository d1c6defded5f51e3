package gpu_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// noise is a transform that adds a tensor.
func noise(_ context.Context, b *loader.Batch, r *rand.Rand) error {
	v, err := loader.AddTensor[float32](b, "noise", 2, 3)
	for i := range v {
		v[i] = r.Float32()
	}
	return err
}

// everything makes batches with every kind of column, the last of them short.
func everything() loader.Options {
	return loader.Options{
		BatchSize: 32, NaN: true, Transforms: []loader.Transform{{Apply: noise}},
		Pad:  []loader.Padding{{Column: "tokens", Multiple: 4, Mask: "tokens_mask"}},
		Fill: []loader.Fill{{Column: "note", Value: "nothing"}},
	}
}

// onHost is what the loader itself makes.
func onHost(t testing.TB, ds *iterable.Dataset, o loader.Options) []picture {
	t.Helper()
	l, err := loader.New(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all []picture
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ofHost(b))
		b.Release()
	}
	return all
}

func newLoader(t testing.TB, ds *iterable.Dataset, d gpu.Device, o gpu.Options) *gpu.Loader {
	t.Helper()
	l, err := gpu.New(ds, d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// What is on the device is what the loader made, for every kind of column, and nothing was copied
// on the host.
func TestEveryColumn(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		for _, workers := range []int{0, 2} {
			o := everything()
			o.Workers, o.Epochs = workers, 2
			want := onHost(t, ds, o)
			l := newLoader(t, ds, d, gpu.Options{Loader: o})
			n := 0
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if n == len(want) {
					t.Fatalf("more than %d batches", n)
				}
				if diff := ofDevice(t, d, b).diff(want[n]); diff != "" {
					t.Fatalf("batch %d: %s", n, diff)
				}
				n++
				b.Release()
			}
			s := l.Stats()
			if n != len(want) || s.Batches != int64(n) || s.Device.Items != int64(n) || s.Copied == 0 || s.HostCopied != 0 || s.Held != 0 {
				t.Errorf("%d batches of %d: %+v", n, len(want), s)
			}
		}
	})
}

// large is a transform that makes batches much larger than the data set foretells, each more than
// the one before.
func large(_ context.Context, b *loader.Batch, r *rand.Rand) error {
	v, err := loader.AddTensor[int64](b, "large", 200*int(b.Step+1))
	for i := range v {
		v[i] = r.Int64()
	}
	return err
}

// collateTransform is a transform without random numbers.
func collateTransform(f func(*loader.Batch) error) loader.Transform {
	return loader.Transform{Apply: func(_ context.Context, b *loader.Batch, _ *rand.Rand) error { return f(b) }}
}

// A run that resumes from any batch's state gets the same batches.
func TestResume(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := everything()
		o.Epochs = 2
		want := onHost(t, ds, o)
		for _, after := range []int{0, 3, 7, 8, 14} {
			o := o
			o.Workers = after % 3
			first := newLoader(t, ds, d, gpu.Options{Loader: o})
			if first.State() != nil || first.Len() != 8 {
				t.Errorf("state %v, %d batches", first.State(), first.Len())
			}
			n := 0
			for b, err := range first.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
				if n++; n > after {
					break
				}
			}
			o.State = first.State()
			o.Epochs = 2 - int(o.State.Epoch)
			second := newLoader(t, ds, d, gpu.Options{Loader: o})
			if string(second.State().JSON()) != state(want[after]) {
				t.Errorf("after batch %d the state is %s, want %s", after, second.State().JSON(), state(want[after]))
			}
			got, err := take(t, second, d, release)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want[after+1:])
		}
	})
}

// Without page-locked memory the batches are the same, and it is said once.
func TestPageable(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		if d.fail == nil {
			t.Skip("no page-locked memory, and no faults")
		}
		ds := openThings(t, iterable.Options{})
		o := everything()
		want := onHost(t, ds, o)
		d.without()
		said := 0
		l := newLoader(t, ds, d, gpu.Options{Loader: o, Events: gpu.Events{Pageable: func(err error) {
			said++
			if !errors.Is(err, gpu.ErrOutOfMemory) || !strings.Contains(err.Error(), "ulimit -l") {
				t.Errorf("said %v", err)
			}
		}}})
		got, err := take(t, l, d, release)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		if s := l.Stats(); said != 1 || s.Ring.Pinned || s.Ring.PinnedBytes != 0 || s.Ring.Bytes == 0 || s.HostCopied != 0 {
			t.Errorf("said %d times: %+v", said, s)
		}
		if _, err := gpu.New(ds, d, gpu.Options{Loader: o, RequirePinned: true}); !errors.Is(err, gpu.ErrOutOfMemory) {
			t.Errorf("got %v", err)
		}
	})
}
