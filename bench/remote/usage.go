package main

import "golang.org/x/sys/unix"

// cpu is the processor time that the process has taken, in seconds: "user" or "system".
func cpu(kind string) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	t := u.Utime
	if kind == "system" {
		t = u.Stime
	}
	return float64(t.Sec) + float64(t.Usec)/1e6
}
