package keep

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// gains measure how much time keeping each column saves for a byte of its image: the time to decode
// it, and to lay it in an order, which images do not need. Seneca (FAST '26) divides a cache
// between encoded, decoded and augmented data by the same measure.
type gains struct {
	limit int64 // bytes of images; 0 means any

	mu        sync.Mutex
	columnsOf map[*rowgroup.Reader][]gain
}

// A gain is the sum over the row groups whose image of a column was made.
type gain struct {
	groups       int
	rows, bytes  int64
	decode, copy time.Duration
}

// tryGroups is the number of row groups that are kept whole before columns are chosen.
const tryGroups = 2

// perByte returns the nanoseconds that a byte saves. Blocks in images save the copy too; other
// blocks are copied from the image.
func (g gain) perByte(inImages bool) float64 {
	saved := g.decode - g.copy
	if inImages {
		saved = g.decode + g.copy
	}
	return float64(saved) / float64(max(1, g.bytes))
}

// learn adds measurements.
func (a *gains) learn(m *rowgroup.Reader, i rowgroup.Image) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range i.Columns {
		g := &a.ofLocked(m)[c.Column]
		g.groups++
		g.rows += i.Rows
		g.bytes += c.Bytes
		g.decode += c.Decode
		g.copy += c.Copy
	}
}

func (a *gains) ofLocked(m *rowgroup.Reader) []gain {
	if a.columnsOf == nil {
		a.columnsOf = map[*rowgroup.Reader][]gain{}
	}
	if a.columnsOf[m] == nil {
		a.columnsOf[m] = make([]gain, m.KeepColumns())
	}
	return a.columnsOf[m]
}

// columns returns the columns of a row group that are worth keeping, by falling gain per byte, up
// to the limit.
func (a *gains) columns(m *rowgroup.Reader, group int, inImages bool) []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.ofLocked(m)
	chosen := slices.DeleteFunc(m.Keepable(group), func(i int) bool { return all[i].groups >= tryGroups && all[i].perByte(inImages) <= 0 })
	slices.SortStableFunc(chosen, func(i, j int) int { return cmp.Compare(all[j].perByte(inImages), all[i].perByte(inImages)) })
	if a.limit == 0 {
		return chosen
	}
	left := a.limit
	for k, col := range chosen {
		g := all[col]
		if g.groups < tryGroups {
			continue
		}
		if left -= mem.MulDiv(g.bytes, m.NumRows(), max(1, g.rows)); left < 0 {
			return chosen[:k]
		}
	}
	return chosen
}
