//go:build linux && (amd64 || arm64) && !nocuda

package fakecuda

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rig is the fake with the contexts of two devices, that of the first current on the test's thread.
type rig struct {
	*testing.T
	*Fake
	contexts [2]uintptr
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, Fake: Open(t)}
	r.Devices(2)
	runtime.LockOSThread()
	r.must("cuInit", 0)
	for i := range r.contexts {
		r.must("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&r.contexts[i])), uintptr(i))
	}
	r.use(0)
	t.Cleanup(func() {
		for i := range r.contexts {
			r.must("cuDevicePrimaryCtxRelease_v2", uintptr(i))
		}
		r.must("cuCtxSetCurrent", 0)
		runtime.UnlockOSThread()
	})
	return r
}

//go:uintptrescapes
func (r *rig) must(name string, args ...uintptr) {
	r.Helper()
	if code := r.Call(name, args...); code != 0 {
		r.Fatalf("%s: %d", name, code)
	}
}

func (r *rig) use(device int) {
	r.Helper()
	r.must("cuCtxSetCurrent", r.contexts[device])
}

// pinned is page-locked memory, given back when the test ends.
func (r *rig) pinned(n int) []byte {
	r.Helper()
	b := r.hostAlloc(n)
	r.Cleanup(func() { r.must("cuMemFreeHost", address(b)) })
	return b
}

func (r *rig) hostAlloc(n int) []byte {
	r.Helper()
	var p unsafe.Pointer
	r.must("cuMemHostAlloc", uintptr(unsafe.Pointer(&p)), uintptr(n), 1)
	return unsafe.Slice((*byte)(p), n)
}

// pageable is a mapping, gone when the test ends.
func (r *rig) pageable(n int) []byte {
	r.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { unix.Munmap(b) })
	return b
}

// device is memory of the current device, given back when the test ends.
func (r *rig) device(n int) uintptr {
	r.Helper()
	p := r.deviceAlloc(n)
	r.Cleanup(func() { r.must("cuMemFree_v2", p) })
	return p
}

func (r *rig) deviceAlloc(n int) uintptr {
	r.Helper()
	var p uintptr
	r.must("cuMemAlloc_v2", uintptr(unsafe.Pointer(&p)), uintptr(n))
	return p
}

func (r *rig) stream() uintptr {
	r.Helper()
	var s uintptr
	r.must("cuStreamCreate", uintptr(unsafe.Pointer(&s)), 1)
	r.Cleanup(func() {
		r.must("cuStreamSynchronize", s)
		r.must("cuStreamDestroy_v2", s)
	})
	return s
}

func (r *rig) event() uintptr {
	r.Helper()
	var e uintptr
	r.must("cuEventCreate", uintptr(unsafe.Pointer(&e)), 3)
	r.Cleanup(func() { r.must("cuEventDestroy_v2", e) })
	return e
}

// toDevice and toHost queue copies.
func (r *rig) toDevice(p uintptr, b []byte, stream uintptr) {
	r.Helper()
	r.must("cuMemcpyHtoDAsync_v2", p, address(b), uintptr(len(b)), stream)
}

func (r *rig) toHost(b []byte, p, stream uintptr) {
	r.Helper()
	r.must("cuMemcpyDtoHAsync_v2", address(b), p, uintptr(len(b)), stream)
}

// content is the first n bytes of a device's memory.
func (r *rig) content(p uintptr, n int) string {
	r.Helper()
	b := r.hostAlloc(n)
	defer r.must("cuMemFreeHost", address(b))
	r.toHost(b, p, 0)
	r.must("cuStreamSynchronize", 0)
	return string(b)
}

// broken expects the one violation with a text.
func (r *rig) broken(text string) {
	r.Helper()
	violations, _ := r.Forgive()
	if len(violations) != 1 || !strings.Contains(violations[0], text) {
		r.Errorf("violations %q, want one of %q", violations, text)
	}
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
