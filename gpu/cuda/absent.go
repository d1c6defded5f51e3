//go:build !linux || !(amd64 || arm64) || nocuda

package cuda

import "github.com/shardfeed/shardfeed/gpu"

const supported = false

func openLibrary(string) (uintptr, error) { return 0, gpu.ErrNoDriver }

func (f *function) lookUp(uintptr, string) error { return gpu.ErrNoDriver }

func (f *function) call(...uintptr) int { return codeStubLibrary }

func preferNode(int) (restore func()) { return func() {} }
