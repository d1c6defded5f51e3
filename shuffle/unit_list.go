package shuffle

import (
	"iter"
	"math"
	"sort"
)

// Units are the units of a manifest, by number, in the order of its groups. It is immutable. Most
// groups are one unit, which is computed from the group: only groups that are cut or empty are
// stored.
type Units struct {
	list   []Unit  // the units, if they were given as a list; else nil
	groups []Group // of the manifest
	odd    []oddGroup
	edges  []int64 // inner edges of all odd groups
	n      int
	sizes  sizes // of all, unless they are listed
}

// An oddGroup has no unit or more than one.
type oddGroup struct {
	group uint32
	first uint32 // number of its first unit, or of the next group's
	edges uint32 // its first edge in Units.edges, and its units beyond the first
}

// ListUnits makes Units of a list, which it keeps and which must not change afterwards.
func ListUnits(list []Unit) Units { return Units{list: list, n: len(list)} }

// Len is their number.
func (u *Units) Len() int { return u.n }

// Largest is the rows of the largest unit.
func (u *Units) Largest() int64 {
	if u.list == nil {
		return u.sizes.largest
	}
	most := int64(0)
	for _, one := range u.list {
		most = max(most, one.Rows())
	}
	return most
}

// MostSamples returns the samples of the unit that has the most.
func (u *Units) MostSamples() int64 { return measure(*u).largest }

// At is unit i.
func (u *Units) At(i int) Unit {
	if u.list != nil {
		return u.list[i]
	}
	o := sort.Search(len(u.odd), func(o int) bool { return int(u.odd[o].first) > i }) - 1
	if o < 0 {
		return u.whole(i)
	}
	odd, edges := u.odd[o], u.edgesOf(o)
	piece := i - int(odd.first)
	if rows := u.groups[odd.group].Rows; rows == 0 {
		return u.whole(int(odd.group) + 1 + piece)
	} else if piece <= len(edges) {
		return newUnit(int(odd.group), edges, piece, rows)
	}
	return u.whole(int(odd.group) + piece - len(edges))
}

func (u *Units) edgesOf(o int) []int64 {
	if o+1 == len(u.odd) {
		return u.edges[u.odd[o].edges:]
	}
	return u.edges[u.odd[o].edges:u.odd[o+1].edges]
}

func (u *Units) whole(group int) Unit {
	rows := u.groups[group].Rows
	return Unit{Group: group, Hi: rows, Samples: rows}
}

func newUnit(group int, edges []int64, piece int, rows int64) Unit {
	lo, hi := int64(0), rows
	if piece > 0 {
		lo = edges[piece-1]
	}
	if piece < len(edges) {
		hi = edges[piece]
	}
	return Unit{Group: group, Lo: lo, Hi: hi, Samples: hi - lo}
}

// All yields the units and their numbers, in order.
func (u *Units) All() iter.Seq2[int, Unit] {
	return func(yield func(int, Unit) bool) {
		for i, one := range u.list {
			if !yield(i, one) {
				return
			}
		}
		if u.list == nil {
			u.walk(yield)
		}
	}
}

// walk is All for computed units; it walks the groups instead of searching.
func (u *Units) walk(yield func(int, Unit) bool) {
	i, o := 0, 0
	for g := range u.groups {
		if o == len(u.odd) || int(u.odd[o].group) != g {
			if !yield(i, u.whole(g)) {
				return
			}
			i++
			continue
		}
		rows, edges := u.groups[g].Rows, u.edgesOf(o)
		for piece := 0; piece <= len(edges) && rows > 0; piece++ {
			if !yield(i, newUnit(g, edges, piece, rows)) {
				return
			}
			i++
		}
		o++
	}
}

// List returns the units as a slice that the caller may change.
func (u *Units) List() []Unit {
	all := make([]Unit, 0, u.n)
	for _, one := range u.All() {
		all = append(all, one)
	}
	return all
}

// Finer cuts each unit into the given number of pieces of equal rows. It is for the order without
// shuffle, which does not depend on units. The samples of a piece are its rows.
func (u *Units) Finer(pieces func(Unit) int64) (Units, error) {
	finer, group := Units{groups: u.groups}, 0
	var edges []int64
	add := func() bool { return finer.add(group, u.groups[group].Rows, edges) }
	for _, one := range u.All() {
		for group < one.Group {
			if !add() {
				return finer, errManyUnits(group)
			}
			group, edges = group+1, edges[:0]
		}
		if one.Lo > 0 {
			edges = append(edges, one.Lo)
		}
		for _, e := range rowEdges(one.Rows(), pieces(one)) {
			edges = append(edges, one.Lo+e)
		}
	}
	for ; group < len(u.groups); group, edges = group+1, edges[:0] {
		if !add() {
			return finer, errManyUnits(group)
		}
	}
	return finer, nil
}

// add adds the next group, cut at the edges. It returns false if there are too many units.
func (u *Units) add(group int, rows int64, edges []int64) bool {
	units := 1 + len(edges)
	if rows == 0 {
		units, edges = 0, nil
	}
	if units != 1 {
		u.odd = append(u.odd, oddGroup{group: uint32(group), first: uint32(u.n), edges: uint32(len(u.edges))})
		u.edges = append(u.edges, edges...)
	}
	u.n += units
	if units > 0 {
		u.sizes.units, u.sizes.rows, u.sizes.largest = int64(u.n), u.sizes.rows+rows, max(u.sizes.largest, largest(rows, edges))
	}
	return u.n <= math.MaxInt32
}
