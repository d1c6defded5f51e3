//go:build linux && (amd64 || arm64) && !nocuda

package fakecuda

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// onThread runs f on a thread of its own, without a context, and returns the first code that is not
// 0.
func (f *Fake) onThread(do func() []int) int {
	codes := make(chan []int)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		codes <- do()
	}()
	for _, code := range <-codes {
		if code != 0 {
			return code
		}
	}
	return 0
}

// TestLate writes to a source while its copy is on its way: the device gets what is written, as it
// would sometimes from a real driver.
func TestLate(t *testing.T) {
	r := newRig(t)
	b, p, s := r.pinned(4), r.device(4), r.stream()
	copy(b, "then")
	r.Hold()
	r.toDevice(p, b, s)
	time.Sleep(5 * time.Millisecond) // after which a thread that did not wait would be done
	copy(b, "late")
	r.Release()
	r.must("cuStreamSynchronize", s)
	if got := r.content(p, 4); got != "late" {
		t.Errorf("the device holds %q, want what was written after the call", got)
	}
	if c := r.Counts(); c.Copies != 2 || c.CopiedBytes != 8 || c.Pageable != 0 {
		t.Errorf("%+v, want 2 copies of 8 bytes, none pageable", c)
	}
}

// TestPageable copies from memory that is not page-locked: at once.
func TestPageable(t *testing.T) {
	r := newRig(t)
	b, p, s := r.pageable(4), r.device(4), r.stream()
	copy(b, "then")
	r.toDevice(p, b, s)
	copy(b, "late")
	if got := r.content(p, 4); got != "then" {
		t.Errorf("the device holds %q, want what was there when it was called", got)
	}
	if c := r.Counts(); c.Pageable != 1 || c.PageableBytes != 4 {
		t.Errorf("%+v, want 1 pageable copy of 4 bytes", c)
	}
}

// TestPortable asks whether page-locked memory of one device is that for the other.
func TestPortable(t *testing.T) {
	for flags, pageable := range map[uintptr]int64{0: 1, 1: 0} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			r := newRig(t)
			b := r.pageable(page)
			r.must("cuMemHostRegister_v2", address(b), page, flags)
			r.use(1)
			p := r.deviceAlloc(page)
			r.toDevice(p, b, 0)
			r.must("cuStreamSynchronize", 0)
			r.must("cuMemFree_v2", p)
			r.use(0)
			r.must("cuMemHostUnregister", address(b))
			if c := r.Counts(); c.Pageable != pageable {
				t.Errorf("flags %d: %d pageable copies, want %d", flags, c.Pageable, pageable)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	r := newRig(t)
	b, p, s, e := r.pinned(4), r.device(4), r.stream(), r.event()
	query := func(want int, when string) {
		t.Helper()
		if code := r.Call("cuEventQuery", e); code != want {
			t.Errorf("an event %s: %d, want %d", when, code, want)
		}
	}
	query(0, "that was never recorded")
	r.must("cuStreamWaitEvent", s, e, 0)
	r.must("cuStreamSynchronize", s)
	for range 2 {
		r.Hold()
		r.toDevice(p, b, s)
		r.must("cuEventRecord", e, s)
		query(600, "that was recorded behind a copy")
		r.Release()
		r.must("cuEventSynchronize", e)
		query(0, "that was waited for")
	}
}

// TestAwait lets a stream wait for another one, whose copy is slow; the host does not wait.
func TestAwait(t *testing.T) {
	r := newRig(t)
	first, second, p, e := r.pinned(4), r.pinned(4), r.device(4), r.event()
	s, other := r.stream(), r.stream()
	copy(first, "1111")
	copy(second, "2222")
	r.Delay(Delay{Latency: 50 * time.Millisecond})
	r.toDevice(p, first, s)
	r.must("cuEventRecord", e, s)
	r.Delay(Delay{})
	r.Hold() // nothing is done before the host has asked for all of it
	r.must("cuStreamWaitEvent", other, e, 0)
	r.toDevice(p, second, other)
	r.Release()
	r.must("cuStreamSynchronize", other)
	r.must("cuStreamSynchronize", s)
	if got := r.content(p, 4); got != "2222" {
		t.Errorf("the device holds %q: the second stream did not wait", got)
	}
}

// TestDestroyedEarly destroys what is still at work: an event and a stream go when they are done.
func TestDestroyedEarly(t *testing.T) {
	r := newRig(t)
	r.Hold()
	b, p := r.pinned(4), r.device(4)
	var s, e uintptr
	r.must("cuStreamCreate", uintptr(unsafe.Pointer(&s)), 1)
	r.must("cuEventCreate", uintptr(unsafe.Pointer(&e)), 3)
	copy(b, "done")
	r.toDevice(p, b, s)
	r.must("cuEventRecord", e, s)
	r.must("cuEventDestroy_v2", e)
	r.must("cuStreamDestroy_v2", s)
	r.Release()
	for begin := time.Now(); r.Counts().Copies != 1; time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("the copy is not done")
		}
	}
	if got := r.content(p, 4); got != "done" {
		t.Errorf("the device holds %q", got)
	}
}

// TestSticky lets a copy fail when it runs: nothing works in its context any more, until there is a
// new context.
func TestSticky(t *testing.T) {
	r := newRig(t)
	b, p := r.hostAlloc(4), r.deviceAlloc(4)
	var s, e uintptr
	r.must("cuStreamCreate", uintptr(unsafe.Pointer(&s)), 1)
	r.must("cuEventCreate", uintptr(unsafe.Pointer(&e)), 3)
	r.Fault("copy", 2, 719)
	r.toDevice(p, b, s)
	r.must("cuStreamSynchronize", s)
	r.toDevice(p, b, s)
	r.must("cuEventRecord", e, s)
	for _, call := range []struct {
		name string
		arg  uintptr
	}{{"cuEventSynchronize", e}, {"cuStreamSynchronize", s}, {"cuEventQuery", e}, {"cuMemFreeHost", address(b)}, {"cuMemFree_v2", p}} {
		if code := r.Call(call.name, call.arg); code != 719 {
			t.Errorf("%s: %d, want 719", call.name, code)
		}
	}
	r.use(1)
	r.must("cuStreamSynchronize", 0) // the other device is well
	r.must("cuDevicePrimaryCtxRelease_v2", 0)
	r.must("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&r.contexts[0])), 0)
	r.use(0)
	r.must("cuStreamSynchronize", 0)
	if _, dropped := r.Forgive(); dropped != 4 {
		t.Errorf("%d dropped, want 4", dropped)
	}
}

func TestFaults(t *testing.T) {
	r := newRig(t)
	codes := func() (codes []int) {
		for range 4 {
			codes = append(codes, r.Call("cuStreamSynchronize", 0))
		}
		return codes
	}
	for _, c := range []struct {
		nth  int
		want []int
	}{{1, []int{999, 0, 0, 0}}, {3, []int{0, 0, 999, 0}}, {0, []int{999, 999, 999, 999}}} {
		r.Fault("cuStreamSynchronize", c.nth, 999)
		if got := codes(); !slices.Equal(got, c.want) {
			t.Errorf("fault %d: %v, want %v", c.nth, got, c.want)
		}
		r.ForgetFaults()
	}
	if got := codes(); !slices.Equal(got, []int{0, 0, 0, 0}) {
		t.Errorf("without faults: %v", got)
	}
}

func TestLog(t *testing.T) {
	r := newRig(t)
	r.pinned(2 * page)
	r.Fault("cuStreamSynchronize", 1, 999)
	r.Call("cuStreamSynchronize", 0)
	r.onThread(func() []int { return []int{r.Call("cuStreamSynchronize", 0)} })
	r.broken("no context is current on thread")
	log := r.Log()
	alloc, failed, elsewhere := log[len(log)-3], log[len(log)-2], log[len(log)-1]
	if alloc.Op != "cuMemHostAlloc" || alloc.A != 2*page || alloc.B != 1 || alloc.Device != 0 || alloc.Node != -1 || alloc.Result != 0 {
		t.Errorf("allocation: %+v", alloc)
	}
	if failed.Op != "cuStreamSynchronize" || failed.Result != 999 || failed.Thread != alloc.Thread {
		t.Errorf("fault: %+v", failed)
	}
	if elsewhere.Result != 201 || elsewhere.Device != -1 || elsewhere.Thread == alloc.Thread {
		t.Errorf("another thread: %+v", elsewhere)
	}
	out := at(cells(t), 0)
	for range 20_000 {
		r.Call("cuDriverGetVersion", out)
	}
	if n, calls := len(r.Log()), r.Counts().Calls["cuDriverGetVersion"]; n != 1<<14 || calls != 20_000 {
		t.Errorf("%d calls in the log and %d counted, want the last %d of 20000", n, calls, 1<<14)
	}
}

func TestDelay(t *testing.T) {
	r := newRig(t)
	b, p := r.pinned(1<<20), r.device(1<<20)
	for _, c := range []struct {
		delay Delay
		want  time.Duration // for two copies, which begin together and are done one after the other
	}{
		{Delay{PerMiB: 30 * time.Millisecond}, 60 * time.Millisecond},
		{Delay{Latency: 40 * time.Millisecond}, 40 * time.Millisecond},
	} {
		r.Delay(c.delay)
		begin := time.Now()
		for range 2 {
			r.toDevice(p, b, 0)
		}
		r.must("cuStreamSynchronize", 0)
		if took := time.Since(begin); took < c.want {
			t.Errorf("%+v: 2 MiB took %v, want %v", c.delay, took, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	f := Open(t)
	for code, want := range map[uintptr]string{2: "CUDA_ERROR_OUT_OF_MEMORY", 719: "CUDA_ERROR_LAUNCH_FAILED", 4711: ""} {
		var name unsafe.Pointer
		if result := f.Call("cuGetErrorName", code, uintptr(unsafe.Pointer(&name))); (result != 0) != (want == "") || (name == nil) != (want == "") {
			t.Errorf("name of %d: code %d", code, result)
		}
		if name != nil && string(unsafe.Slice((*byte)(name), len(want))) != want {
			t.Errorf("name of %d is not %s", code, want)
		}
	}
}
