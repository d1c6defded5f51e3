//go:build !linux || !(amd64 || arm64) || nocuda

package fakecuda

const supported = false // without package cuda nothing would use the library

func openLibrary(string) (handle uintptr, err error) { return 0, nil }

func (f *Fake) call(string, ...uintptr) uintptr { return 0 }
