//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// copyFile writes the first n bytes of a file to another, or all of it.
func copyFile(t *testing.T, from, to string, n int) string {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if n >= 0 {
		content = content[:n]
	}
	if err := os.WriteFile(to, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestLoadSaysWhy: the reason is there also where the goroutine changes its thread between the call
// that fails and the question why.
func TestLoadSaysWhy(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.so")
	var all sync.WaitGroup
	for range 8 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for range 100 {
				if _, err := Load(none); !strings.Contains(fmt.Sprint(err), "none.so: cannot open shared object file") {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestNoDriver loads files that are not drivers. The error says why, and where it was looked for;
// the process lives.
func TestNoDriver(t *testing.T) {
	whole := fakecuda.Build(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("not a library\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, library, text, hint string }{
		{"not there", filepath.Join(dir, "none.so"), "none.so: cannot open shared object file", libraryVariable},
		{"no such name", "libcuda-of-nobody.so.1", "libcuda-of-nobody.so.1: cannot open", "LD_LIBRARY_PATH"},
		{"text", text, "text.so: file too short", libraryVariable},
		{"folder", dir, "", libraryVariable},
		{"header", copyFile(t, whole, filepath.Join(dir, "header.so"), 64), "header.so", libraryVariable},
		{"cut", copyFile(t, whole, filepath.Join(dir, "cut.so"), 9000), "cut.so: the file is cut: 9000 bytes of ", libraryVariable},
		{"cut more", copyFile(t, whole, filepath.Join(dir, "more.so"), 1500), "more.so", libraryVariable},
		{"too old", fakecuda.Build(t, "cuMemHostAlloc", "cuMemAlloc_v2"), "has no cuMemHostAlloc, cuMemAlloc_v2", "too old"},
		{"another library", "libc.so.6", "libc.so.6 has no cuInit, ", "no driver"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(c.library)
			var e *Error
			if !errors.Is(err, gpu.ErrNoDriver) || !errors.As(err, &e) || e.Op != "load" || e.Code != 0 {
				t.Fatalf("%v, want an *Error that is gpu.ErrNoDriver", err)
			}
			if !strings.Contains(e.Text, c.text) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%v, want %q and advice: %q", err, c.text, c.hint)
			}
		})
	}
}

// TestCutInPath has a broken libcuda.so.1 where LD_LIBRARY_PATH says.
func TestCutInPath(t *testing.T) {
	dir := t.TempDir()
	copyFile(t, fakecuda.Build(t), filepath.Join(dir, "libcuda.so.1"), 9000)
	t.Setenv("LD_LIBRARY_PATH", "/nowhere:"+dir)
	t.Setenv(libraryVariable, "")
	if _, err := Load(""); !errors.Is(err, gpu.ErrNoDriver) || !strings.Contains(err.Error(), "the file is cut") {
		t.Errorf("%v, want that the file is cut", err)
	}
}

// TestTwoDrivers loads two: they know nothing of each other.
func TestTwoDrivers(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	other := &rig{T: t, fake: fakecuda.OpenLibrary(t, copyFile(t, r.fake.Library, filepath.Join(dir, "other.so"), -1))}
	other.driver = other.load(other.fake.Library)
	a, b := r.open(0), other.open(0)
	for range 10 {
		r.must(use(a, r.mapping(4096)), use(b, r.mapping(4096)))
	}
	host, there := r.host(a, 16), other.alloc(b, 16)
	r.failed(r.stream(a).ToDevice(there, 0, host.Bytes()), "cuMemcpyHtoDAsync", 1)
	if a, b := r.fake.Counts(), other.fake.Counts(); a.Copies != 20 || b.Copies != 20 || a.Pinned != 1 || b.Pinned != 0 {
		t.Errorf("%+v and %+v", a, b)
	}
}

// TestInit lets the driver fail while it is loaded.
func TestInit(t *testing.T) {
	f := fakecuda.Open(t)
	r := &rig{T: t}
	for _, c := range []struct {
		op    string
		code  int
		class error
	}{{"cuInit", 100, gpu.ErrNoDevice}, {"cuInit", 34, gpu.ErrNoDriver}, {"cuInit", 803, nil}, {"cuDriverGetVersion", 999, nil}} {
		t.Run(fmt.Sprintf("%s %d", c.op, c.code), func(t *testing.T) {
			r := r.in(t)
			f.Fault(c.op, 1, c.code)
			_, err := Load(f.Library)
			r.failed(err, c.op, c.code)
			for _, class := range []error{gpu.ErrNoDevice, gpu.ErrNoDriver} {
				if errors.Is(err, class) != (class == c.class) {
					t.Errorf("%s, %d: is %v: %v", c.op, c.code, class, errors.Is(err, class))
				}
			}
		})
	}
}

// FuzzMappedSize reads files that may be anything. Of one that is whole it never says that it is
// cut.
func FuzzMappedSize(f *testing.F) {
	library, err := os.ReadFile(fakecuda.Build(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(library[:1024])
	f.Add(library[:64])
	f.Add([]byte("\x7fELF"))
	f.Add([]byte{})
	if n := mappedSize(bytes.NewReader(library)); n == 0 || n > uint64(len(library)) {
		f.Fatalf("a library of %d bytes needs %d", len(library), n)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := mappedSize(bytes.NewReader(b)); n != 0 && (len(b) < 64 || binary.LittleEndian.Uint32(b) != 0x464c457f) {
			t.Errorf("%d bytes that are no library need %d", len(b), n)
		}
	})
}
