package process

import "golang.org/x/sys/unix"

// PeakRSS returns the peak resident memory of the process in bytes, or 0 if unknown.
func PeakRSS() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss
}
