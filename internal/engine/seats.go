package engine

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shuffle"
)

// seats answers what an ASK wants to know of lanes.
func (s *session) seats(a wire.Ask, state shuffle.State, r *wire.Session) (err error) {
	if a.Held {
		r.Held = s.dataset.data.Dataset.HeldLanes(state)
	}
	if a.Nodes == nil {
		return nil
	}
	if state.Params == nil {
		return wire.ValueError("seats are of the lanes of one shuffled data set, not of file order or of sources")
	}
	nodes := make([]shuffle.NodeLanes, len(a.Nodes))
	for k, n := range a.Nodes {
		nodes[k] = shuffle.NodeLanes{Ranks: n.Ranks, Held: n.Held}
	}
	if r.Seats, err = shuffle.SeatLanes(state.Params.Lanes, a.WorldSize, nodes); err != nil {
		return fmt.Errorf("seats: %w", err)
	}
	return nil
}
