package engine

import (
	"reflect"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shuffle"
)

// formingOf returns the iteration that a JOIN takes part in, or nil if it starts one. Replicas are
// in separate processes, which share no name for their iterations: the n-th of one is the n-th of
// the others. The mutex is held.
func (s *session) formingOf(j wire.Join) (it *iteration) {
	if j.ReplicaCount() == 1 {
		return s.forming[j.Iteration]
	}
	for _, other := range s.forming {
		if len(other.names) != j.ReplicaCount() || other.names[j.Replica] != "" && other.names[j.Replica] != j.Iteration {
			continue
		}
		if it == nil || other.number < it.number {
			it = other
		}
	}
	return it
}

// A request is the start that a trainer wants for an iteration, as far as it was not used yet.
type request struct {
	state  *shuffle.State
	epoch  int64  // -1: not said
	serial string // of the epoch that EPOCH set for the iteration, maybe another replica's
}

// requested returns what a JOIN asks for. The mutex is held.
func (s *session) requested(j wire.Join) request {
	r := request{epoch: -1}
	if j.State != nil && !s.used[j.StateSerial] {
		r.state = j.State
	}
	if epoch, told := s.told(j); told {
		r.epoch = epoch
	}
	return r
}

// agree checks that a replica wants the same start as the first participant of its iteration. The
// mutex is held.
func (s *session) agree(it *iteration, j wire.Join) error {
	if it.names[j.Replica] != "" {
		return nil // a torch worker, whose state is the replica's first one's
	}
	r := s.requested(j)
	if j.Epoch != nil && j.EpochSerial == it.asked.serial && j.EpochSerial != "" {
		r.epoch = *j.Epoch // used for all replicas
	}
	if r.epoch != it.asked.epoch || !reflect.DeepEqual(r.state, it.asked.state) {
		return wire.NewFailure(wire.KindRanks, "replicas %d and %d of rank %d do not begin at the same place: one has loaded another state, or set another epoch",
			it.join.Replica, j.Replica, s.rank).With("give all replicas the same state and the same epoch")
	}
	return nil
}

// asOf sets the session to the position that a replica knows, until the returned function is
// called: before an iteration that others of its replicas have joined, and it has not. The mutex is
// held.
func (s *session) asOf(j wire.Join) (restore func()) {
	next := s.next
	restore = func() { s.next = next }
	if j.ReplicaCount() > 1 {
		if it := s.formingOf(j); it != nil && it.names[j.Replica] == "" {
			s.next = it.before
		}
	}
	return restore
}
