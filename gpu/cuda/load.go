package cuda

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"
)

// libraryVariable names a library to load instead of the driver's own: a driver in another place,
// or a fake one in tests.
const libraryVariable = "SHARDFEED_LIBCUDA"

// driverLibrary belongs to the installed driver. The name without a version is the toolkit's, a
// stub that cannot do anything.
const driverLibrary = "libcuda.so.1"

// A Driver is NVIDIA's, loaded and initialised. Its methods are safe for concurrent use. It is
// never unloaded.
type Driver struct {
	api     api
	library string
	version int // 1000 major + 10 minor
	sysfs   string
}

// Load loads the driver from a library, by its path or name; "" is $SHARDFEED_LIBCUDA, or else
// libcuda.so.1 from the system's loader. The error matches gpu.ErrNoDriver if there is no usable
// driver, and gpu.ErrNoDevice if it has no device.
func Load(library string) (*Driver, error) { return load(library, "/sys") }

// load loads a driver whose devices' NUMA nodes are read below sysfs.
func load(library, sysfs string) (*Driver, error) {
	if !supported {
		return nil, &Error{
			Op: "load", Text: fmt.Sprintf("this build for %s/%s has no CUDA", runtime.GOOS, runtime.GOARCH),
			Hint: "builds for linux/amd64 and linux/arm64 without the build tag nocuda have it",
		}
	}
	d := &Driver{library: cmp.Or(library, os.Getenv(libraryVariable), driverLibrary), sysfs: sysfs}
	if err := checkLibrary(d.library); err != nil {
		return nil, noDriver(d.library, err)
	}
	handle, err := openLibrary(d.library)
	if err != nil {
		return nil, noDriver(d.library, err)
	}
	var missing []string
	for _, s := range d.api.symbols() {
		s.function.op = s.op
		if s.function.lookUp(handle, s.op+s.version) != nil {
			missing = append(missing, s.op+s.version)
		}
	}
	if len(missing) > 0 {
		return nil, &Error{
			Op: "load", Text: fmt.Sprintf("%s has no %s", d.library, strings.Join(missing, ", ")),
			Hint: "the driver is too old (CUDA 11.0, driver 450, is the first that will do), or the file is no driver",
		}
	}
	if err := d.do(&d.api.init, 0); err != nil {
		return nil, err
	}
	var version int32
	if err := d.do(&d.api.driverGetVersion, uintptr(unsafe.Pointer(&version))); err != nil {
		return nil, err
	}
	d.version = int(version)
	return d, nil
}

// noDriver reports a library that could not be loaded, and the searched places.
func noDriver(library string, err error) *Error {
	e := &Error{Op: "load", Text: err.Error()}
	if filepath.Base(library) == library {
		e.Hint = "looked for where the system's loader does (LD_LIBRARY_PATH, /etc/ld.so.cache); it comes with NVIDIA's driver, not with the toolkit; " +
			libraryVariable + " names it where it lies elsewhere"
	} else {
		e.Hint = "this is the library that was asked for, by " + libraryVariable + " or by argument; without it " + driverLibrary + " is looked for"
	}
	return e
}

// Library is the loaded library: a path, or a name that the system's loader has found.
func (d *Driver) Library() string { return d.library }

// Version is the newest version of CUDA that the driver can do, as in 12.8.
func (d *Driver) Version() string { return fmt.Sprintf("%d.%d", d.version/1000, d.version%1000/10) }

// Count is the number of devices that the driver shows to this process.
func (d *Driver) Count() (int, error) {
	var n int32
	if err := d.do(&d.api.deviceGetCount, uintptr(unsafe.Pointer(&n))); err != nil {
		return 0, err
	}
	return int(n), nil
}

// do calls a function that needs no context.
//
//go:uintptrescapes
func (d *Driver) do(f *function, args ...uintptr) error {
	return d.result(f.op, f.call(args...))
}

// result is nil, or the error for what a function returned.
func (d *Driver) result(op string, code int) error {
	if code == 0 {
		return nil
	}
	return &Error{
		Op: op, Code: code, Hint: hint(op, code),
		Name: d.words(&d.api.getErrorName, code, "CUresult"), Text: d.words(&d.api.getErrorString, code, "the driver has no words for it"),
	}
}

// words asks the driver for its name or text of a code. It writes the address of a string of its
// own, which stays.
func (d *Driver) words(f *function, code int, otherwise string) string {
	var p unsafe.Pointer
	if f.call(uintptr(code), uintptr(unsafe.Pointer(&p))) != 0 || p == nil {
		return otherwise
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// misuse is an error of the caller that is found before the driver is asked, with the code that the
// driver would return.
func misuse(op, format string, args ...any) *Error {
	return &Error{Op: op, Code: codeInvalidValue, Name: "CUDA_ERROR_INVALID_VALUE", Text: fmt.Sprintf(format, args...)}
}
