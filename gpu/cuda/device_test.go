//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
)

func TestInfo(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		info := r.open(0).Info()
		if info.Name != "cuda:0" || info.Index != 0 || info.Type != gpu.CUDA || info.Model == "" || info.Memory <= 0 {
			t.Errorf("%+v", info)
		}
		if !regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.0$`).MatchString(info.Bus) {
			t.Errorf("bus %q is not as the kernel writes it", info.Bus)
		}
		if !regexp.MustCompile(`^\d+\.\d$`).MatchString(info.Driver) || info.Driver != r.driver.Version() {
			t.Errorf("driver %q, %q", info.Driver, r.driver.Version())
		}
		if r.fake != nil && (info.Model != "Fake GPU 0" || info.Bus != "0000:3a:00.0" || info.Driver != "12.8" || info.Memory != 1<<30) {
			t.Errorf("of the fake: %+v", info)
		}
		if r.driver.Library() == "" {
			t.Error("the driver does not say what it is")
		}
	})
}

// TestNoSuchDevice counts from 0 to the number of devices that there are.
func TestNoSuchDevice(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		n, err := r.driver.Count()
		r.must(err)
		for _, index := range []int{-1, n, n + 7} {
			_, err := r.driver.Open(index)
			e := r.failed(err, "cuDeviceGet", 101)
			if !errors.Is(err, gpu.ErrNoDevice) || e.Name != "CUDA_ERROR_INVALID_DEVICE" || !strings.Contains(e.Hint, "CUDA_VISIBLE_DEVICES") {
				t.Errorf("device %d: %v", index, err)
			}
		}
	})
}

// TestTwoDevices uses two devices at once: each call finds its own context, whatever the one before
// was about.
func TestTwoDevices(t *testing.T) {
	r := newRig(t)
	r.fake.Devices(2)
	if n, err := r.driver.Count(); n != 2 || err != nil {
		t.Fatalf("%d devices, %v", n, err)
	}
	a, b := r.open(0), r.open(1)
	if a.Info().Bus == b.Info().Bus || b.Info().Name != "cuda:1" || b.Info().Index != 1 {
		t.Errorf("%+v and %+v", a.Info(), b.Info())
	}
	host, there, s := r.host(a, 4096), r.alloc(b, 4096), r.stream(b)
	fill(host.Bytes(), 1)
	r.must(s.ToDevice(there, 0, host.Bytes()), s.Sync())
	if c := r.fake.Counts(); c.Copies != 1 || c.Pageable != 0 {
		t.Errorf("%+v: page-locked memory of one device is not that of the other", c)
	}

	r.failed(s.ToDevice(r.alloc(a, 4096), 0, host.Bytes()), "cuMemcpyHtoDAsync", 1)
	r.failed(s.Record(r.event(a)), "cuEventRecord", 400)
	r.must(s.Await(r.event(a)))
	for _, call := range r.fake.Log() {
		if call.Op == "cuStreamSynchronize" && call.Device != 1 {
			t.Errorf("%+v: in the context of the other device", call)
		}
	}
}

// TestShared opens a device twice: it is one context, which is given back with the second close.
func TestShared(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		a, b := r.open(0), r.open(0)
		there := r.alloc(a, 16)
		s := r.stream(b)
		host := r.host(b, 16)
		r.must(s.ToDevice(there, 0, host.Bytes()), s.Sync(), there.Free(), a.Close())
		other := r.alloc(b, 16)
		r.must(s.ToDevice(other, 0, host.Bytes()), s.Sync())
	})
}

// TestClose asks for what a closed device no longer gives, and that it is given back with the last
// thing that came from it.
func TestClose(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev, err := r.driver.Open(0)
		r.must(err)
		host, there, s, e := r.host(dev, 4096), r.alloc(dev, 4096), r.stream(dev), r.event(dev)
		unregister, err := dev.Register(r.mapping(4096))
		r.must(err)

		left := []string{"cuda:0", "1 page-locked allocations", "1 registered ranges", "1 device allocations", "1 streams", "1 events"}
		free := []func() error{host.Free, unregister, there.Free, s.Close, e.Free}
		for i := range free {
			err := dev.Close()
			if err == nil || !strings.Contains(err.Error(), strings.Join(left[i+1:], ", ")) || !strings.Contains(err.Error(), left[0]) {
				t.Errorf("close: %v, want what is left: %v", err, left[i+1:])
			}
			if i == 0 {
				r.closed(dev)
				fill(host.Bytes(), 1) // what is left still works
				r.must(s.ToDevice(there, 0, host.Bytes()), s.Record(e), e.Wait())
			}
			if r.fake != nil && r.fake.Counts().Contexts != 1 {
				t.Errorf("with %v left the context is gone", left[i+1:])
			}
			r.must(free[i]())
		}
		if r.fake != nil && r.fake.Counts().Contexts != 0 {
			t.Error("the last thing freed did not give the device back")
		}
		r.must(dev.Close(), dev.Close())
	})
}

// closed expects that a device gives nothing any more.
func (r *rig) closed(dev *Device) {
	r.Helper()
	_, host := dev.AllocHost(1)
	_, there := dev.Alloc(1)
	_, s := dev.NewStream()
	_, e := dev.NewEvent()
	_, registered := dev.Register(r.mapping(4096))
	for _, err := range []error{host, there, s, e, registered} {
		if !errors.Is(err, gpu.ErrClosed) {
			r.Errorf("a closed device: %v", err)
		}
	}
}

// TestFlags finds in the log of calls how things were asked for.
func TestFlags(t *testing.T) {
	r := newRig(t)
	dev := r.open(0)
	r.host(dev, 4096)
	r.stream(dev)
	r.event(dev)
	unregister, err := dev.Register(r.mapping(4096))
	r.must(err, unregister())
	flags := map[string]uint64{}
	for _, call := range r.fake.Log() {
		switch call.Op {
		case "cuStreamCreate", "cuEventCreate":
			flags[call.Op] = call.A
		case "cuMemHostAlloc", "cuMemHostRegister":
			flags[call.Op] = call.B
		}
	}
	for op, want := range map[string]uint64{
		"cuStreamCreate":    1, // non-blocking
		"cuEventCreate":     3, // who waits sleeps, no timing
		"cuMemHostAlloc":    1, // portable
		"cuMemHostRegister": 1,
	} {
		t.Run(op, func(t *testing.T) {
			if flags[op] != want {
				t.Errorf("flags %d, want %d", flags[op], want)
			}
		})
	}
}
