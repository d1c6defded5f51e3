package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// NoteReads notes, for [Dataset.HeldLanes], that this node has the lanes of some of the ranks:
// what [Dataset.Reads] lists of them is in its cache. It does nothing without Options.LaneDir, for
// a mixture, and in file order.
func (d *Dataset) NoteReads(ranks []int, worldSize int, o StreamOptions) error {
	o = o.withDefaults(d)
	o.LocalWorldSize = len(ranks)
	start, r, err := d.started(worldSize, o)
	if err != nil {
		return err
	}
	for _, rank := range ranks {
		if err := r.note(d.notes, shuffle.Worker{Rank: rank, WorldSize: worldSize}, start.GlobalBatch, o); err != nil {
			return err
		}
	}
	return nil
}

// HeldLanes are the line lanes of a state's order that the last run on this node has read, where
// Options.LaneDir kept a note of them, as shuffle.NodeLanes has them. It is nil if nothing is
// known.
func (d *Dataset) HeldLanes(state shuffle.State) []byte { return d.notes.Held(state) }
