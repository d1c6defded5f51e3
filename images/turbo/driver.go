//go:build linux && (amd64 || arm64) && !noturbo

package turbo

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// This file has all calls of C; absent.go replaces it on systems without the library.

const supported = true

// openLibrary and lookUp stay on a thread: the loader keeps its error for the one that called it.
func openLibrary(path string) (handle uintptr, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func lookUp(library uintptr, symbol string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(library, symbol)
}

// call returns the register of the result. The pragma keeps the targets of arguments alive and in
// place until call returns; callers must call it directly.
//
//go:uintptrescapes
func call(function uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(function, args...)
	return r
}

// text copies a C string of at most 300 bytes.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	p := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // C's memory: the collector does not move it
	n := 0
	for n < 300 && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
