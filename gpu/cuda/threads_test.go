//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// TestContexts reads the log of calls: each call that needs a context has it made current just
// before, on its own thread, whichever threads the goroutines were on.
func TestContexts(t *testing.T) {
	r := newRig(t)
	r.fake.Devices(2)
	devices := []*Device{r.open(0), r.open(1)}
	var wg sync.WaitGroup
	for i := range 8 {
		mapping := r.mapping(4096)
		wg.Go(func() {
			for range 20 {
				if err := use(devices[i%2], mapping); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	before := map[int]fakecuda.Call{}
	for _, call := range r.fake.Log() {
		set := before[call.Thread]
		before[call.Thread] = call
		if strings.HasPrefix(call.Op, "cuMem") || strings.HasPrefix(call.Op, "cuStream") || strings.HasPrefix(call.Op, "cuEvent") {
			if set.Op != "cuCtxSetCurrent" || call.Device < 0 {
				t.Fatalf("%+v: the call before it on the thread was %+v", call, set)
			}
		}
	}
	if n := r.fake.Counts().Calls["cuEventRecord"]; n != 8*20 {
		t.Errorf("%d events were recorded", n)
	}
}

// TestGoroutines copies on many goroutines, with a collector that never rests: what the driver
// writes to stays where it is.
func TestGoroutines(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		defer debug.SetGCPercent(debug.SetGCPercent(1))
		dev := r.open(0)
		stop := make(chan struct{})
		var collector, work sync.WaitGroup
		collector.Go(func() { collect(stop) })
		errs := make([]error, 16)
		for i := range errs {
			work.Go(func() { errs[i] = copyMany(dev, i, 25) })
		}
		work.Wait()
		close(stop)
		collector.Wait()
		r.must(errs...)
	})
}

// collect keeps the collector and the stacks moving.
func collect(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			runtime.GC()
			grow(100)
		}
	}
}

func grow(depth int) byte {
	var pad [256]byte
	if depth == 0 {
		return pad[0]
	}
	return grow(depth-1) + pad[depth]
}

// copyMany sends a different content there and back many times, with a stream, events and memory of
// its own each time.
func copyMany(dev *Device, seed, rounds int) error {
	for round := range rounds {
		if err := copyOnce(dev, seed+round); err != nil {
			return fmt.Errorf("goroutine %d, round %d: %w", seed, round, err)
		}
	}
	return nil
}

func copyOnce(dev *Device, seed int) (err error) {
	const size = 8192
	host, err := dev.AllocHost(2 * size)
	if err != nil {
		return err
	}
	there, err := dev.Alloc(size)
	if err != nil {
		return err
	}
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	e, err := dev.NewEvent()
	if err != nil {
		return err
	}
	sent, back := host.Bytes()[:size], host.Bytes()[size:]
	fill(sent, seed)
	for _, step := range []func() error{
		func() error { return s.ToDevice(there, 0, sent) },
		func() error { return s.ToHost(back, there, 0) },
		func() error { return s.Record(e) },
		e.Wait,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if !bytes.Equal(sent, back) {
		return fmt.Errorf("another content came back")
	}
	for _, free := range []func() error{s.Close, e.Free, host.Free, there.Free} {
		if err := free(); err != nil {
			return err
		}
	}
	return nil
}

// TestGrowingStack calls the driver from every depth of a stack that is new, so that some of the
// calls make it grow, and move, on their way down: what the driver is to write to must not lie on
// it.
func TestGrowingStack(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		want, err := r.driver.Count()
		r.must(err)
		for depth := range 200 {
			var wg sync.WaitGroup
			wg.Go(func() {
				descend(depth, func() {
					if n, err := r.driver.Count(); n != want || err != nil {
						t.Errorf("depth %d: %d devices, %v", depth, n, err)
					}
				})
			})
			wg.Go(func() {
				descend(depth, func() {
					if m, err := dev.Alloc(16); err != nil || m.Pointer() == 0 || m.Free() != nil {
						t.Errorf("depth %d: device memory %+v, %v", depth, m, err)
					}
				})
			})
			wg.Wait()
		}
	})
}

// descend calls f at a depth of the stack.
func descend(depth int, f func()) byte {
	var pad [40]byte
	if depth == 0 {
		f()
		return pad[0]
	}
	return descend(depth-1, f) + pad[depth%len(pad)]
}

// BenchmarkCall is the price of a call of the driver: the lock of the thread, the context, and the
// call.
func BenchmarkCall(b *testing.B) {
	driver, err := Load(fakecuda.Open(b).Library)
	if err != nil {
		b.Fatal(err)
	}
	dev, err := driver.Open(0)
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	e, err := dev.NewEvent()
	if err != nil {
		b.Fatal(err)
	}
	defer e.Free()
	b.ReportAllocs()
	for b.Loop() {
		if done, err := e.Done(); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}
