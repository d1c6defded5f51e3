package fakecuda

import (
	"bytes"
	"encoding/json"
	"testing"
	"unsafe"
)

// A Fake is the library in this process, and what a test says to it. There is one in a process for
// each path, so tests that use it do not run in parallel.
type Fake struct {
	Library string // path, for cuda.Options
	t       testing.TB
	handle  uintptr
}

// Open compiles and loads the library, empty and with one device. When the test ends it fails if a
// rule was broken or something was not given back; open the fake before what uses it.
func Open(t testing.TB) *Fake {
	t.Helper()
	return OpenLibrary(t, Build(t))
}

// OpenLibrary is Open for a library that was built before.
func OpenLibrary(t testing.TB, path string) *Fake {
	t.Helper()
	handle, err := openLibrary(path)
	if err != nil {
		t.Fatal("fakecuda:", err)
	}
	f := &Fake{Library: path, t: t, handle: handle}
	f.Reset()
	t.Cleanup(func() {
		t.Helper()
		counts := f.Counts()
		for _, v := range counts.Violations {
			t.Error("fakecuda: violation:", v)
		}
		for _, leak := range counts.Leaks() {
			t.Error("fakecuda: not given back:", leak)
		}
		f.Reset()
	})
	return f
}

// Reset drops everything that is left and starts again, as configured by the environment; a driver
// that was loaded before is not initialised.
func (f *Fake) Reset() { f.call("fakecuda_reset") }

// Devices sets how many there are, at most 8.
func (f *Fake) Devices(n int) { f.call("fakecuda_devices", uintptr(n)) }

// Memory sets the bytes of each device; 1 GiB at first.
func (f *Fake) Memory(bytes int64) { f.call("fakecuda_memory", uintptr(bytes)) }

// Delay sets when copies run; 100 µs late and as fast as the host at first.
func (f *Fake) Delay(d Delay) {
	f.call("fakecuda_delay", uintptr(d.Latency.Microseconds()), uintptr(d.PerMiB.Microseconds()))
}

// Hold delays copies on streams until Release.
func (f *Fake) Hold() { f.call("fakecuda_hold", 1) }

// Release starts the copies that Hold delayed.
func (f *Fake) Release() { f.call("fakecuda_hold", 0) }

// Fault makes the nth call of a function from now on return code and do nothing; with nth 0 each.
// The op "copy" is a copy on a stream, when it runs: its failure sticks to the context.
func (f *Fake) Fault(op string, nth, code int) {
	name := append([]byte(op), 0)
	f.call("fakecuda_fault", uintptr(unsafe.Pointer(&name[0])), uintptr(nth), uintptr(code))
}

// ForgetFaults takes back all faults; what they did stays.
func (f *Fake) ForgetFaults() { f.call("fakecuda_forget_faults") }

// Counts returns the driver's resources and actions since the last Reset.
func (f *Fake) Counts() Counts {
	f.t.Helper()
	var c Counts
	f.read("fakecuda_report", &c)
	return c
}

// Log is the last calls, oldest first.
func (f *Fake) Log() []Call {
	f.t.Helper()
	var log []Call
	f.read("fakecuda_log", &log)
	return log
}

// Forgive returns the violations and the number of things dropped with their context until now, and
// takes them back: a test that broke a rule on purpose has seen it.
func (f *Fake) Forgive() (violations []string, dropped int) {
	f.t.Helper()
	c := f.Counts()
	f.call("fakecuda_forgive")
	return c.Violations, c.Dropped
}

// read decodes what a function of the library writes into a buffer. The log grows while it is asked
// for its length.
func (f *Fake) read(name string, into any) {
	f.t.Helper()
	for room := 1 << 16; ; room *= 2 {
		text := make([]byte, room)
		n := f.call(name, uintptr(unsafe.Pointer(&text[0])), uintptr(room))
		if int(n) >= room {
			continue
		}
		if err := json.NewDecoder(bytes.NewReader(text[:n])).Decode(into); err != nil {
			f.t.Fatalf("fakecuda: %s: %v", name, err)
		}
		return
	}
}

// Call calls a function of the library as it is, on this thread: for the tests of its rules.
//
//go:uintptrescapes
func (f *Fake) Call(name string, args ...uintptr) int {
	return int(int32(f.call(name, args...)))
}
