package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Error returns an error of package os without the name of the system call.
func Error(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s: %w", link.New, link.Err)
	}
	return err
}
