package feed

import (
	"errors"
	"os"
	"testing"
)

// What is shared stays as large as it is.
func TestRingSealed(t *testing.T) {
	r := ringOf(t, 2, 4096)
	if err := r.newest.file.Truncate(0); !errors.Is(err, os.ErrPermission) {
		t.Errorf("truncated: %v", err)
	}
	if err := r.newest.file.Truncate(1 << 20); !errors.Is(err, os.ErrPermission) {
		t.Errorf("extended: %v", err)
	}
}
