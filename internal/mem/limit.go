package mem

import (
	"os"
	"strconv"
)

// unknownMemory is taken for the memory of a machine that does not tell.
const unknownMemory = 8 << 30

// A Machine is the memory that this process may use.
type Machine struct {
	Installed int64 // bytes of the machine; 0 when it does not tell
	Cgroup    int64 // the smallest limit of the process's cgroup and those around it; 0 when there is none
}

// ThisMachine asks the system. What cannot be read is 0.
func ThisMachine() Machine {
	return Machine{Installed: installed(), Cgroup: cgroupLimit(os.DirFS("/"))}
}

// Bytes is the smaller of the two limits.
func (m Machine) Bytes() int64 {
	switch {
	case m.Installed <= 0 && m.Cgroup <= 0:
		return unknownMemory
	case m.Installed <= 0:
		return m.Cgroup
	case m.Cgroup <= 0:
		return m.Installed
	}
	return min(m.Installed, m.Cgroup)
}

// RankLimit is the default memory of one of n ranks on the machine: a quarter of it, divided by n.
func (m Machine) RankLimit(n int) int64 { return m.Bytes() / 4 / int64(max(1, n)) }

// SharedLimit is the most that all streams on the machine may reserve: 80 % of it.
func (m Machine) SharedLimit() int64 { return m.Bytes() / 5 * 4 }

// DefaultLimit is the memory of a rank whose user gave none, on this machine with the ranks that
// LOCAL_WORLD_SIZE says.
func DefaultLimit() int64 { return ThisMachine().RankLimit(LocalWorldSize()) }

// LocalWorldSize is the number of ranks on this machine as torchrun tells it, or 1.
func LocalWorldSize() int {
	n, err := strconv.Atoi(os.Getenv("LOCAL_WORLD_SIZE"))
	if err != nil || n < 1 {
		return 1
	}
	return n
}
