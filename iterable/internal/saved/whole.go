package saved

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteWhole writes a file under another name first, so that a reader never sees half of it.
func WriteWhole(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".manifest-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
