//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// eachDriver runs a test on the fake driver, and on the machine's where it has one. With
// SHARDFEED_GPU=require it must.
func eachDriver(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("fake", func(t *testing.T) { test(t, newRig(t)) })
	t.Run("real", func(t *testing.T) {
		driver, err := Load(driverLibrary)
		if err != nil && os.Getenv("SHARDFEED_GPU") == "require" {
			t.Fatal("SHARDFEED_GPU=require:", err)
		}
		if err != nil {
			t.Skip("SKIPPED: no real driver:", err)
		}
		test(t, &rig{T: t, driver: driver})
	})
}

// rig is a driver under test; its short methods fail the test on an error.
type rig struct {
	*testing.T
	fake   *fakecuda.Fake // nil: the driver is real
	driver *Driver
}

// newRig is the fake driver.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, fake: fakecuda.Open(t)}
	r.driver = r.load(r.fake.Library)
	return r
}

// in is the same driver for a subtest.
func (r *rig) in(t *testing.T) *rig { return &rig{T: t, fake: r.fake, driver: r.driver} }

func (r *rig) load(library string) *Driver {
	r.Helper()
	driver, err := Load(library)
	r.must(err)
	return driver
}

func (r *rig) must(errs ...error) {
	r.Helper()
	for _, err := range errs {
		if err != nil {
			r.Fatal(err)
		}
	}
}

// open is a device that is closed when the test ends, without complaint.
func (r *rig) open(index int) *Device {
	r.Helper()
	dev, err := r.driver.Open(index)
	r.must(err)
	r.Cleanup(func() {
		if err := dev.Close(); err != nil {
			r.Error(err)
		}
	})
	return dev
}

// What these give is freed when the test ends, if it has not been before.

func (r *rig) host(dev *Device, n int) gpu.HostMemory {
	r.Helper()
	m, err := dev.AllocHost(n)
	r.must(err)
	r.free(m.Free)
	return m
}

func (r *rig) alloc(dev *Device, n int) gpu.DeviceMemory {
	r.Helper()
	m, err := dev.Alloc(n)
	r.must(err)
	r.free(m.Free)
	return m
}

func (r *rig) stream(dev *Device) *cuStream {
	r.Helper()
	s, err := dev.NewStream()
	r.must(err)
	r.free(s.Close)
	return s.(*cuStream)
}

func (r *rig) event(dev *Device) gpu.Event {
	r.Helper()
	e, err := dev.NewEvent()
	r.must(err)
	r.free(e.Free)
	return e
}

func (r *rig) free(free func() error) {
	r.Cleanup(func() {
		if err := free(); err != nil {
			r.Error(err)
		}
	})
}

// mapping is n bytes that other code has mapped.
func (r *rig) mapping(n int) []byte {
	r.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	r.must(err)
	r.free(func() error { return unix.Munmap(b) })
	return b
}

// failed is the driver's error that err must hold.
func (r *rig) failed(err error, op string, code int) *Error {
	r.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Op != op || e.Code != code {
		r.Fatalf("%v, want an *Error of %s with code %d", err, op, code)
	}
	return e
}

// fill writes a pattern that differs with the seed.
func fill(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed*31)
	}
}
