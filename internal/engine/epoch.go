package engine

import "github.com/shardfeed/shardfeed/shuffle"

// tail returns what happens to rows that fill no step: what the options say, else the loader's
// default.
func (s *session) tail(state *shuffle.State, worldSize int) shuffle.Tail {
	switch tail := s.dataset.data.Loader.Tail; {
	case tail != "":
		return tail
	case state != nil && state.Params != nil && state.Params.Tail == shuffle.Carry:
		return shuffle.Carry
	case worldSize <= 1:
		return shuffle.Short
	}
	return shuffle.Pad
}

// epochOf returns the epoch whose steps an iteration from a state on makes, the position of the
// first step, and their number. Under shuffle.Carry it is the next epoch when no step of the
// state's own epoch is left.
func epochOf(state shuffle.State, steps shuffle.Steps) (epoch uint64, from, count int64) {
	epoch, from = state.Epoch, state.Position
	for count = steps.Count(from); count == 0; count = steps.Count(from) {
		epoch, from = epoch+1, steps.Next(from)
	}
	return epoch, from, count
}

// afterEpoch returns the state that follows an iteration from a state on.
func afterEpoch(state shuffle.State, steps shuffle.Steps) shuffle.State {
	epoch, from, _ := epochOf(state, steps)
	state.Epoch, state.Position = epoch+1, steps.Next(from)
	if state.Position < 0 { // rows that the epoch has left to the next stay with it in a state
		state.Epoch, state.Position = epoch, steps.Rows+state.Position
	}
	return state
}
