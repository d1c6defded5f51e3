package engine

import (
	"context"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// Survey returns what the engine that listens at path does. Like a check it is not a client. It
// fails as Check does.
func Survey(ctx context.Context, path string) (s Snapshot, err error) {
	_, err = visit(ctx, path, func(conn net.Conn, frames *wire.Reader) error {
		survey, err := wire.AppendMessage(nil, wire.FrameSurvey, struct{}{})
		if err != nil {
			return err
		}
		if _, err := conn.Write(survey); err != nil {
			return err
		}
		return answerOf(frames, wire.FrameSurveyed, &s)
	})
	return s, err
}

// snapshot describes the engine.
func (e *engine) snapshot() Snapshot {
	s := Snapshot{
		Engine: e.process(), Memory: e.memory(), Ranks: e.work.list(), Sessions: []SessionWork{}, Openings: []Opening{}, Caches: []CacheWork{}, Stores: e.stores(),
	}
	if e.Caches != nil {
		s.Caches = append(s.Caches, e.Caches()...)
	}
	sessions, openings := e.opened()
	for _, one := range sessions {
		s.Sessions = append(s.Sessions, one.snapshot())
	}
	slices.SortFunc(s.Sessions, SessionWork.compare)
	s.Openings = append(s.Openings, openings...)
	return s
}

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

// opened returns the sessions of open data sets, and the data sets that are being opened.
func (e *engine) opened() (sessions []*session, openings []Opening) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for d := range e.living {
		for _, g := range d.groups {
			sessions = slices.AppendSeq(sessions, maps.Values(g.sessions))
		}
		if !d.isReady() {
			openings = append(openings, Opening{Addresses: d.addresses(), Seconds: time.Since(d.began).Seconds(), Progress: d.progressLocked()})
		}
	}
	return sessions, openings
}

// stores returns the requests to each place, by all data sets since the engine started.
func (e *engine) stores() []shard.StoreTraffic {
	e.mu.Lock()
	sum := maps.Clone(e.traffic)
	open := slices.Collect(maps.Keys(e.living))
	e.mu.Unlock()
	for _, d := range open {
		d.addTraffic(sum)
	}
	return sum.All()
}
