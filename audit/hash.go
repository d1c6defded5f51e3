package audit

const golden = 0x9e3779b97f4a7c15

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A Key separates the hashes of runs with different seeds, and of the sources of a mixture.
type Key uint64

// NewKey returns the key of a source of a run with a seed.
func NewKey(seed uint64, source int) Key {
	return Key(mix(seed + mix(uint64(source)*golden+golden)))
}

// A Start is the first sample of a range of a unit.
type Start uint64

// At starts at a sample of a unit.
func (k Key) At(unit int, sample int64) Start {
	return Start(uint64(k) + (uint64(unit)<<32+uint64(sample))*golden)
}

// Hash of the n-th sample from the start.
func (s Start) Hash(n uint32) uint64 { return mix(uint64(s) + uint64(n)*golden) }

// Range is the sum of the hashes of samples [lo, hi) of a unit.
func (k Key) Range(unit int, lo, hi int64) (sum uint64) {
	at := uint64(k.At(unit, lo))
	for range hi - lo {
		sum += mix(at)
		at += golden
	}
	return sum
}
