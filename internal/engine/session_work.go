package engine

import (
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// snapshot describes the session.
func (s *session) snapshot() SessionWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.figures.sum
	w := SessionWork{
		ID: s.id, Addresses: s.dataset.addresses(), Trainers: []int{}, Rank: s.rank, Batches: f.Batches, Rows: f.Rows, Bytes: f.Bytes,
		Wait: f.Wait.Clone(), FirstBatchSeconds: f.FirstBatch.Seconds(),
	}
	if s.latest != nil {
		s.latest.describe(&w)
	}
	if s.now != nil && w.Iterating {
		w.Wait.Now = &wait.Waiting{Cause: s.now.Cause, Seconds: s.now.Seconds + time.Duration(wait.Now()-s.reported.Load()).Seconds()}
	}
	return w
}

// describe sets what an iteration knows of its session. The session's mutex is held.
func (it *iteration) describe(w *SessionWork) {
	for _, p := range it.participants {
		w.Job = p.client.hello.Job
		w.Trainers = append(w.Trainers, p.client.hello.PID)
	}
	slices.Sort(w.Trainers)
	w.WorldSize, w.Iterating, w.Epoch, w.Steps = it.join.WorldSize, !it.over, it.epoch, it.single.Count(0)
	if w.Step = w.Steps; it.now.Epoch <= it.epoch {
		w.Step = (it.now.Position + it.single.GlobalBatch - 1) / it.single.GlobalBatch
	}
}
