package rowgroup

import (
	"encoding/hex"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
)

// tierOf is where the images of shard s are; nil when nothing of it is kept.
func (m *Reader) tierOf(s int) *image.Shard {
	return m.tier.Of(s, func() *image.Shard {
		r, err := footer.ParseRecord(m.files[s].record)
		if err != nil || m.shards[s].VersionHere() == "" {
			return nil
		}
		form := imageForm(m.columnsOf(s), m.rulesOf(s), m.made, m.replace)
		return m.tier.Open(m.shards[s], s, hex.EncodeToString(form[:]), m.tierPlaces(s, &r))
	})
}

// tierPlaces are where the images of a shard's row groups begin. A chunk has room for two words and
// two times the bytes of each value, which nearly all decoded columns need less than; what nothing
// is written to takes no disk.
func (m *Reader) tierPlaces(s int, r *footer.Record) []int64 {
	leaves := m.bound[m.files[s].schema].leaves
	places := make([]int64, r.Groups+1)
	for g := range r.Groups {
		room := int64(image.LeastPlace)
		for _, n := range leaves {
			k := r.Chunk(n.Leaf.Index, g)
			room = mem.Add(room, 16*max(0, r.Values.At(k))+2*max(0, r.Uncompressed.At(k))+image.Alignment)
			if m.made != nil {
				room = mem.Add(room, int64(len(m.made.Lists))*(16*max(0, r.Values.At(k))+4*max(0, r.Uncompressed.At(k))+image.Alignment))
			}
		}
		places[g+1] = mem.Add(places[g], (room+image.Alignment-1)/image.Alignment*image.Alignment)
	}
	return places
}
