package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Replace writes a file by a function. The file gets its name when it is whole, and an error leaves
// nothing.
func Replace(path string, fill func(io.Writer) error) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".shardfeed-*")
	if err != nil {
		return Unwritten(path, err)
	}
	defer os.Remove(part.Name()) // it has another name if all went well
	if err = errors.Join(fill(part), part.Chmod(0o644), part.Sync(), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	return Unwritten(path, err)
}

// Unwritten names the file that could not be written, in place of the temporary one of which the
// system speaks, and what to do on a full disk.
func Unwritten(path string, err error) error {
	var of *fs.PathError
	var link *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s: %w: make room there, or name a file on another disk", path, cause(err))
	case errors.As(err, &of), errors.As(err, &link):
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	return err
}

// cause is the system's error, without a path.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
