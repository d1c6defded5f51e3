package wait

import (
	"time"

	"golang.org/x/sys/unix"
)

// began is one instant on the clocks of Go and of the system. If the process was interrupted
// between the two, they are read again.
var began = func() (b struct {
	at     time.Time
	system int64
},
) {
	var t unix.Timespec
	for range 100 {
		b.at = time.Now()
		_ = unix.ClockGettime(clock, &t) // it has no error on the systems that there are
		if b.system = t.Nano(); time.Since(b.at) < time.Microsecond {
			break
		}
	}
	return b
}()

// Now is the time in nanoseconds on the clock of Python's time.monotonic_ns, which all processes of
// a machine share. It reads one clock, where time.Now reads two.
func Now() int64 { return began.system + int64(time.Since(began.at)) }
