package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// A sampled is the shards of a source that its order depends on; see [shuffle.Manifest.Sampled].
type sampled struct {
	shards      []bool // nil: all
	rows, bytes int64  // of these shards, all columns
}

// newSampled finds the shards that have samples in units.
func (d *source) newSampled(units shuffle.Units) (s sampled) {
	s.shards = d.data.Sampled(units)
	for _, g := range d.manifest.Groups() {
		if s.has(int(g.Shard)) {
			s.rows, s.bytes = s.rows+g.Rows, s.bytes+g.Bytes
		}
	}
	return s
}

func (s sampled) has(shard int) bool { return s.shards == nil || s.shards[shard] }

// sampledData is the list of shards that the order depends on.
func (d *source) sampledData() *shuffle.Manifest { return d.data.Only(d.sampled.shards) }
