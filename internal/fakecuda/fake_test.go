//go:build linux && (amd64 || arm64) && !nocuda

package fakecuda

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cells are places for results. They are mapped: Go may move what is its own, and keeps nothing
// alive for an address that was taken before.
func cells(t testing.TB) []uintptr {
	t.Helper()
	b, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return unsafe.Slice((*uintptr)(unsafe.Pointer(&b[0])), 8)
}

// at is the address of a cell.
func at(cells []uintptr, i int) uintptr { return uintptr(unsafe.Pointer(&cells[i])) }

// witness is a test that a Fake fails, or skips.
type witness struct {
	testing.TB
	said    []string
	cleanup []func()
}

func (w *witness) Helper()           {}
func (w *witness) Error(args ...any) { w.said = append(w.said, fmt.Sprintln(args...)) }
func (w *witness) Cleanup(f func())  { w.cleanup = append(w.cleanup, f) }

func (w *witness) Skip(args ...any) {
	w.Error(append([]any{"skip:"}, args...)...)
	runtime.Goexit()
}

func (w *witness) Fatal(args ...any) {
	w.Error(append([]any{"fatal:"}, args...)...)
	runtime.Goexit()
}

// end ends the test and returns its output.
func (w *witness) end() string {
	for _, f := range slices.Backward(w.cleanup) {
		f()
	}
	return strings.Join(w.said, "")
}

// TestWitness expects that a test fails which leaves something behind or breaks a rule, and that
// the next one starts clean.
func TestWitness(t *testing.T) {
	library := Build(t)
	out := cells(t)
	result := at(out, 0)
	for _, c := range []struct {
		name string
		do   func(f *Fake)
		said string
	}{
		{"nothing wrong", func(f *Fake) { f.Call("cuInit", 0) }, ""},
		{"context", func(f *Fake) { f.Call("cuDevicePrimaryCtxRetain", result, 0) }, "not given back: 1 contexts"},
		{"no context", func(f *Fake) { f.Call("cuMemFreeHost", 0) }, "violation: cuMemFreeHost: no context is current"},
		{"no context, forgiven", func(f *Fake) {
			f.Call("cuMemFreeHost", 0)
			f.Forgive()
		}, ""},
		{"pageable memory", func(f *Fake) {
			f.Call("cuDevicePrimaryCtxRetain", result, 0)
			f.onThread(func() []int {
				return []int{f.Call("cuCtxSetCurrent", out[0]), f.Call("cuMemHostAlloc", result, page, 0), f.Call("cuEventCreate", result, 0)}
			})
		}, "1 page-locked allocations"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &witness{TB: t}
			f := OpenLibrary(w, library)
			f.Call("cuInit", 0)
			c.do(f)
			if said := w.end(); !strings.Contains(said, c.said) || (said == "") != (c.said == "") {
				t.Errorf("said %q, want %q", said, c.said)
			}
			if left := f.Counts().Leaks(); len(left) != 0 {
				t.Errorf("after the test there are %v", left)
			}
		})
	}
}

func TestBuild(t *testing.T) {
	whole, again, old := Build(t), Build(t), Build(t, "cuMemHostAlloc")
	if whole != again || whole == old {
		t.Errorf("libraries %s, %s; without a function %s", whole, again, old)
	}
	f := OpenLibrary(t, old)
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "cuMemHostAlloc") {
			t.Errorf("a call of what is not there: %s", r)
		}
	}()
	f.Call("cuMemHostAlloc", 0, 0, 0)
}

// TestNoCompiler has no cc: the test is skipped, and says so; with CI=true that is a failure. An
// earlier build is used nevertheless.
func TestNoCompiler(t *testing.T) {
	built := Build(t)
	t.Setenv("PATH", t.TempDir())
	if again := Build(t); again != built {
		t.Errorf("%s, want %s", again, built)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for ci, want := range map[string]string{"": "skip: SKIPPED: no C compiler", "true": "fatal: CI=true and there is no C compiler"} {
		t.Setenv("CI", ci)
		w := &witness{TB: t}
		var wg sync.WaitGroup
		wg.Go(func() { Build(w) })
		wg.Wait()
		if said := w.end(); !strings.HasPrefix(said, want) {
			t.Errorf("CI=%s: %q, want %q", ci, said, want)
		}
	}
}

// TestNoCache has a cache that cannot be written: the library is built for the test alone.
func TestNoCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/dev/null")
	library := Build(t)
	if _, err := os.Stat(library); err != nil || strings.HasPrefix(library, "/dev/null") {
		t.Errorf("%s: %v", library, err)
	}
}

const childVariable = "FAKECUDA_TEST_CHILD"

// TestEnvironment tells a process by its environment what is to go wrong, and reads its report.
func TestEnvironment(t *testing.T) {
	library := Build(t)
	report := filepath.Join(t.TempDir(), "report")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"="+library, "FAKECUDA_DEVICES=3", "FAKECUDA_FAULTS=cuDeviceGet:2:999,cuStreamCreate:0:2",
		"FAKECUDA_DELAY=1000,2000", "FAKECUDA_REPORT="+report)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var c Counts
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if c.Contexts != 1 || c.Calls["cuDeviceGet"] != 3 || len(c.Violations) != 1 {
		t.Errorf("report %s, want a context that was not released, 3 calls of cuDeviceGet, a violation", text)
	}
}

// TestChild is the process: it must see three devices and both faults, and leaves a context behind.
func TestChild(t *testing.T) {
	library := os.Getenv(childVariable)
	if library == "" {
		t.Skip("run by TestEnvironment")
	}
	w := &witness{TB: t}
	f := OpenLibrary(w, library)
	out := cells(t)
	f.Call("cuInit", 0)
	var codes []int
	for device := range 3 {
		codes = append(codes, f.Call("cuDeviceGet", at(out, 0), uintptr(device)))
	}
	codes = append(codes, f.Call("cuDevicePrimaryCtxRetain", at(out, 0), 2), f.Call("cuStreamCreate", at(out, 0), 0), f.Call("cuMemFreeHost", 0))
	if want := []int{0, 999, 0, 0, 2, 201}; !slices.Equal(codes, want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
}
