package shuffle

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// keyPrefix separates the plan's random numbers from any other use of SHA-256.
const keyPrefix = "shardfeed/plan/v1/"

// Domains of the keyed generators. None is a prefix of another and each has a fixed number of ids.
const (
	domAssign = "assign" // ids: epoch, or 0 when sticky
	domOrder  = "order"  // ids: epoch, line lane
	domRows   = "rows"   // ids: epoch, group, first row
	domTick   = "tick"   // ids: epoch, line lane, tick
	domMix    = "mix"    // ids: level
	domPart   = "part"   // ids: first row
	domPack   = "pack"   // ids: epoch, group, first row
	domSource = "source" // ids: source
	domRule   = "rule"   // ids: epoch, source, group, first row, sample
)

// rng is PCG-DXSM (128 bits of state, the 64-bit "cheap" multiplier) as in math/rand/v2. It is
// written out here so that the shuffle loops keep the state in registers and so that the order
// never depends on a library; a test compares it with rand.PCG.
type rng struct{ hi, lo uint64 }

// newRNG keys a generator with the first 16 bytes of SHA-256(prefix || dom || seed || ids),
// integers as 8 bytes little-endian.
func newRNG(dom string, seed uint64, ids ...uint64) rng {
	var msg [128]byte
	n := copy(msg[:], keyPrefix)
	n += copy(msg[n:], dom)
	binary.LittleEndian.PutUint64(msg[n:], seed)
	n += 8
	for _, id := range ids {
		binary.LittleEndian.PutUint64(msg[n:], id)
		n += 8
	}
	sum := sha256.Sum256(msg[:n])
	return rng{hi: binary.LittleEndian.Uint64(sum[:]), lo: binary.LittleEndian.Uint64(sum[8:])}
}

const (
	stepHi   = 2549297995355413924
	stepLo   = 4865540595714422341
	incHi    = 6364136223846793005
	incLo    = 1442695040888963407
	cheapMul = 0xda942042e4dd58b5
)

// next advances the 128-bit state: state = state*step + inc.
func (r *rng) next() (hi, lo uint64) {
	h, l := bits.Mul64(r.lo, stepLo)
	h += r.hi*stepLo + r.lo*stepHi
	l, c := bits.Add64(l, incLo, 0)
	h, _ = bits.Add64(h, incHi, c)
	r.hi, r.lo = h, l
	return h, l
}

// dxsm is the output function: double xorshift multiply.
func dxsm(hi, lo uint64) uint64 {
	hi ^= hi >> 32
	hi *= cheapMul
	hi ^= hi >> 48
	return hi * (lo | 1)
}

func (r *rng) uint64() uint64 { return dxsm(r.next()) }

// below returns a uniform number in [0, n), n > 0: Lemire's multiply-shift with rejection.
func (r *rng) below(n uint64) uint64 {
	hi, lo := bits.Mul64(r.uint64(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(r.uint64(), n)
		}
	}
	return hi
}

// shuffle permutes a by Fisher and Yates from the top: for i = len-1 .. 1 swap a[i] with
// a[below(i+1)].
func shuffle[T any](r *rng, a []T) {
	for i := len(a) - 1; i > 0; i-- {
		j := r.below(uint64(i) + 1)
		a[i], a[j] = a[j], a[i]
	}
}

// permutation fills dst, grown as needed, with a shuffled 0..n-1.
func permutation(r *rng, dst []uint32, n int) []uint32 {
	if cap(dst) < n {
		dst = make([]uint32, n)
	}
	dst = dst[:n]
	for i := range dst {
		dst[i] = uint32(i)
	}
	shuffle(r, dst)
	return dst
}
