package shardtest

import (
	"io"
	"testing"
)

// Closing closes a store at the end of the test, and returns it.
func Closing[S io.Closer](t testing.TB, s S) S {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Environ looks up variables in a map, in place of the environment.
func Environ(all map[string]string) func(string) string {
	return func(name string) string { return all[name] }
}

// ReadFile returns the first size bytes of the file f of a [Fixture], which it finds both with a look
// and in a list.
func ReadFile(t testing.TB, f Fixture, size int) ([]byte, error) {
	t.Helper()
	found, err := f.Store().List(t.Context(), f.Address("{f,*}"))
	if err != nil {
		return nil, err
	}
	o, err := f.Store().Open(t.Context(), found[0])
	if err != nil {
		return nil, err
	}
	p := make([]byte, size)
	return p, o.ReadAt(t.Context(), p, 0)
}
