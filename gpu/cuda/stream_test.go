//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// TestCopy copies parts of memory to parts of the device's and back.
func TestCopy(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		const size = 1<<16 + 5
		host, back, there, s := r.host(dev, size), r.host(dev, size), r.alloc(dev, size), r.stream(dev)
		r.must(s.ToDevice(there, 0, back.Bytes()))
		for i, part := range []struct{ off, n int }{{0, size}, {0, 1}, {size - 1, 1}, {4096, 100}, {size, 0}, {0, 0}} {
			r.must(s.Sync())
			fill(host.Bytes(), i)
			src := host.Bytes()[part.off : part.off+part.n]
			r.must(s.ToDevice(there, part.off, src), s.ToHost(back.Bytes()[:part.n], there, part.off), s.Sync())
			if !bytes.Equal(back.Bytes()[:part.n], src) {
				t.Errorf("%d bytes at %d came back otherwise", part.n, part.off)
			}
		}
	})
}

// TestPageable copies memory that is not page-locked: slower, and right.
func TestPageable(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		from, back, there, s := r.mapping(1<<20), r.mapping(1<<20), r.alloc(dev, 1<<20), r.stream(dev)
		fill(from, 5)
		r.must(s.ToDevice(there, 0, from), s.Sync(), s.ToHost(back, there, 0), s.Sync())
		if !bytes.Equal(from, back) {
			t.Error("another content came back")
		}
		if r.fake != nil && r.fake.Counts().Pageable != 2 {
			t.Errorf("%+v, want 2 pageable copies", r.fake.Counts())
		}
	})
}

// TestEvents: an event has passed when all before it is done, however often it is recorded.
func TestEvents(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		host, there, s, e := r.host(dev, 1<<20), r.alloc(dev, 1<<20), r.stream(dev), r.event(dev)
		if done, err := e.Done(); !done || err != nil {
			t.Errorf("an event that was never recorded: %v, %v", done, err)
		}
		r.must(e.Wait())
		for i := range 3 {
			r.hold(true)
			fill(host.Bytes(), i)
			r.must(s.ToDevice(there, 0, host.Bytes()), s.Record(e))
			if done, err := e.Done(); err != nil || done && r.fake != nil {
				t.Errorf("round %d, behind a copy: %v, %v", i, done, err)
			}
			r.hold(false)
			r.must(e.Wait())
			if done, err := e.Done(); !done || err != nil {
				t.Errorf("round %d, after a wait: %v, %v", i, done, err)
			}
		}
	})
}

// hold keeps the fake's copies from beginning.
func (r *rig) hold(held bool) {
	switch {
	case r.fake == nil:
	case held:
		r.fake.Hold()
	default:
		r.fake.Release()
	}
}

// slow lets the fake's copies begin late.
func (r *rig) slow(latency time.Duration) {
	if r.fake != nil {
		r.fake.Delay(fakecuda.Delay{Latency: latency})
	}
}

// TestAwait lets a stream go on where another one's event is; the host goes on at once.
func TestAwait(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		const size = 1 << 20
		host, back, there := r.host(dev, size), r.host(dev, size), r.alloc(dev, size)
		in, out, e := r.stream(dev), r.stream(dev), r.event(dev)
		for i := range 8 {
			fill(host.Bytes(), i)
			r.slow(5 * time.Millisecond)
			r.must(in.ToDevice(there, 0, host.Bytes()), in.Record(e))
			r.slow(0)
			r.must(out.Await(e), out.ToHost(back.Bytes(), there, 0), out.Sync())
			if !bytes.Equal(host.Bytes(), back.Bytes()) {
				t.Fatalf("round %d: the second stream did not wait for the first", i)
			}
		}
	})
}

// TestCloseStream closes a stream with copies on their way: they are done when Close returns, so
// the memory can be freed.
func TestCloseStream(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		host, there, s := r.host(dev, 1<<20), r.alloc(dev, 1<<20), r.stream(dev)
		r.slow(20 * time.Millisecond)
		r.must(s.ToDevice(there, 0, host.Bytes()), s.Close(), host.Free(), there.Free())
		if err := s.Sync(); !errors.Is(err, gpu.ErrClosed) {
			t.Errorf("a closed stream: %v", err)
		}
	})
}

// TestBorrowed uses a stream of other code, and the default one.
func TestBorrowed(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		own := r.stream(dev)
		for _, handle := range []uintptr{own.handle, 0} {
			host, back, there, e := r.host(dev, 4096), r.host(dev, 4096), r.alloc(dev, 4096), r.event(dev)
			fill(host.Bytes(), 9)
			s := dev.Stream(handle)
			r.must(s.ToDevice(there, 0, host.Bytes()), s.Record(e), own.Await(e), own.ToHost(back.Bytes(), there, 0), own.Sync(), s.Sync())
			if !bytes.Equal(host.Bytes(), back.Bytes()) {
				t.Errorf("stream %#x: another content came back", handle)
			}
			r.must(s.Close(), own.Sync())
		}
	})
}

// foreign is something of another device.
type foreign struct{ gpu.Event }

// TestMisuse: what can be known to be wrong is an error, and the driver does not hear of it.
func TestMisuse(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		host, there, s, e := r.host(dev, 4096), r.alloc(dev, 100), r.stream(dev), r.event(dev)
		freed, gone := r.alloc(dev, 100), r.event(dev)
		r.must(freed.Free(), gone.Free())
		const most = int(^uint(0) >> 1)
		for i, err := range []error{
			s.ToDevice(there, 0, host.Bytes()),
			s.ToDevice(there, -1, host.Bytes()[:1]),
			s.ToDevice(there, 101, nil),
			s.ToDevice(there, most, host.Bytes()[:1]),
			s.ToDevice(freed, 0, host.Bytes()[:1]),
			s.ToHost(host.Bytes(), there, 0),
			s.ToHost(host.Bytes()[:2], there, 99),
			s.ToHost(host.Bytes()[:1], freed, 0),
			s.Record(gone), s.Await(gone), gone.Wait(),
			s.Record(foreign{}), s.Await(foreign{}),
		} {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Code != 1 || e.Name != "CUDA_ERROR_INVALID_VALUE" || e.Text == "" {
				t.Errorf("%d: %v, want an invalid value", i, err)
			}
		}
		if done, err := gone.Done(); done || err == nil {
			t.Errorf("an event that was freed: %v, %v", done, err)
		}
		r.must(s.Close())
		for i, err := range []error{s.ToDevice(there, 0, nil), s.ToHost(nil, there, 0), s.Record(e), s.Await(e), s.Sync()} {
			if !errors.Is(err, gpu.ErrClosed) {
				t.Errorf("%d of a closed stream: %v", i, err)
			}
		}
	})
}

// TestRecycled is what the fake is for: a slot that is written again without a wait for its event
// reaches the device as it is then.
func TestRecycled(t *testing.T) {
	r := newRig(t)
	dev := r.open(0)
	host, back, there, s, e := r.host(dev, 4096), r.host(dev, 4096), r.alloc(dev, 4096), r.stream(dev), r.event(dev)
	for _, wait := range []bool{true, false} {
		t.Run(fmt.Sprintf("wait %t", wait), func(t *testing.T) {
			r := r.in(t)
			r.hold(!wait)
			fill(host.Bytes(), 1)
			r.must(s.ToDevice(there, 0, host.Bytes()), s.Record(e))
			if wait {
				r.must(e.Wait())
			}
			sent := bytes.Clone(host.Bytes())
			fill(host.Bytes(), 2)
			r.hold(false)
			r.must(s.ToHost(back.Bytes(), there, 0), s.Sync())
			if right := bytes.Equal(back.Bytes(), sent); right != wait {
				t.Errorf("waited %v: the device has what was sent %v", wait, right)
			}
		})
	}
}

// TestManyEvents records many events on a stream; they pass in its order.
func TestManyEvents(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		host, there, s := r.host(dev, 1<<16), r.alloc(dev, 1<<16), r.stream(dev)
		var events []gpu.Event
		for range 32 {
			e := r.event(dev)
			r.must(s.ToDevice(there, 0, host.Bytes()), s.Record(e))
			events = append(events, e)
		}
		r.must(events[20].Wait())
		for i, e := range events[:20] {
			if done, err := e.Done(); !done || err != nil {
				t.Error(fmt.Sprintf("event %d after the wait for number 20:", i), done, err)
			}
		}
		r.must(events[31].Wait())
	})
}
