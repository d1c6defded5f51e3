//go:build linux && (amd64 || arm64) && !nocuda

package fakecuda

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"
)

const page = 4096

// TestRules breaks each rule on purpose. Where no correct program would do it, the fake also takes
// it down as a violation.
func TestRules(t *testing.T) {
	out := at(cells(t), 0)
	for _, rule := range []struct {
		name      string
		break_    func(r *rig) int
		code      int
		violation string // "": it is an error and no more
	}{
		{"no context", func(r *rig) int {
			r.must("cuCtxSetCurrent", 0)
			defer r.use(0)
			return r.Call("cuMemHostAlloc", out, page, 1)
		}, 201, "no context is current"},
		{"a released context", func(r *rig) int {
			r.must("cuDevicePrimaryCtxRelease_v2", 0)
			defer r.must("cuDevicePrimaryCtxRetain", out, 0)
			return r.Call("cuMemAlloc_v2", out, page)
		}, 709, "was released"},
		{"no such context", func(r *rig) int { return r.Call("cuCtxSetCurrent", 0x1234) }, 201, "is no context"},
		{"released twice", func(r *rig) int {
			r.must("cuDevicePrimaryCtxRelease_v2", 1)
			defer r.must("cuDevicePrimaryCtxRetain", out, 1)
			return r.Call("cuDevicePrimaryCtxRelease_v2", 1)
		}, 201, "is not retained"},
		{"no such device", func(r *rig) int { return r.Call("cuDeviceGet", out, 2) }, 101, ""},

		{"page-locked: nothing", func(r *rig) int { return r.Call("cuMemHostAlloc", out, 0, 1) }, 1, ""},
		{"page-locked: flags", func(r *rig) int { return r.Call("cuMemHostAlloc", out, page, 8) }, 1, ""},
		{"page-locked: free of nothing", func(r *rig) int { return r.Call("cuMemFreeHost", 0x1000) }, 1, "there is nothing"},
		{"page-locked: free of its middle", func(r *rig) int {
			return r.Call("cuMemFreeHost", address(r.pinned(page))+64)
		}, 1, "there is nothing"},
		{"page-locked: freed twice", func(r *rig) int {
			b := r.hostAlloc(page)
			r.must("cuMemFreeHost", address(b))
			return r.Call("cuMemFreeHost", address(b))
		}, 1, "there is nothing"},

		{"registered: nothing", func(r *rig) int { return r.Call("cuMemHostRegister_v2", address(r.pageable(page)), 0, 1) }, 1, ""},
		{"registered: nil", func(r *rig) int { return r.Call("cuMemHostRegister_v2", 0, page, 1) }, 1, ""},
		{"registered: twice", func(r *rig) int { return r.registerTwice(0, 2*page, 0, 2*page) }, 712, ""},
		{"registered: overlapping", func(r *rig) int { return r.registerTwice(0, 2*page, page, 2*page) }, 712, ""},
		{"registered: a page twice", func(r *rig) int { return r.registerTwice(0, page/2, page/2, page/2) }, 712, ""},
		{"registered: neighbours", func(r *rig) int { return r.registerTwice(0, page, page, page) }, 0, ""},
		{"registered: page-locked already", func(r *rig) int {
			return r.Call("cuMemHostRegister_v2", address(r.pinned(2*page)), page, 1)
		}, 712, ""},
		{"unregistered: nothing", func(r *rig) int { return r.Call("cuMemHostUnregister", address(r.pageable(page))) }, 713, "there is nothing"},
		{"unregistered: page-locked", func(r *rig) int { return r.Call("cuMemHostUnregister", address(r.pinned(page))) }, 713, "there is nothing"},

		{"device: nothing", func(r *rig) int { return r.Call("cuMemAlloc_v2", out, 0) }, 1, ""},
		{"device: too much", func(r *rig) int {
			r.Memory(3 * page)
			r.device(2 * page)
			return r.Call("cuMemAlloc_v2", out, 2*page)
		}, 2, ""},
		{"device: freed twice", func(r *rig) int {
			p := r.deviceAlloc(page)
			r.must("cuMemFree_v2", p)
			return r.Call("cuMemFree_v2", p)
		}, 1, "there is nothing"},
		{"copy: beyond the end", func(r *rig) int {
			return r.Call("cuMemcpyHtoDAsync_v2", r.device(page)+1, address(r.pinned(page)), page, 0)
		}, 1, "not memory of device 0"},
		{"copy: before the beginning", func(r *rig) int {
			return r.Call("cuMemcpyDtoHAsync_v2", address(r.pinned(page)), r.device(page)-1, page, 0)
		}, 1, "not memory of device 0"},
		{"copy: freed", func(r *rig) int {
			p := r.deviceAlloc(page)
			r.must("cuMemFree_v2", p)
			return r.Call("cuMemcpyHtoDAsync_v2", p, address(r.pinned(page)), page, 0)
		}, 1, "not memory of device 0"},
		{"copy: another device's", func(r *rig) int {
			p := r.device(page)
			r.use(1)
			defer r.use(0)
			return r.Call("cuMemcpyHtoDAsync_v2", p, address(r.pinned(page)), page, 0)
		}, 1, "not memory of device 1"},
		{"copy: another device's stream", func(r *rig) int {
			s := r.stream()
			r.use(1)
			defer r.use(0)
			p := r.deviceAlloc(page)
			defer r.must("cuMemFree_v2", p)
			return r.Call("cuMemcpyHtoDAsync_v2", p, address(r.pinned(page)), page, s)
		}, 400, ""},
		{"copy: registered in part", func(r *rig) int {
			b := r.pageable(2 * page)
			r.register(b[:page])
			return r.Call("cuMemcpyHtoDAsync_v2", r.device(2*page), address(b), 2*page, 0)
		}, 1, "only in part"},

		{"event: of another device", func(r *rig) int {
			e := r.event()
			r.use(1)
			defer r.use(0)
			return r.Call("cuEventRecord", e, 0)
		}, 400, ""},
		{"event: flags", func(r *rig) int { return r.Call("cuEventCreate", out, 8) }, 1, ""},
		{"stream: flags", func(r *rig) int { return r.Call("cuStreamCreate", out, 2) }, 1, ""},
		{"stream: no such", func(r *rig) int { return r.Call("cuStreamSynchronize", 0x77) }, 400, "does not exist"},
	} {
		t.Run(rule.name, func(t *testing.T) {
			r := newRig(t)
			if code := rule.break_(r); code != rule.code {
				t.Errorf("code %d, want %d", code, rule.code)
			}
			if rule.violation != "" {
				r.broken(rule.violation)
			}
		})
	}
}

// register page-locks b until the test ends.
func (r *rig) register(b []byte) {
	r.Helper()
	r.must("cuMemHostRegister_v2", address(b), uintptr(len(b)), 1)
	r.Cleanup(func() { r.must("cuMemHostUnregister", address(b)) })
}

// registerTwice registers n bytes at off of a mapping, and then those of another place in it, whose
// code it returns.
func (r *rig) registerTwice(off, n, off2, n2 int) int {
	b := r.pageable(4 * page)
	r.register(b[off : off+n])
	code := r.Call("cuMemHostRegister_v2", address(b[off2:]), uintptr(n2), 1)
	if code == 0 {
		r.must("cuMemHostUnregister", address(b[off2:]))
	}
	return code
}

// TestDestroyed uses streams and events after they were destroyed.
func TestDestroyed(t *testing.T) {
	for _, what := range []string{"stream", "event"} {
		uses := map[string][]string{
			"stream": {"cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamWaitEvent", "cuEventRecord", "cuMemcpyHtoDAsync_v2"},
			"event":  {"cuEventDestroy_v2", "cuEventQuery", "cuEventSynchronize", "cuEventRecord", "cuStreamWaitEvent"},
		}[what]
		for _, use := range uses {
			t.Run(what+"/"+use, func(t *testing.T) {
				r := newRig(t)
				handles := map[string]uintptr{"stream": r.stream(), "event": r.event()}
				var gone uintptr
				if what == "stream" {
					r.must("cuStreamCreate", uintptr(unsafe.Pointer(&gone)), 1)
					r.must("cuStreamDestroy_v2", gone)
				} else {
					r.must("cuEventCreate", uintptr(unsafe.Pointer(&gone)), 3)
					r.must("cuEventDestroy_v2", gone)
				}
				handles[what] = gone
				args := map[string][]uintptr{
					"cuStreamWaitEvent":    {handles["stream"], handles["event"], 0},
					"cuEventRecord":        {handles["event"], handles["stream"]},
					"cuMemcpyHtoDAsync_v2": {r.device(page), address(r.pinned(page)), page, gone},
				}[use]
				if args == nil {
					args = []uintptr{gone}
				}
				if code := r.Call(use, args...); code != 400 {
					t.Errorf("code %d, want 400", code)
				}
				r.broken(what + " " + fmt.Sprintf("%#x", gone) + " was destroyed")
			})
		}
	}
}

// TestInUse gives memory back that a copy on its way reads or writes. The copy is done
// nevertheless, so that the test can go on.
func TestInUse(t *testing.T) {
	for _, free := range []string{"cuMemFreeHost", "cuMemHostUnregister", "cuMemFree_v2"} {
		t.Run(free, func(t *testing.T) {
			r := newRig(t)
			r.Hold()
			var b []byte
			if free == "cuMemHostUnregister" {
				b = r.pageable(page)
				r.must("cuMemHostRegister_v2", address(b), page, 1)
			} else {
				b = r.hostAlloc(page)
			}
			p := r.deviceAlloc(page)
			r.toDevice(p, b, 0)
			given := map[string]uintptr{"cuMemFreeHost": address(b), "cuMemHostUnregister": address(b), "cuMemFree_v2": p}
			var seen sync.WaitGroup
			seen.Go(func() {
				for len(r.Counts().Violations) == 0 {
					time.Sleep(time.Millisecond)
				}
				r.Release()
			})
			r.must(free, given[free])
			seen.Wait()
			r.broken("1 copies on their way use the memory")
			if free == "cuMemFree_v2" {
				r.must("cuMemFreeHost", address(b))
			} else {
				r.must("cuMemFree_v2", p)
			}
			if c := r.Counts(); c.Copies != 1 {
				t.Errorf("%d copies, want 1", c.Copies)
			}
		})
	}
}

func TestNotInitialised(t *testing.T) {
	f := Open(t)
	var n int32
	for _, name := range []string{"cuDeviceGetCount", "cuCtxSetCurrent", "cuMemHostAlloc"} {
		if code := f.Call(name, uintptr(unsafe.Pointer(&n)), 1, 1); code != 3 {
			t.Errorf("%s: %d, want 3", name, code)
		}
	}
	f.Devices(0)
	if code := f.Call("cuInit", 0); code != 100 {
		t.Errorf("cuInit without a device: %d, want 100", code)
	}
}

// TestDropped ends a context with things in it.
func TestDropped(t *testing.T) {
	f := Open(t)
	out := cells(t)
	context, result := at(out, 0), at(out, 1)
	codes := []int{
		f.Call("cuInit", 0), f.Call("cuDevicePrimaryCtxRetain", context, 0), f.onThread(func() []int {
			return []int{
				f.Call("cuCtxSetCurrent", out[0]), f.Call("cuMemHostAlloc", result, page, 0), f.Call("cuMemAlloc_v2", result, page),
				f.Call("cuStreamCreate", result, 0), f.Call("cuEventCreate", result, 0),
			}
		}), f.Call("cuDevicePrimaryCtxRelease_v2", 0),
	}
	if slices.Max(codes) != 0 {
		t.Fatal("codes", codes)
	}
	if c := f.Counts(); c.Dropped != 4 || c.Pinned+c.Device+c.Streams+c.Events != 0 {
		t.Errorf("%+v, want 4 dropped", c)
	}
	if _, dropped := f.Forgive(); dropped != 4 {
		t.Errorf("%d dropped, want 4", dropped)
	}
}
