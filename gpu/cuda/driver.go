//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// This file has all calls of C: it opens a library, looks up a function and calls it. absent.go
// replaces it and numa.go without CUDA.

const supported = true

// openLibrary loads a shared library; nothing of it becomes visible to others. The loader keeps its
// error for the thread that called it, which purego asks again.
func openLibrary(path string) (handle uintptr, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func (f *function) lookUp(library uintptr, symbol string) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f.address, err = purego.Dlsym(library, symbol)
	return err
}

// call returns the function's CUresult, a C int in a register whose upper half is undefined. The
// pragma keeps the targets of arguments alive and in place until call returns; every function that
// passes arguments on to it needs the pragma too, and must be called directly: an interface or a
// func value loses it.
//
//go:uintptrescapes
func (f *function) call(args ...uintptr) int {
	r, _, _ := purego.SyscallN(f.address, args...)
	return int(int32(r))
}
