package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Open opens a regular file for reading. Descriptors that the process was given, as /dev/stdin and
// /dev/fd/63 of a shell's <(...), may be pipes.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if kind := kindOf(info.Mode()); kind != "" && !(info.Mode()&fs.ModeNamedPipe != 0 && isDescriptor(path)) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is " + kind + ", not a regular file; name a file")}
	}
	return os.Open(path)
}

// ReadFile is os.ReadFile with Open.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func isDescriptor(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// kindOf describes what is not a regular file; "" is one.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
