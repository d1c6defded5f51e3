package iterable

import (
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// KeptSpace is what it takes and saves to keep a data set decoded, and what of it is there.
type KeptSpace struct {
	Limit      int64 // bytes that may be kept
	Bytes      int64 // of all columns that can be, as the metadata foretell them
	Groups     int   // row groups
	Held       int64 // bytes that are there
	HeldGroups int

	// Decode is the time of one processor that decoding takes in an epoch, as it was measured when
	// the row groups that are there were kept; 0 where none are.
	Decode time.Duration
}

// KeptSpace looks at what is kept decoded, without reading it; ok is false where nothing is to be.
func (d *Dataset) KeptSpace() (k KeptSpace, ok bool) {
	if d.options.Tier == nil {
		return k, false
	}
	k.Limit = d.options.TierLimit
	var rows, heldRows int64
	var took time.Duration
	for _, s := range d.sources {
		for g, group := range s.manifest.Groups() {
			if group.Rows == 0 || len(s.manifest.Keepable(g)) == 0 {
				continue
			}
			narrow, wide := s.manifest.DecodedBytes(g)
			k.Groups++
			k.Bytes += narrow + wide
			rows += group.Rows
			if i, ok := s.manifest.HasImage(g); ok {
				k.HeldGroups++
				k.Held += i.Bytes
				heldRows += i.Rows
				took += i.Decode
			}
		}
	}
	k.Decode = time.Duration(mem.MulDiv(int64(took), rows, max(1, heldRows)))
	return k, true
}
