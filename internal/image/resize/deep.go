package resize

import "encoding/binary"

// Samples of 16 bits take a word each, for all filters. Sums in x keep deepFraction bits below a
// level, and have deepBias levels against the negative sums of bicubic weights. Weights sum to
// one, so the sums in y still have the bias, and mergeDeep takes it away.
const (
	deepBits     = 32 // of weights
	deepFraction = 8
	deepBias     = 1 << 17
)

// spreadDeep fills o with a row of pixels of 6 bytes: the first channel of all, the second, and
// the third.
func spreadDeep(o Row, rgb []byte) {
	n := len(o) / 3
	green, blue := o[n:][:n], o[2*n:][:n]
	o = o[:n]
	for i := range o {
		p := (*[6]byte)(rgb[6*i:])
		o[i] = uint64(binary.BigEndian.Uint16(p[:]))
		green[i] = uint64(binary.BigEndian.Uint16(p[2:]))
		blue[i] = uint64(binary.BigEndian.Uint16(p[4:]))
	}
}

// mergeDeep packs the three words of pixels into the first.
func mergeDeep(o Row) {
	n := len(o) / 3
	green, blue := o[n:][:n], o[2*n:][:n]
	o = o[:n]
	for i, v := range o {
		o[i] = level(v) | level(green[i])<<lane | level(blue[i])<<(2*lane)
	}
}

func level(v uint64) uint64 { return uint64(max(0, min(65535, int64(v)-deepBias))) }
