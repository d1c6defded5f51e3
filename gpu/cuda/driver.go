//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// absent.go stands for this file and numa.go where there is no CUDA. Here is all that the package
// knows of calling C: a library is opened, a function looked up and called.

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

// call returns the function's CUresult, a C int in a register whose upper half is anything. The
// pragma keeps what arguments point to alive, and where it is, until call returns; everything that
// passes arguments on to it needs it too, and must be called directly: through an interface or a
// func value it is lost.
//
//go:uintptrescapes
func (f *function) call(args ...uintptr) int {
	r, _, _ := purego.SyscallN(f.address, args...)
	return int(int32(r))
}
