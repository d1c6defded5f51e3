package engine

import (
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

func (e *engine) process() Process {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // fails for no process of its own
	e.mu.Lock()
	jobs := slices.Sorted(maps.Keys(e.agreed.clients))
	e.mu.Unlock()
	metrics := ""
	if e.Metrics != nil {
		metrics = e.Metrics()
	}
	return Process{
		Metrics: metrics,
		ID:      e.id, Build: e.Build, PID: os.Getpid(), Socket: e.socket, Log: e.Log, Jobs: append([]string{}, jobs...), Started: e.started,
		Seconds: time.Since(e.started).Seconds(), CPUSeconds: float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, Processors: cores.Number(),
	}
}

func (e *engine) memory() Memory {
	m := Memory{Limit: max(0, e.Budget.Limit()), Reserved: e.Budget.Admitted(), Purposes: map[string]MemoryUse{}}
	reserved, used := e.Budget.Purposes()
	for i := range reserved {
		if reserved[i] != 0 || used[i] != 0 {
			m.Purposes[mem.Purpose(i).String()] = MemoryUse{Reserved: reserved[i], Used: used[i]}
		}
	}
	return m
}

// stores returns the requests to each place, by all data sets since the engine started.
func (e *engine) stores() []shard.StoreTraffic {
	e.mu.Lock()
	sum := e.traffic.Clone()
	open := slices.Collect(maps.Keys(e.living))
	e.mu.Unlock()
	for _, d := range open {
		d.addTraffic(sum)
	}
	return sum.All()
}

// measure returns the figures now.
func (e *engine) measure() measurement {
	m := measurement{at: time.Now(), process: e.process(), memory: e.memory(), stores: e.stores()}
	for _, w := range e.work.list() {
		m.held += w.held
	}
	if e.Caches != nil {
		for _, c := range e.Caches() {
			m.diskBytes += c.DiskReadBytes
			m.diskSeconds += c.DiskReadSeconds
		}
	}
	return m
}

// remember keeps the figures of now, if the last ones are old.
func (e *engine) remember() {
	if e.measured.due() {
		e.measured.add(e.measure())
	}
}
