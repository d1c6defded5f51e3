package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// NoteReads notes, for [Dataset.HeldLanes], that this node has the lanes of some of so many ranks:
// what [Dataset.Reads] lists of them is in its cache. It does nothing without Options.LaneDir, for
// a mixture, and in file order.
func (d *Dataset) NoteReads(ranks []int, worldSize int, o StreamOptions) error {
	o = o.withDefaults(d)
	o.LocalWorldSize = len(ranks)
	start, err := d.begin(worldSize, o)
	if err != nil {
		return err
	}
	r, err := d.orderOf(worldSize, o, 0, d.options.Memory)
	if err != nil || r.files != nil || r.mixture != nil {
		return err
	}
	for _, rank := range ranks {
		w := shuffle.Worker{Rank: rank, WorldSize: worldSize}
		v, err := r.plan.View(w)
		if err != nil {
			return err
		}
		d.noteLanes(r.plan, v, w, start.GlobalBatch, o)
	}
	return nil
}
