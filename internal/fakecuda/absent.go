//go:build !linux || !(amd64 || arm64) || nocuda

package fakecuda

import "testing"

// A Fake is the library in this process; this build has none, as it has no driver to stand in for.
type Fake struct {
	Library string // path, for cuda.Options
}

// Open skips the test: without gpu/cuda nothing would use the library.
func Open(t testing.TB) *Fake {
	t.Helper()
	return OpenLibrary(t, "")
}

// OpenLibrary skips the test too.
func OpenLibrary(t testing.TB, _ string) *Fake {
	t.Helper()
	t.Skip("SKIPPED: the fake CUDA driver is for builds for Linux on amd64 and arm64, without the tag nocuda")
	return nil
}

// Reset drops everything that is left and starts again.
func (f *Fake) Reset() {}

// Devices sets how many there are.
func (f *Fake) Devices(int) {}

// Memory sets the bytes of each device.
func (f *Fake) Memory(int64) {}

// Delay sets when copies run.
func (f *Fake) Delay(Delay) {}

// Hold keeps copies on streams from beginning.
func (f *Fake) Hold() {}

// Release lets them begin.
func (f *Fake) Release() {}

// Fault makes the nth call of a function return code.
func (f *Fake) Fault(string, int, int) {}

// ForgetFaults takes back all faults.
func (f *Fake) ForgetFaults() {}

// Counts is what the driver holds and has done.
func (f *Fake) Counts() Counts { return Counts{} }

// Log is the last calls.
func (f *Fake) Log() []Call { return nil }

// Forgive returns the violations and takes them back.
func (f *Fake) Forgive() (violations []string, dropped int) { return nil, 0 }

// Call calls a function of the library as it is.
func (f *Fake) Call(string, ...uintptr) int { return 0 }
