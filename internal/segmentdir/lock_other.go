//go:build !unix

package segmentdir

import (
	"errors"
	"os"
)

// lock is not supported here: only age decides.
func lock(*os.File) error { return errors.ErrUnsupported }
