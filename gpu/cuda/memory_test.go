//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
)

// TestSizes asks for no bytes, and fewer: the driver does not hear of it.
func TestSizes(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		for _, n := range []int{0, -1} {
			_, err := dev.AllocHost(n)
			r.failed(err, "cuMemHostAlloc", 1)
			_, err = dev.Alloc(n)
			r.failed(err, "cuMemAlloc", 1)
		}
		_, err := dev.Register(nil)
		r.failed(err, "cuMemHostRegister", 1)
		if r.fake == nil {
			return
		}
		for _, op := range []string{"cuMemHostAlloc", "cuMemAlloc", "cuMemHostRegister"} {
			if n := r.fake.Counts().Calls[op]; n != 0 {
				t.Errorf("%s was called %d times", op, n)
			}
		}
	})
}

// TestFreeTwice frees everything twice: the driver hears of it once.
func TestFreeTwice(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		host, there, s, e := r.host(dev, 4096), r.alloc(dev, 4096), r.stream(dev), r.event(dev)
		unregister, err := dev.Register(r.mapping(4096))
		r.must(err)
		for range 2 {
			r.must(host.Free(), there.Free(), s.Close(), e.Free(), unregister())
		}
		if host.Bytes() != nil || there.Pointer() != 0 {
			t.Error("what was freed is still there")
		}
		if r.fake == nil {
			return
		}
		for _, op := range []string{"cuMemFreeHost", "cuMemFree", "cuStreamDestroy", "cuEventDestroy", "cuMemHostUnregister"} {
			if n := r.fake.Counts().Calls[op]; n != 1 {
				t.Errorf("%s was called %d times", op, n)
			}
		}
	})
}

func TestPinned(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		for _, n := range []int{1, 4096, 1<<20 + 3} {
			m := r.host(dev, n)
			if len(m.Bytes()) != n || cap(m.Bytes()) != n || !m.Pinned() {
				t.Errorf("%d bytes: %d, %d, pinned %v", n, len(m.Bytes()), cap(m.Bytes()), m.Pinned())
			}
			fill(m.Bytes(), n)
		}
	})
}

func TestDeviceMemory(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		for _, n := range []int{1, 255, 4097} {
			if m := r.alloc(dev, n); m.Len() != n || m.Pointer()%256 != 0 {
				t.Errorf("%d bytes: %d at %#x", n, m.Len(), m.Pointer())
			}
		}
	})
}

// TestRegister page-locks a mapping of other code, once.
func TestRegister(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		b := r.mapping(1 << 20)
		unregister, err := dev.Register(b)
		r.must(err)
		_, err = dev.Register(b)
		e := r.failed(err, "cuMemHostRegister", 712)
		if !strings.Contains(e.Hint, "once") {
			t.Errorf("hint %q", e.Hint)
		}
		there, s := r.alloc(dev, len(b)), r.stream(dev)
		fill(b, 3)
		r.must(s.ToDevice(there, 0, b), s.Sync())
		if r.fake != nil {
			if c := r.fake.Counts(); c.RegisteredBytes != 1<<20 || c.Pageable != 0 || c.Copies != 1 {
				t.Errorf("%+v, want a copy from registered memory", c)
			}
		}
		r.must(unregister(), unregister())
		again, err := dev.Register(b)
		r.must(err, again())
	})
}

// TestOutOfMemory asks for more than there is: the error says how much, and what to do.
func TestOutOfMemory(t *testing.T) {
	r := newRig(t)
	dev := r.open(0)
	r.fake.Memory(1 << 20)
	_, device := dev.Alloc(2 << 20)
	r.fake.Fault("cuMemHostAlloc", 1, 2)
	_, host := dev.AllocHost(3 << 20)
	r.fake.Fault("cuMemHostRegister", 1, 2)
	_, registered := dev.Register(r.mapping(4 << 20))
	for _, c := range []struct {
		err          error
		op, size, do string
	}{
		{device, "cuMemAlloc", "2097152 bytes", "nvidia-smi"},
		{host, "cuMemHostAlloc", "3145728 bytes", "ulimit -l"},
		{registered, "cuMemHostRegister", "4194304 bytes", "container's memory limit"},
	} {
		t.Run(c.op, func(t *testing.T) {
			r := r.in(t)
			e := r.failed(c.err, c.op, 2)
			if !errors.Is(c.err, gpu.ErrOutOfMemory) || !strings.Contains(e.Text, c.size) || !strings.Contains(e.Hint, c.do) {
				t.Errorf("%v, want %s and advice: %s", c.err, c.size, c.do)
			}
		})
	}
}

// TestRefused: a system that does not page-lock at all has none of it, which is not the same as an
// error of the device.
func TestRefused(t *testing.T) {
	r := newRig(t)
	dev := r.open(0)
	for _, code := range []int{304, 800, 801} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			r := r.in(t)
			for _, op := range []string{opHostAlloc, opHostRegister, "cuMemAlloc"} {
				r.fake.Fault(op, 1, code)
			}
			_, host := dev.AllocHost(4096)
			_, registered := dev.Register(r.mapping(4096))
			_, device := dev.Alloc(4096)
			r.fake.ForgetFaults()
			for op, err := range map[string]error{opHostAlloc: host, opHostRegister: registered, "cuMemAlloc": device} {
				want := code == 801 || op != "cuMemAlloc"
				if r.failed(err, op, code); errors.Is(err, gpu.ErrUnsupported) != want {
					t.Errorf("%v: is not supported: %v, want %v", err, !want, want)
				}
			}
		})
	}
}
