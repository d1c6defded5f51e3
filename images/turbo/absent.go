//go:build !linux || !(amd64 || arm64) || noturbo

package turbo

const supported = false

func openLibrary(string) (handle uintptr, err error) { return 0, nil }

func lookUp(uintptr, string) (uintptr, error) { return 0, nil }

func call(uintptr, ...uintptr) uintptr { return 0 }

func text(uintptr) string { return "" }
