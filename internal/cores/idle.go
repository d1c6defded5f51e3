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

// Read is how many processors were idle, on the mean, since the last Read. ok is false at the
// first, where the system does not tell, and where the process may use only some processors, of
// which it does not tell either.
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

// idleTime is how long the machine's processors have been idle, added up, and how many there are; 0
// where there is no /proc/stat.
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
