package cores

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// An IdleMeter measures how many processors of the machine had nothing to do. The zero value works.
// It is not safe for concurrent use.
type IdleMeter struct {
	at   time.Time
	idle time.Duration
}

// Read returns the mean number of processors that were idle since the last Read. ok is false at the
// first call, on systems without this figure, and if the process may use only some processors,
// which have no figure of their own.
func (m *IdleMeter) Read() (idle float64, ok bool) {
	total, processors := idleTime()
	now := time.Now()
	ok = !m.at.IsZero() && processors > 0 && processors <= Number() && now.After(m.at)
	if ok {
		idle = float64(total-m.idle) / float64(now.Sub(m.at))
	}
	m.at, m.idle = now, total
	return max(0, idle), ok
}

// userHz is the unit of times in /proc/stat; see proc(5).
const userHz = 100

// idleTime returns the total idle time of the machine's processors, and their number; 0 without
// /proc/stat.
func idleTime() (idle time.Duration, processors int) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		switch {
		case len(fields) < 6 || !bytes.HasPrefix(fields[0], []byte("cpu")):
		case len(fields[0]) == 3:
			ticks, _ := strconv.ParseInt(string(fields[4]), 10, 64)
			idle = time.Duration(ticks) * time.Second / userHz
		default:
			processors++
		}
	}
	return idle, processors
}
