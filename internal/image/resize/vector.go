package resize

import "slices"

// A vector scales with vector instructions. Rows between the two directions have pixels of 4 bytes.
// It sums the same integers, so its results are the same.
type vector struct {
	wide   bool    // bicubic: weights of 21 bits have two parts
	quads  int     // an output's samples in x, in fours
	first  []int32 // its first sample, in bytes of the source's row
	weight []int16 // in x, as scaleRow wants them
	ring   [][]uint32
	rows   []*uint32 // the rows summed in y
	pairs  []uint32  // their weights
	tail   []byte    // the source's last row, with room behind it
}

// behind is how many bytes scaleRow reads behind the last pixel.
const behind = 4

// begin sizes the memory and lays out the weights. It reports whether the source is wide enough.
func (v *vector) begin(s Source, x, y *axis) bool {
	v.quads, v.wide = (x.taps+3)/4, x.filter == Bicubic
	width := s.Rect.Dx()
	if width < 4*v.quads || len(x.first) == 0 {
		return false
	}
	n := len(x.first)
	v.first = slices.Grow(v.first[:0], n+1)[:n+n%2]
	v.first[len(v.first)-1] = 0
	v.weigh(x, s.Rect.Min.X, width)
	for len(v.ring) < y.taps {
		v.ring = append(v.ring, nil)
	}
	for i := range v.ring {
		v.ring[i] = slices.Grow(v.ring[i][:0], n+7)[:(n+7)&^7]
	}
	return true
}

// weigh lays out the weights in x.
func (v *vector) weigh(x *axis, left, width int) {
	parts := 1
	if v.wide {
		parts = 2
	}
	size := 4 * parts * v.quads * len(v.first)
	v.weight = slices.Grow(v.weight[:0], size)[:size]
	clear(v.weight)
	from := 0
	for i, first := range x.first {
		w := x.weight[from:x.end[i]]
		from = int(x.end[i])
		// Where too few samples follow, zeros come first.
		at := min(int(first)-left, width-4*v.quads)
		v.first[i] = int32(3 * at)
		skip := int(first) - left - at
		for j, each := range w {
			k := skip + j
			to := v.weight[(i/2*v.quads+k/4)*8*parts+i%2*4+k%4:]
			if v.wide {
				to[0], to[8] = int16(int64(each)>>8), int16(each&255)
			} else {
				to[0] = int16(each)
			}
		}
	}
}

// fill scales a row of the source into the ring.
func (v *vector) fill(y int, s Source) {
	stride := 3 * s.Rect.Dx()
	at := (y - s.Rect.Min.Y) * stride
	rgb := s.RGB[at:]
	if len(rgb) < stride+behind {
		v.tail = append(append(v.tail[:0], rgb[:stride]...), make([]byte, behind)...)
		rgb = v.tail
	}
	scale := scaleRow
	if v.wide {
		scale = scaleRowWide
	}
	scale(&v.ring[y%len(v.ring)][0], &rgb[0], &v.first[0], &v.weight[0], len(v.first), v.quads)
}

// sum sums rows from first on into a Row, which has room for a multiple of 8 pixels.
func (v *vector) sum(o Row, first int, w []uint64) {
	v.rows, v.pairs = v.rows[:0], v.pairs[:0]
	for j := 0; j < len(w); j += 2 {
		one := &v.ring[(first+j)%len(v.ring)][0]
		other, u := one, uint64(0)
		if j+1 < len(w) {
			other, u = &v.ring[(first+j+1)%len(v.ring)][0], w[j+1]
		}
		v.rows = append(v.rows, one, other)
		if v.wide {
			v.pairs = append(v.pairs, both(w[j]>>8, u>>8), both(w[j]&255, u&255))
		} else {
			v.pairs = append(v.pairs, both(w[j], u))
		}
	}
	sum := sumRows
	if v.wide {
		sum = sumRowsWide
	}
	sum(&o[0], &v.rows[0], &v.pairs[0], len(o), len(v.rows)/2)
}

// both is two weights of 16 bits in a word.
func both(a, b uint64) uint32 { return uint32(a&0xffff) | uint32(b&0xffff)<<16 }
