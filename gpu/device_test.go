package gpu_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/gpu/cuda"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// A rig is a device that a test runs on.
type rig struct {
	gpu.Device
	fail    func(op string, nth int) // makes an operation's nth call from now on fail, every one with nth 0; nil: the device has no faults
	without func()                   // ends the page-locked memory
	hold    func() (end func())      // no copy begins until end; nil: the device cannot
	delay   func(time.Duration)      // makes copies so late; nil: they are at once
	forgive func()                   // the device's end, after a fault left something behind that cannot be freed
}

// functions are the driver's, by the operations that may fail.
var functions = map[string]string{
	"alloc host": "cuMemHostAlloc", "alloc": "cuMemAlloc", "stream": "cuStreamCreate", "event": "cuEventCreate",
	"copy": "cuMemcpyHtoDAsync", "record": "cuEventRecord", "await": "cuStreamWaitEvent", "wait": "cuEventSynchronize",
	"sync": "cuStreamSynchronize", "close stream": "cuStreamDestroy", "free host memory": "cuMemFreeHost", "free device memory": "cuMemFree",
	"free event": "cuEventDestroy", "late copy": "copy",
}

// onDevices runs a test on each kind of device. A real GPU must be there with
// SHARDFEED_GPU=require, and takes part where it is.
func onDevices(t *testing.T, test func(t *testing.T, d rig)) {
	t.Run("host", func(t *testing.T) { test(t, rig{Device: closed(t, gpu.OpenHost())}) })
	t.Run("late", func(t *testing.T) {
		d := newLate(t)
		test(t, rig{
			Device: d, fail: func(op string, nth int) { d.fail(op, nth, errFault) },
			without: func() { d.fail("alloc host", 0, gpu.ErrOutOfMemory) }, delay: d.delay, forgive: d.forgive,
		})
	})
	t.Run("fake", func(t *testing.T) { test(t, onFake(t)) })
	t.Run("real", func(t *testing.T) {
		driver, err := cuda.Load("libcuda.so.1")
		if err != nil && os.Getenv("SHARDFEED_GPU") == "require" {
			t.Fatal("SHARDFEED_GPU=require:", err)
		}
		if err != nil {
			t.Skip("SKIPPED: no real driver:", err)
		}
		d, err := driver.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		test(t, rig{Device: closed(t, d)})
	})
}

// closed is a device that is closed when the test ends, and has nothing left then.
func closed(t *testing.T, d gpu.Device) gpu.Device {
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// onFake is the first device of the fake driver.
func onFake(t *testing.T) rig {
	t.Helper()
	fake := fakecuda.Open(t)
	driver, err := cuda.Load(fake.Library)
	if err != nil {
		t.Fatal(err)
	}
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	forgiven := false
	t.Cleanup(func() {
		if err := d.Close(); err != nil && !forgiven {
			t.Error(err)
		}
		if forgiven {
			fake.Reset()
		}
	})
	return rig{
		Device: d, fail: func(op string, nth int) { fake.Fault(functions[op], nth, 999) },
		without: func() { fake.Fault("cuMemHostAlloc", 0, 2) },
		hold: func() func() {
			fake.Hold()
			return fake.Release
		},
		delay:   func(by time.Duration) { fake.Delay(fakecuda.Delay{Latency: by}) },
		forgive: func() { forgiven = true },
	}
}

// A film is a device's batch on its way back, which may be released meanwhile.
type film struct {
	at      string
	columns []*gpu.Column
	base    uintptr
	back    gpu.HostMemory
}

// expose lets a stream bring a batch back.
func expose(t testing.TB, d gpu.Device, s gpu.Stream, b *gpu.Batch) *film {
	t.Helper()
	m := b.Memory()
	back, err := d.AllocHost(m.Len())
	if errors.Is(err, gpu.ErrOutOfMemory) {
		back, err = gpu.OpenHost().AllocHost(m.Len())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ToHost(back.Bytes(), m, 0); err != nil {
		t.Fatal(err)
	}
	return &film{
		at:      at(b.Rows, b.Valid, b.Epoch, b.Step, b.Position, b.Data, b.State),
		columns: cloned(b.Columns), base: m.Pointer(), back: back,
	}
}

// cloned are columns that stay as they are when the batch is released.
func cloned(columns []*gpu.Column) []*gpu.Column {
	var all []*gpu.Column
	for _, c := range columns {
		all = append(all, &gpu.Column{
			Field: c.Field, Len: c.Len, Nulls: c.Nulls, Valid: c.Valid, Offsets: c.Offsets, Data: c.Data, Children: cloned(c.Children),
		})
	}
	return all
}

// develop is the picture, once the stream has ended.
func (f *film) develop(t testing.TB) picture {
	t.Helper()
	at := func(s gpu.Span) []byte {
		if s.Bytes == 0 {
			return nil
		}
		off := int(s.Pointer - f.base)
		return f.back.Bytes()[off : off+s.Bytes]
	}
	p := picture{at: f.at}
	for _, c := range f.columns {
		p.columns = append(p.columns, columnText(c, at))
	}
	if err := f.back.Free(); err != nil {
		t.Error(err)
	}
	return p
}

// ofDevice is the picture of a device's batch, brought back by a stream of its own.
func ofDevice(t testing.TB, d gpu.Device, b *gpu.Batch) picture {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	f := expose(t, d, s, b)
	if err := errors.Join(s.Sync(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return f.develop(t)
}

func columnText(c *gpu.Column, at func(gpu.Span) []byte) string {
	offsets := make([]int32, c.Offsets.Bytes/4)
	if raw := at(c.Offsets); raw != nil {
		if _, err := binary.Decode(raw, binary.LittleEndian, offsets); err != nil {
			return err.Error()
		}
	}
	s := fmt.Sprintf("%s %v: %d values, %d nulls, valid %x, offsets %v, data %x",
		c.Field.Name, c.Field, c.Len, c.Nulls, at(c.Valid), offsets, at(c.Data))
	for _, child := range c.Children {
		s += "{" + columnText(child, at) + "}"
	}
	return s
}
