package wait

import (
	"time"

	"golang.org/x/sys/unix"
)

// began is one instant on the clocks of Go and of the system.
var began = func() (b struct {
	at     time.Time
	system int64
},
) {
	var t unix.Timespec
	_ = unix.ClockGettime(clock, &t) // it has no error on the systems that there are
	b.at, b.system = time.Now(), t.Nano()
	return b
}()

// Now is the time in nanoseconds on the clock of Python's time.monotonic_ns, which all processes of
// a machine share.
func Now() int64 { return At(time.Now()) }

// At is a time of time.Now on the same clock.
func At(t time.Time) int64 { return began.system + int64(t.Sub(began.at)) }
