package main

import "golang.org/x/sys/unix"

// peakRSS is the most memory that the process had resident, in bytes; 0 when the system does not
// tell.
func peakRSS() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss
}
