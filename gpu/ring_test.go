package gpu_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/loader"
)

const kib = 1 << 10

func newRing(t testing.TB, d gpu.Device, o gpu.RingOptions) *gpu.Ring {
	t.Helper()
	r, err := gpu.NewRing(d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func begin(t testing.TB, r *gpu.Ring, size int) loader.Memory {
	t.Helper()
	m, err := r.Begin(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// alloc allocates and writes all of it.
func alloc(t testing.TB, m loader.Memory, n int) []byte {
	t.Helper()
	b, err := m.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != n || cap(b) != n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%256 != 0 {
		t.Fatalf("%d bytes, %d with capacity, at %p where %d were asked for", len(b), cap(b), b, n)
	}
	for i := range b {
		b[i] = byte(n)
	}
	return b
}

// A slot gives out its bytes at 256-byte borders, takes a further piece when they end, and is one
// larger piece when it is used again.
func TestRingGrows(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		r := newRing(t, d, gpu.RingOptions{Slots: 2, SlotBytes: 400 * kib})
		first := r.Stats()
		if first.Slots != 2 || first.Used != 0 || first.Bytes != 2*448*kib {
			t.Errorf("began with %+v", first)
		}
		m := begin(t, r, 0)
		parts := [][]byte{alloc(t, m, 1), alloc(t, m, 0), alloc(t, m, 257), alloc(t, m, 300*kib), alloc(t, m, 200*kib), alloc(t, m, 10)}
		for i, b := range parts {
			for _, v := range b {
				if v != byte(len(b)) {
					t.Fatalf("part %d was overwritten", i)
				}
			}
		}
		if s := r.Stats(); s.Used != 1 || s.Pieces != 1 || s.Bytes != first.Bytes+256*kib {
			t.Errorf("after a further piece: %+v", s)
		}
		alloc(t, m, 40*kib) // in the piece, which is larger than what it was taken for
		alloc(t, m, 1)
		alloc(t, m, 20*kib)
		if s := r.Stats(); s.Pieces != 2 || s.Bytes != first.Bytes+2*256*kib-128*kib {
			t.Errorf("after a second, of a quarter of the slot: %+v", s)
		}
		m.Free()
		if s := r.Stats(); s.Used != 0 || s.Bytes != first.Bytes {
			t.Errorf("free, with %+v", s)
		}
		for range 4 { // each slot grows once
			m := begin(t, r, 0)
			alloc(t, m, 560*kib)
			m.Free()
		}
		if s := r.Stats(); s.Grown != 2 || s.Pieces != 2 || s.Bytes != 2*640*kib {
			t.Errorf("grown to %+v", s)
		}
		begin(t, r, 1000*kib).Free() // the argument of Begin counts too
		if s := r.Stats(); s.Grown != 3 || s.Bytes != 640*kib+1152*kib {
			t.Errorf("grown to %+v", s)
		}
		if _, err := begin1(t, r).Alloc(-1); err == nil {
			t.Error("-1 bytes were allocated")
		}
	})
}

// begin1 is begin for a slot that goes back when the test ends, before the ring.
func begin1(t testing.TB, r *gpu.Ring) loader.Memory {
	m := begin(t, r, 0)
	t.Cleanup(m.Free)
	return m
}

// Begin waits for a slot as long as its ctx, and not after Close.
func TestRingWaits(t *testing.T) {
	r := newRing(t, gpu.OpenHost(), gpu.RingOptions{Slots: 1})
	m := begin(t, r, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, err := r.Begin(ctx, 0); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	ended := make(chan error)
	go func() {
		m, err := r.Begin(t.Context(), 0)
		if err == nil {
			m.Free()
		}
		ended <- err
	}()
	m.Free()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	m = begin(t, r, 0)
	go func() {
		_, err := r.Begin(context.WithoutCancel(t.Context()), 0)
		ended <- err
	}()
	err := r.Close()
	if err == nil || !strings.Contains(err.Error(), "1 of 1 slots in use") {
		t.Errorf("closed with %v", err)
	}
	if err := <-ended; !errors.Is(err, gpu.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Begin(t.Context(), 0); !errors.Is(err, gpu.ErrClosed) {
		t.Errorf("got %v", err)
	}
	alloc(t, m, 1) // still the batch's
	m.Free()
	if s := r.Stats(); s.Used != 0 || s.Bytes != 0 {
		t.Errorf("left %+v", s)
	}
}

// A device without page-locked memory: ordinary memory and one word about it, or an error; what
// else is wrong is always an error.
func TestRingFallsBack(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		nth  int
		o    gpu.RingOptions
		want string // of the error, or of the event
		says int
		pin  int64 // bytes that are page-locked
	}{
		{"none", gpu.ErrOutOfMemory, 0, gpu.RingOptions{}, "late:0: 64.0 KiB of page-locked memory for a batch, one of 3: gpu: out of memory", 1, 0},
		{"unsupported", gpu.ErrUnsupported, 0, gpu.RingOptions{}, "ulimit -l", 1, 0},
		{"for one", gpu.ErrOutOfMemory, 2, gpu.RingOptions{}, "fewer slots", 1, 64 * kib},
		{"required", gpu.ErrOutOfMemory, 2, gpu.RingOptions{RequirePinned: true}, "smaller batch_size", 0, 0},
		{"broken", errFault, 2, gpu.RingOptions{}, "injected", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newLate(t)
			d.fail("alloc host", c.nth, c.err)
			var said []error
			c.o.Slots, c.o.Pageable = 3, func(err error) { said = append(said, err) }
			r, err := gpu.NewRing(d, c.o)
			if len(said) != c.says {
				t.Fatalf("said %v", said)
			}
			if c.says == 0 {
				var pin *gpu.PinError
				if !errors.As(err, &pin) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || !errors.Is(said[0], c.err) || !strings.Contains(said[0].Error(), c.want) {
				t.Fatalf("%v; said %v", err, said)
			}
			if s := r.Stats(); s.Pinned || s.Bytes != 3*64*kib || s.PinnedBytes != c.pin {
				t.Errorf("got %+v", s)
			}
			m := begin(t, r, 0)
			alloc(t, m, 100*kib)
			m.Free()
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("host", func(t *testing.T) {
		_, err := gpu.NewRing(gpu.OpenHost(), gpu.RingOptions{RequirePinned: true})
		if !errors.Is(err, gpu.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("later", func(t *testing.T) {
		d := newLate(t)
		said := 0
		r := newRing(t, d, gpu.RingOptions{Slots: 1, Pageable: func(error) { said++ }})
		if s := r.Stats(); !s.Pinned || s.PinnedBytes != s.Bytes {
			t.Errorf("began with %+v", s)
		}
		d.fail("alloc host", 0, gpu.ErrOutOfMemory)
		for range 3 {
			m := begin(t, r, 0)
			alloc(t, m, 100*kib)
			m.Free()
		}
		if s := r.Stats(); s.Pinned || said != 1 || s.Grown != 1 {
			t.Errorf("said %d times, %+v", said, s)
		}
	})
}

// A slot that cannot grow is an error of the batch that begins, and free for the next.
func TestRingCannotGrow(t *testing.T) {
	d := newLate(t)
	r := newRing(t, d, gpu.RingOptions{Slots: 1, RequirePinned: true})
	d.fail("alloc host", 1, gpu.ErrOutOfMemory)
	if _, err := r.Begin(t.Context(), 1<<20); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("got %v", err)
	}
	m := begin(t, r, 1<<20)
	d.fail("alloc host", 1, gpu.ErrOutOfMemory)
	if _, err := m.Alloc(2 << 20); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("got %v", err)
	}
	alloc(t, m, 2<<20)
	m.Free()
}

func TestRingOptions(t *testing.T) {
	_, err := gpu.NewRing(gpu.OpenHost(), gpu.RingOptions{Slots: -1, SlotBytes: -2})
	if err == nil || !strings.Contains(err.Error(), "must not be negative, got -1 and -2") {
		t.Errorf("got %v", err)
	}
}
