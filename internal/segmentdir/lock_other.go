//go:build !unix

package segmentdir

import (
	"errors"
	"os"
)

// lock is not known here: age alone decides.
func lock(*os.File) error { return errors.ErrUnsupported }
