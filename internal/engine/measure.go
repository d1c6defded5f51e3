package engine

import (
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// A measurement is an engine's figures at one time.
type measurement struct {
	at      time.Time
	process Process
	memory  Memory
	stores  []shard.StoreTraffic

	held time.Duration // summed over ranks, in which memory kept streams from reading further ahead

	diskBytes   int64   // that caches read
	diskSeconds float64 // with at least one such read
}

const (
	measureEvery     = 5 * time.Second
	mostMeasurements = 32
)

// measurements are an engine's figures of the last minutes. It is safe for concurrent use.
type measurements struct {
	mu  sync.Mutex
	all []measurement
}

// due reports whether the last measurement is old.
func (m *measurements) due() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all) == 0 || time.Since(m.all[len(m.all)-1].at) >= measureEvery
}

func (m *measurements) add(one measurement) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) == mostMeasurements {
		m.all = append(m.all[:0], m.all[1:]...)
	}
	m.all = append(m.all, one)
}

// before returns the last measurement of that age, or the oldest.
func (m *measurements) before(age time.Duration) (found measurement) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, one := range m.all {
		if i == 0 || time.Since(one.at) >= age {
			found = one
		}
	}
	return found
}
