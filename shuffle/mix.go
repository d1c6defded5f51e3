package shuffle

import "math/bits"

// mix is a ratio over the lanes of a plan: lanes take the same shares, each at phases of its own,
// so that all lanes together keep the ratio at every position.
type mix struct {
	*Ratio
	lanes int
	perms [][]uint32 // by level: perm(L) of the generator "mix"
}

// over so many lanes.
func (r *Ratio) over(lanes int, seed uint64) *mix {
	m := &mix{Ratio: r, lanes: lanes}
	for j := range r.levels {
		g := newRNG(domMix, seed, uint64(j))
		m.perms = append(m.perms, permutation(&g, nil, lanes))
	}
	return m
}

// lane at a slot.
func (m *mix) lane(slot int) laneMix {
	l := laneMix{levels: m.levels, phases: make([]uint64, len(m.levels))}
	for j, v := range m.levels {
		l.phases[j] = v.rest * uint64(m.perms[j][slot]) / uint64(m.lanes)
	}
	return l
}

// laneMix says of which item each sample of a lane is.
type laneMix struct {
	levels []level
	phases []uint64 // by level; nil is 0
}

func (l laneMix) phase(j int) uint64 {
	if l.phases == nil {
		return 0
	}
	return l.phases[j]
}

// counts fills dst, grown to so many items as needed, with how many of the lane's first n samples
// each item has.
func (l laneMix) counts(n int64, dst []int64, items int) []int64 {
	if cap(dst) < items {
		dst = make([]int64, items)
	}
	dst = dst[:items]
	clear(dst)
	k := uint64(n)
	for j, v := range l.levels {
		next := mulAddDiv(k, v.rest-v.weight, l.phase(j), v.rest)
		dst[v.item], k = int64(k-next), next
	}
	return dst
}

// least is the smallest n of which an item of some weight has more than a of the lane's first n
// samples, at most 2^63-1. It undoes the floors, level by level.
func (l laneMix) least(item int, a int64) int64 {
	j := 0
	for l.levels[j].item != item {
		j++
	}
	v := l.levels[j]
	n := capped(mulAddDiv(uint64(a), v.rest, l.phase(j), v.weight) + 1) // n*weight > a*rest + phase
	for j--; j >= 0; j-- {
		v := l.levels[j]
		deeper := v.rest - v.weight
		// The ceiling of (n*rest - phase) / deeper.
		n = capped(mulAddDiv(n-1, v.rest, v.rest-l.phase(j)+deeper-1, deeper))
	}
	return int64(n)
}

func capped(n uint64) uint64 { return min(n, 1<<63-1) }

// mulAddDiv is floor((a*b + c) / d) for d > 0, capped at 2^63-1.
func mulAddDiv(a, b, c, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c, 0)
	hi += carry
	if hi >= d {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, d)
	return capped(q)
}

// mixWalk tells the items of a lane's samples one after the other, by additions alone.
type mixWalk []mixStep

// A mixStep is a level on the way: of each rest arrivals step are passed on.
type mixStep struct {
	acc, step, rest uint64
	item            int
}

// walk from sample n on.
func (l laneMix) walk(n int64) mixWalk {
	w := make(mixWalk, len(l.levels))
	k := uint64(n)
	for j, v := range l.levels {
		next := mulAddDiv(k, v.rest-v.weight, l.phase(j), v.rest)
		acc := k*(v.rest-v.weight) + l.phase(j) - next*v.rest // under rest: what wraps around cancels out
		w[j] = mixStep{acc: acc, step: v.rest - v.weight, rest: v.rest, item: v.item}
		k = next
	}
	return w
}

// next is the item of the next sample.
func (w mixWalk) next() int {
	for j := range w { // the last level passes nothing on
		v := &w[j]
		v.acc += v.step
		if v.acc < v.rest {
			return v.item
		}
		v.acc -= v.rest
	}
	return -1
}
