package engine

import (
	"context"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
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
