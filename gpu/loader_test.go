package gpu_test

import (
	"context"
	"math/rand/v2"
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

// What is on the device is what the loader made, for every kind of column, and nothing was copied on the host.
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

// large is a transform that makes batches much larger than the data set foretells, each more than the one before.
func large(_ context.Context, b *loader.Batch, r *rand.Rand) error {
	v, err := loader.AddTensor[int64](b, "large", 200*int(b.Step+1))
	for i := range v {
		v[i] = r.Int64()
	}
	return err
}
