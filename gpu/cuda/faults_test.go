//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// session uses a driver for everything that it can do, gives all of it back, and returns every
// error on the way.
func session(library string, mapping []byte) error {
	driver, err := Load(library)
	if err != nil {
		return err
	}
	dev, err := driver.Open(0)
	if err != nil {
		return err
	}
	return errors.Join(use(dev, mapping), dev.Close())
}

func use(dev *Device, mapping []byte) (err error) {
	give := func(free func() error) { err = errors.Join(err, free()) }
	host, err := dev.AllocHost(4096)
	if err != nil {
		return err
	}
	defer func() { give(host.Free) }()
	unregister, err := dev.Register(mapping)
	if err != nil {
		return err
	}
	defer func() { give(unregister) }()
	there, err := dev.Alloc(4096)
	if err != nil {
		return err
	}
	defer func() { give(there.Free) }()
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { give(s.Close) }()
	e, err := dev.NewEvent()
	if err != nil {
		return err
	}
	defer func() { give(e.Free) }()
	// Memory goes back only when nothing is on its way, also after an error: the second Sync is for
	// when the first is the one that fails.
	defer func() { give(s.Sync) }()
	defer func() { give(s.Sync) }()
	return roundTrip(s, e, host, there)
}

func roundTrip(s gpu.Stream, e gpu.Event, host gpu.HostMemory, there gpu.DeviceMemory) error {
	for _, step := range []func() error{
		func() error { return s.ToDevice(there, 0, host.Bytes()) },
		func() error { return s.Record(e) },
		func() error { return s.Await(e) },
		func() error { _, err := e.Done(); return err },
		e.Wait,
		func() error { return s.ToHost(host.Bytes(), there, 0) },
		s.Sync,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// TestFaults makes each call of a session fail, one after another. The error names the call, and
// nothing is left behind except memory that the driver refused to free, which ends with the
// context.
func TestFaults(t *testing.T) {
	f := fakecuda.Open(t)
	r := &rig{T: t, fake: f}
	mapping := r.mapping(4096)
	r.must(session(f.Library, mapping))
	calls := f.Counts().Calls
	var all api
	for _, s := range all.symbols() {
		if strings.HasPrefix(s.op, "cuGetError") {
			continue // of which nothing can fail
		}
		if calls[s.op] == 0 {
			t.Errorf("the session does not call %s", s.op)
		}
		for nth := range calls[s.op] {
			f.Reset()
			f.Fault(s.op, nth+1, 999)
			fault(r, session(f.Library, mapping), s.op, nth+1)
		}
	}
}

// fault looks at what a session with one fault has returned and left.
func fault(r *rig, err error, op string, nth int) {
	r.Helper()
	counts := r.fake.Counts()
	e := r.failed(err, op, 999)
	if e.Name != "CUDA_ERROR_UNKNOWN" || !strings.HasPrefix(e.Text, "unknown error") || !strings.Contains(e.Hint, "dmesg") {
		r.Errorf("%s number %d: %v", op, nth, err)
	}
	frees := []string{"cuMemFreeHost", "cuMemFree", "cuMemHostUnregister", "cuStreamDestroy", "cuEventDestroy", "cuCtxSetCurrent"}
	leaks := counts.Leaks()
	switch {
	case op == "cuDevicePrimaryCtxRelease" && slices.Equal(leaks, []string{"1 contexts"}):
	case slices.Contains(frees, op) && (len(leaks) == 0 || slices.Equal(leaks, []string{"1 dropped with their context"})):
	case len(leaks) != 0:
		r.Errorf("%s number %d: left behind %v", op, nth, leaks)
	}
	if len(counts.Violations) != 0 {
		r.Errorf("%s number %d: %v", op, nth, counts.Violations)
	}
}

// TestHints looks for the advice and the class of codes that people meet.
func TestHints(t *testing.T) {
	r := newRig(t)
	dev := r.open(0)
	for _, c := range []struct {
		code       int
		name, hint string
		class      error
	}{
		{2, "CUDA_ERROR_OUT_OF_MEMORY", "fewer batches in flight", gpu.ErrOutOfMemory},
		{3, "CUDA_ERROR_NOT_INITIALIZED", "fork", nil},
		{34, "CUDA_ERROR_STUB_LIBRARY", "stub", gpu.ErrNoDriver},
		{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "compute mode", nil},
		{100, "CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES", gpu.ErrNoDevice},
		{101, "CUDA_ERROR_INVALID_DEVICE", "from 0", gpu.ErrNoDevice},
		{201, "CUDA_ERROR_INVALID_CONTEXT", "reset", nil},
		{304, "CUDA_ERROR_OPERATING_SYSTEM", "operating system", nil},
		{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "process has to end", nil},
		{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "reset", nil},
		{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "as a whole", nil},
		{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "not registered", nil},
		{719, "CUDA_ERROR_LAUNCH_FAILED", "process has to end", nil},
		{800, "CUDA_ERROR_NOT_PERMITTED", "rights", nil},
		{801, "CUDA_ERROR_NOT_SUPPORTED", "WSL", gpu.ErrUnsupported},
		{802, "CUDA_ERROR_SYSTEM_NOT_READY", "fabricmanager", nil},
		{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "kernel module", nil},
		{999, "CUDA_ERROR_UNKNOWN", "dmesg", nil},
		{4711, "CUresult", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := r.in(t)
			r.fake.Fault("cuMemAlloc", 1, c.code)
			_, err := dev.Alloc(64)
			r.fake.ForgetFaults()
			e := r.failed(err, "cuMemAlloc", c.code)
			if e.Name != c.name || !strings.Contains(e.Hint, c.hint) || (c.hint == "") != (e.Hint == "") {
				t.Errorf("%d: %v, want %s and advice: %s", c.code, err, c.name, c.hint)
			}
			for _, class := range []error{gpu.ErrNoDriver, gpu.ErrNoDevice, gpu.ErrOutOfMemory, gpu.ErrUnsupported, gpu.ErrClosed} {
				if errors.Is(err, class) != (class == c.class) {
					t.Errorf("%d: is %v: %v", c.code, class, errors.Is(err, class))
				}
			}
			if e.Lost() != (c.code == 700 || c.code == 719) {
				t.Errorf("%d: lost %v", c.code, e.Lost())
			}
		})
	}
}

// TestLost lets a copy fail when it runs. Everything after it says so, nothing hangs, and the
// device can be given back.
func TestLost(t *testing.T) {
	r := newRig(t)
	r.fake.Delay(fakecuda.Delay{Latency: 100 * time.Millisecond}) // the copy runs after the event is recorded
	r.fake.Fault("copy", 1, 719)
	err := session(r.fake.Library, r.mapping(4096))
	for _, op := range []string{"cuEventSynchronize", "cuStreamSynchronize", "cuMemFree", "cuMemFreeHost"} {
		if !strings.Contains(fmt.Sprint(err), "cuda: "+op+": CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure; ") {
			t.Errorf("%s is not said to fail:\n%v", op, err)
		}
	}
	if e := r.failed(err, "cuEventSynchronize", 719); !e.Lost() {
		t.Error("the context is not said to be lost")
	}
	if c := r.fake.Counts(); c.Contexts != 0 {
		t.Errorf("%d contexts are left", c.Contexts)
	}
	if _, dropped := r.fake.Forgive(); dropped != 5 {
		t.Errorf("%d things went with the context, want 5", dropped)
	}
}
