package turbo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// libraryVariable names another library than the one that is shipped or the system's.
	libraryVariable = "SHARDFEED_LIBTURBOJPEG"

	libraryName = "libturbojpeg.so.0"
)

// A Library is libjpeg-turbo, loaded. It is never unloaded. It is safe for concurrent use.
type Library struct {
	path string

	init, destroy, set, get, header, scale, crop, decompress, errorText, errorCode uintptr
}

// Load loads libjpeg-turbo from a path, or searches for it if the path is "". The error lists the
// searched places.
func Load(path string) (*Library, error) {
	if !supported {
		return nil, fmt.Errorf("turbo: this build for %s/%s does not call libjpeg-turbo: builds for linux/amd64 and linux/arm64 without the build tag noturbo do",
			runtime.GOOS, runtime.GOARCH)
	}
	var failed []error
	for _, p := range candidates(path) {
		l, err := open(p)
		if err == nil {
			return l, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("turbo: libjpeg-turbo 3 was not found, set %s to its path: %w", libraryVariable, errors.Join(failed...))
}

// candidates are the files to try, in order.
func candidates(path string) []string {
	if path != "" {
		return []string{path}
	}
	if p := os.Getenv(libraryVariable); p != "" {
		return []string{p}
	}
	var all []string
	if program, err := os.Executable(); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			all = append(all, filepath.Join(filepath.Dir(program), libraryName))
		}
	}
	return append(all, libraryName)
}

func open(path string) (*Library, error) {
	if strings.Contains(path, "/") { // the loader's words for an absent file differ by C library
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	handle, err := openLibrary(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l := &Library{path: path}
	var missing []string
	for _, f := range []struct {
		to   *uintptr
		name string
	}{
		{&l.init, "tj3Init"},
		{&l.destroy, "tj3Destroy"},
		{&l.set, "tj3Set"},
		{&l.get, "tj3Get"},
		{&l.header, "tj3DecompressHeader"},
		{&l.scale, "tj3SetScalingFactor"},
		{&l.crop, "tj3SetCroppingRegion"},
		{&l.decompress, "tj3Decompress8"},
		{&l.errorText, "tj3GetErrorStr"},
		{&l.errorCode, "tj3GetErrorCode"},
	} {
		if *f.to, err = lookUp(handle, f.name); err != nil {
			missing = append(missing, f.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s has no %s: version 3.0 of libjpeg-turbo is the first that will do", path, strings.Join(missing, ", "))
	}
	return l, nil
}

// Path is the loaded library: a path, or a name that the system's loader has found.
func (l *Library) Path() string { return l.path }
