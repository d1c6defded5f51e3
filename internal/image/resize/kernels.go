package resize

// Weights of an output sum to exactly one, so a sum of n samples needs n-1 multiplications: it is
// the first sample and the weighted differences from it. The differences of three channels borrow
// from each other in their word, and the sum gives it back: all of it is arithmetic modulo 1<<64.

// A rounder converts sums to values: it adds an offset, and cuts off the weights' bits. Sums of the
// bicubic filter are cut after it.
type rounder struct {
	start       uint64
	shift, drop uint64 // bits of weights; bits cut off here
	mask        uint64
}

// An arithmetic is how pixels are summed.
type arithmetic struct {
	words        int  // of a pixel
	bits         uint // of weights
	across, down rounder
}

func arithmeticOf(f Filter, deep bool) arithmetic {
	const all = 1<<64 - 1
	switch {
	case deep:
		across := rounder{deepBias<<deepBits + 1<<(deepBits-deepFraction-1), deepBits, deepBits - deepFraction, all}
		return arithmetic{3, deepBits, across, rounder{1 << (deepBits + deepFraction - 1), deepBits, deepBits + deepFraction, all}}
	case f == Bicubic:
		round := rounder{(bias + 1<<(bicubicBits-1)) * (1 | 1<<half), bicubicBits, 0, all}
		return arithmetic{2, bicubicBits, round, round}
	}
	round := rounder{1 << (bilinearBits - 1) * ones, bilinearBits, bilinearBits, bytes}
	return arithmetic{1, bilinearBits, round, round}
}

// across scales a row in x, by the number of samples of each output. One of seven is padded.
var across = [...]func(o, wide Row, first []int32, weight []uint64, left int, r rounder){
	2: sumTwos, 3: sumThrees, 4: sumFours, 5: sumFives, 6: sumSixes, 8: sumEights,
}

func sumTwos(o, wide Row, first []int32, weight []uint64, left int, r rounder) {
	for i, f := range first[:len(o)] {
		s, w := (*[2]uint64)(wide[int(f)-left:]), (*[2]uint64)(weight[2*i:])
		b := s[0]
		o[i] = (r.start + b<<(r.shift&63) + (s[1]-b)*w[1]) >> (r.drop & 63) & r.mask
	}
}

func sumThrees(o, wide Row, first []int32, weight []uint64, left int, r rounder) {
	for i, f := range first[:len(o)] {
		s, w := (*[3]uint64)(wide[int(f)-left:]), (*[3]uint64)(weight[3*i:])
		b := s[0]
		o[i] = (r.start + b<<(r.shift&63) + (s[1]-b)*w[1] + (s[2]-b)*w[2]) >> (r.drop & 63) & r.mask
	}
}

func sumFours(o, wide Row, first []int32, weight []uint64, left int, r rounder) {
	for i, f := range first[:len(o)] {
		s, w := (*[4]uint64)(wide[int(f)-left:]), (*[4]uint64)(weight[4*i:])
		b := s[0]
		o[i] = (r.start + b<<(r.shift&63) + (s[1]-b)*w[1] + (s[2]-b)*w[2] + (s[3]-b)*w[3]) >> (r.drop & 63) & r.mask
	}
}

func sumFives(o, wide Row, first []int32, weight []uint64, left int, r rounder) {
	for i, f := range first[:len(o)] {
		s, w := (*[5]uint64)(wide[int(f)-left:]), (*[5]uint64)(weight[5*i:])
		b := s[0]
		o[i] = (r.start + b<<(r.shift&63) + (s[1]-b)*w[1] + (s[2]-b)*w[2] + (s[3]-b)*w[3] + (s[4]-b)*w[4]) >> (r.drop & 63) & r.mask
	}
}

func sumSixes(o, wide Row, first []int32, weight []uint64, left int, r rounder) {
	for i, f := range first[:len(o)] {
		s, w := (*[6]uint64)(wide[int(f)-left:]), (*[6]uint64)(weight[6*i:])
		b := s[0]
		sum := r.start + b<<(r.shift&63) + (s[1]-b)*w[1] + (s[2]-b)*w[2] + (s[3]-b)*w[3]
		o[i] = (sum + (s[4]-b)*w[4] + (s[5]-b)*w[5]) >> (r.drop & 63) & r.mask
	}
}

func sumEights(o, wide Row, first []int32, weight []uint64, left int, r rounder) {
	for i, f := range first[:len(o)] {
		s, w := (*[8]uint64)(wide[int(f)-left:]), (*[8]uint64)(weight[8*i:])
		b := s[0]
		sum := r.start + b<<(r.shift&63) + (s[1]-b)*w[1] + (s[2]-b)*w[2] + (s[3]-b)*w[3]
		o[i] = (sum + (s[4]-b)*w[4] + (s[5]-b)*w[5] + (s[6]-b)*w[6] + (s[7]-b)*w[7]) >> (r.drop & 63) & r.mask
	}
}

// down scales in y: it sums rows, by their number.
func down(o Row, rows []Row, w []uint64, r rounder) {
	switch len(w) {
	case 1:
		sumOne(o, rows[0], w[0], r)
	case 2:
		sumTwo(o, rows[0], rows[1], w, r)
	case 3:
		sumThree(o, rows[0], rows[1], rows[2], w, r)
	case 4:
		sumFour(o, rows[0], rows[1], rows[2], rows[3], w, r)
	default:
		sumMany(o, rows, w, r)
	}
}

func sumOne(o, a Row, w uint64, r rounder) {
	a = a[:len(o)]
	for i, v := range a {
		o[i] = (r.start + v*w) >> (r.drop & 63) & r.mask
	}
}

func sumTwo(o, a, b Row, w []uint64, r rounder) {
	a, b = a[:len(o)], b[:len(o)]
	w1 := w[1]
	for i := range o {
		v := a[i]
		o[i] = (r.start + v<<(r.shift&63) + (b[i]-v)*w1) >> (r.drop & 63) & r.mask
	}
}

func sumThree(o, a, b, c Row, w []uint64, r rounder) {
	a, b, c = a[:len(o)], b[:len(o)], c[:len(o)]
	w1, w2 := w[1], w[2]
	for i := range o {
		v := a[i]
		o[i] = (r.start + v<<(r.shift&63) + (b[i]-v)*w1 + (c[i]-v)*w2) >> (r.drop & 63) & r.mask
	}
}

func sumFour(o, a, b, c, d Row, w []uint64, r rounder) {
	a, b, c, d = a[:len(o)], b[:len(o)], c[:len(o)], d[:len(o)]
	w1, w2, w3 := w[1], w[2], w[3]
	for i := range o {
		v := a[i]
		o[i] = (r.start + v<<(r.shift&63) + (b[i]-v)*w1 + (c[i]-v)*w2 + (d[i]-v)*w3) >> (r.drop & 63) & r.mask
	}
}

// sumMany sums four rows at first, then two at a time, and the last ones with the rounding.
func sumMany(o Row, rows []Row, w []uint64, r rounder) {
	a, b, c, d := rows[0][:len(o)], rows[1][:len(o)], rows[2][:len(o)], rows[3][:len(o)]
	w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
	for i := range o {
		o[i] = r.start + a[i]*w0 + b[i]*w1 + c[i]*w2 + d[i]*w3
	}
	j := 4
	for ; j+2 < len(w); j += 2 {
		addTwo(o, rows[j], rows[j+1], w[j], w[j+1])
	}
	if j+2 == len(w) {
		addLastTwo(o, rows[j], rows[j+1], w[j], w[j+1], r)
		return
	}
	a, w0 = rows[j][:len(o)], w[j]
	for i, v := range o {
		o[i] = (v + a[i]*w0) >> (r.drop & 63) & r.mask
	}
}

func addTwo(o, a, b Row, u, v uint64) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] += a[i]*u + b[i]*v
	}
}

func addLastTwo(o, a, b Row, u, v uint64, r rounder) {
	a, b = a[:len(o)], b[:len(o)]
	for i, s := range o {
		o[i] = (s + a[i]*u + b[i]*v) >> (r.drop & 63) & r.mask
	}
}
