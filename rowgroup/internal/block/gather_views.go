package block

import (
	"unsafe"
)

// Views appends the byte strings of a Binary column to dst, without copying them from the blocks:
// for a reader that processes them while the blocks are retained. path leads to a member of a
// Struct column, by the places of the members. A null is nil; an empty byte string is not.
func (g *Gatherer) Views(dst [][]byte, col int, path []int, blocks []*Block, picks []Pick) [][]byte {
	vecs := g.vecs.push(len(blocks))
	defer g.vecs.pop()
	if vectorsOf(vecs, blocks, col) {
		values := g.picks.push(len(picks))
		defer g.picks.pop()
		picks = place(values, vecs, picks)
	}
	for _, p := range picks {
		dst = append(dst, vecs[p>>32].bytesAt(path, int(uint32(p))))
	}
	return dst
}

// bytesAt is value i of a Binary vector at a path of members; nil when it is null, or a struct that
// has it.
func (v *Vector) bytesAt(path []int, i int) []byte {
	for {
		if v.Nulls > 0 && v.IsNull(i) {
			return nil
		}
		if len(path) == 0 {
			p, n := v.Value(i)
			return unsafe.Slice((*byte)(p), n)
		}
		v, path = v.Children[path[0]], path[1:]
	}
}

// ListViews is Views of a column of lists: it appends the byte strings of all lists, and to edges
// and null where each list starts, where the last one ends, and which are null. path leads from an
// item to the byte string. A null list has no byte strings, or size nils where all lists have that
// size.
func (g *Gatherer) ListViews(dst [][]byte, edges []int32, null []bool, col, size int, path []int, blocks []*Block, picks []Pick) ([][]byte, []int32, []bool) {
	vecs := g.vecs.push(len(blocks))
	defer g.vecs.pop()
	if vectorsOf(vecs, blocks, col) {
		values := g.picks.push(len(picks))
		defer g.picks.pop()
		picks = place(values, vecs, picks)
	}
	edges = append(edges, int32(len(dst)))
	for _, p := range picks {
		v, row := vecs[p>>32], int(uint32(p))
		isNull := v.Nulls > 0 && v.IsNull(row)
		if isNull {
			dst = append(dst, make([][]byte, size)...)
		} else {
			lo, hi := v.ListRange(row)
			for i := lo; i < hi; i++ {
				dst = append(dst, v.Children[0].bytesAt(path, int(i)))
			}
		}
		edges, null = append(edges, int32(len(dst))), append(null, isNull)
	}
	return dst, edges, null
}
