package process

import (
	"bytes"
	"os"
	"strconv"
)

// PeakRSS returns the peak resident memory of the process in bytes, or 0 if unknown. (Getrusage
// would include the parent's peak before it started this program.)
func PeakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return parseHighWater(status)
}

func parseHighWater(status []byte) int64 {
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte(" kB"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
