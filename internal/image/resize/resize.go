package resize

import (
	"encoding/binary"
	"image"
	"slices"
)

// A Row is pixels of three channels: r | g<<21 | b<<42, each of 8 or 16 bits.
type Row []uint64

// Lane is the bits from a channel to the next in a pixel of a Row.
const Lane = 21

const (
	lane  = Lane
	ones  = 1 | 1<<lane | 1<<(2*lane)
	bytes = 0xff * ones

	half = 32      // bicubic: red and green in the halves of one word, blue in another
	bias = 1 << 30 // of a half, as sums of bicubic weights can be negative
)

// Pack is a pixel of a Row.
func Pack[S uint8 | uint16](r, g, b S) uint64 {
	return uint64(r) | uint64(g)<<lane | uint64(b)<<(2*lane)
}

// Unpack is the channels of a pixel of 8 bits.
func Unpack(p uint64) (r, g, b byte) { return byte(p), byte(p >> lane), byte(p >> (2 * lane)) }

// Deepen scales pixels from 8 bits to 16: 255 becomes 65,535.
func (r Row) Deepen() {
	for i := range r {
		r[i] *= 257
	}
}

// A Source is the RGB pixels of a rectangle, of 3 samples each.
type Source struct {
	RGB  []byte
	Rect image.Rectangle
	Deep bool // samples have 2 bytes, the upper one first
}

// stride is the bytes of a row.
func (s *Source) stride() int {
	if s.Deep {
		return 6 * s.Rect.Dx()
	}
	return 3 * s.Rect.Dx()
}

// A Resizer is for one goroutine. The zero value is ready.
type Resizer struct {
	x, y axis
	wide Row   // a row of the source; of several words a pixel: first all pixels' first, then their second
	ring []Row // rows after scaling in x: row y is at y modulo their number
	sums Row
	rows []Row // the rows summed in y
	arithmetic
	source Source
	next   int // first row that is not in the ring yet
	vector vector
	scalar bool // for tests: no vectors
}

// Resize scales a source, which holds what the spans need, and calls put with the wanted rows from
// top to bottom. A row is valid until put returns.
func (r *Resizer) Resize(s Source, x, y Span, f Filter, put func(i int, row Row)) {
	vectors := canVector() && !r.scalar && !s.Deep
	r.arithmetic = arithmeticOf(f, s.Deep)
	r.x.set(x, f, r.bits, !vectors)
	r.y.set(y, f, r.bits, false)
	r.source, r.next = s, 0
	if len(r.y.first) > 0 {
		r.next = int(r.y.first[0])
	}
	if vectors && r.vector.begin(s, &r.x, &r.y) {
		r.sums = grow(r.sums, (len(r.x.first)+7)&^7)
		r.each(put, r.vectorRow)
		return
	}
	r.begin(s)
	r.each(put, r.scalarRow)
}

// each makes the wanted rows.
func (r *Resizer) each(put func(i int, row Row), sum func(first int, w []uint64)) {
	from := 0
	for i, first := range r.y.first {
		w := r.y.weight[from:r.y.end[i]]
		from = int(r.y.end[i])
		sum(int(first), w)
		put(i, r.sums[:len(r.x.first)])
	}
}

// vectorRow scales the rows that are new, and sums rows from first on.
func (r *Resizer) vectorRow(first int, w []uint64) {
	for r.next = max(r.next, first); r.next < first+len(w); r.next++ {
		r.vector.fill(r.next, r.source)
	}
	r.vector.sum(r.sums, first, w)
}

// scalarRow does the same in the words of the arithmetic.
func (r *Resizer) scalarRow(first int, w []uint64) {
	r.fill(first, first+len(w))
	r.vertical(first, w)
	switch r.words {
	case 2:
		merge(r.sums)
	case 3:
		mergeDeep(r.sums)
	}
}

// begin sizes the memory.
func (r *Resizer) begin(s Source) {
	width := len(r.x.first) * r.words
	r.wide = grow(r.wide, s.Rect.Dx()*r.words)
	r.sums = grow(r.sums, width)
	for len(r.ring) < r.y.taps {
		r.ring = append(r.ring, nil)
	}
	for i := range r.ring {
		r.ring[i] = grow(r.ring[i], width)
	}
}

func grow(r Row, n int) Row { return slices.Grow(r[:0], n)[:n] }

// fill scales the rows before end in x, except those before first, which no output needs.
func (r *Resizer) fill(first, end int) {
	width, n, stride := r.source.Rect.Dx(), len(r.x.first), r.source.stride()
	for r.next = max(r.next, first); r.next < end; r.next++ {
		rgb := r.source.RGB[(r.next-r.source.Rect.Min.Y)*stride:][:stride]
		o := r.ring[r.next%len(r.ring)]
		switch r.words {
		case 1:
			spread(r.wide, rgb)
		case 2:
			spreadTwo(r.wide[:width], r.wide[width:], rgb)
		default:
			spreadDeep(r.wide, rgb)
		}
		for k := range r.words {
			r.horizontal(o[k*n:][:n], r.wide[k*width:][:width])
		}
		r.cutAll(o)
	}
}

// spread packs pixels of 3 bytes, four at a time while 14 bytes can be read.
func spread(o Row, rgb []byte) {
	for len(rgb) >= 14 && len(o) >= 4 {
		v, u := binary.LittleEndian.Uint64(rgb), binary.LittleEndian.Uint64(rgb[6:])
		four := (*[4]uint64)(o)
		four[0], four[1] = pack(v), pack(v>>24)
		four[2], four[3] = pack(u), pack(u>>24)
		o, rgb = o[4:], rgb[12:]
	}
	for i := range o {
		p := (*[3]byte)(rgb[3*i:])
		o[i] = Pack(p[0], p[1], p[2])
	}
}

// pack is a pixel of the lowest three bytes.
func pack(v uint64) uint64 { return v&0xff | v&0xff00<<(lane-8) | v&0xff0000<<(2*lane-16) }

// spreadTwo packs pixels of 3 bytes into two words each.
func spreadTwo(o, blue Row, rgb []byte) {
	blue = blue[:len(o)]
	for i := range o {
		p := (*[3]byte)(rgb[3*i:])
		o[i], blue[i] = uint64(p[0])|uint64(p[1])<<half, uint64(p[2])
	}
}

// merge packs the two words of pixels into the first.
func merge(o Row) {
	blue := o[len(o)/2:]
	o = o[:len(blue)]
	for i, v := range o {
		o[i] = Pack(byte(v), byte(v>>half), byte(blue[i]))
	}
}

// horizontal sums samples of a row.
func (r *Resizer) horizontal(o, wide Row) {
	a := &r.x
	left := r.source.Rect.Min.X
	if a.even > 0 {
		across[a.even](o, wide, a.first, a.weight, left, r.across)
		return
	}
	weights, from := a.weight, 0
	o = o[:len(a.first)]
	ends := a.end[:len(a.first)]
	for i, first := range a.first {
		end := int(ends[i])
		w := weights[from:end]
		from = end
		s := wide[int(first)-left:][:len(w)]
		sum := r.across.start
		for j, v := range s {
			sum += v * w[j]
		}
		o[i] = sum >> (r.across.drop & 63) & r.across.mask
	}
}

// vertical sums rows into sums.
func (r *Resizer) vertical(first int, w []uint64) {
	if n := len(r.ring); first%n+len(w) > n {
		// The rows wrap around the ring's end.
		r.rows = append(append(r.rows[:0], r.ring[first%n:]...), r.ring[:len(w)-(n-first%n)]...)
	} else {
		r.rows = append(r.rows[:0], r.ring[first%n:][:len(w)]...)
	}
	down(r.sums, r.rows, w, r.down)
	r.cutAll(r.sums)
}

// cutAll makes values of bicubic sums of 8 bits, which can be negative or too large.
func (r *Resizer) cutAll(o Row) {
	if r.words != 2 {
		return
	}
	for i, v := range o {
		o[i] = cut(v) | cut(v>>half)<<half
	}
}

// cut is the value of the lower half of a bicubic sum.
func cut(v uint64) uint64 {
	return uint64(max(0, min(255, (int64(uint32(v))-bias)>>bicubicBits)))
}
