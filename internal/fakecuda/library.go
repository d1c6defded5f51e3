//go:build linux && (amd64 || arm64) && !nocuda

package fakecuda

import (
	"fmt"

	"github.com/ebitengine/purego"
)

const supported = true

func openLibrary(path string) (handle uintptr, err error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

//go:uintptrescapes
func (f *Fake) call(name string, args ...uintptr) uintptr {
	address, err := purego.Dlsym(f.handle, name)
	if err != nil {
		panic(fmt.Sprintf("fakecuda: %s: %v", name, err))
	}
	r, _, _ := purego.SyscallN(address, args...)
	return r
}
