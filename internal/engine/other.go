//go:build !linux

package engine

import (
	"errors"
	"os"
)

// onDeath watches nothing. The end of the socket shows the death.
func onDeath(int, func()) (stop func()) { return func() {} }

// shareFile returns a file of n bytes that has no name any more.
func shareFile(n int) (*os.File, error) {
	f, err := os.CreateTemp("", "shardfeed-ring-*")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Remove(f.Name()), f.Truncate(int64(n))); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sealFile does nothing: both sides belong to one user.
func sealFile(*os.File) error { return nil }

// bringIn gives n bytes of the file from at on their place on the disk, so that a write to the
// mapping finds it.
func bringIn(f *os.File, mapped []byte, at, n int) error {
	zeros := make([]byte, min(n, 64<<10))
	for n > 0 {
		k, err := f.WriteAt(zeros[:min(n, len(zeros))], int64(at))
		if err != nil {
			return err
		}
		at, n = at+k, n-k
	}
	return nil
}

func adviseHuge([]byte) {}
