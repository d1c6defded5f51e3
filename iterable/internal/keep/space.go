package keep

import (
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Space compares the bytes of a decoded data set with what its tier holds.
type Space struct {
	Limit      int64 // bytes that may be kept
	Bytes      int64 // of all columns that can be kept, as the metadata predict
	Groups     int   // row groups
	Held       int64 // bytes in the tier
	HeldGroups int

	// Decode is the processor time of decoding an epoch, as measured when row groups were kept; 0
	// if the tier is empty.
	Decode time.Duration
}

// Space sums up what is kept decoded of manifests, without reading it; ok is false without a tier.
func (k *Keeping) Space(manifests []*rowgroup.Reader, limit int64) (s Space, ok bool) {
	if !k.kept {
		return s, false
	}
	s.Limit = limit
	var rows, heldRows int64
	var took time.Duration
	for _, m := range manifests {
		for g, group := range m.Groups() {
			if group.Rows == 0 || len(m.Keepable(g)) == 0 {
				continue
			}
			s.Groups++
			s.Bytes += m.KeepBytes(g)
			rows += group.Rows
			if i, ok := m.HasImage(g); ok {
				s.HeldGroups++
				s.Held += i.Bytes
				heldRows += i.Rows
				took += i.Decode
			}
		}
	}
	s.Decode = time.Duration(mem.MulDiv(int64(took), rows, max(1, heldRows)))
	return s, true
}
