package words

const (
	plainTokens  = 3
	packedTokens = 6
	packedBits   = 18
	longTokens   = 7
)

// A shortEntry is a word with a Key, and its tokens: at most 3 as they are, or at most 6 of 18 bits,
// packed into ids and the upper 24 bits of n. The lower 8 bits of n are their number.
type shortEntry struct {
	key Key
	ids [plainTokens]int32
	n   uint32
}

// store keeps tokens. ok is false if they do not fit.
func (e *shortEntry) store(k Key, ids []int32) (ok bool) {
	if len(ids) > packedTokens {
		return false
	}
	next := shortEntry{key: k, n: uint32(len(ids))}
	if len(ids) <= plainTokens {
		copy(next.ids[:], ids)
		*e = next
		return true
	}
	var halves [2]uint64
	for i, id := range ids {
		if uint32(id) >= 1<<packedBits {
			return false
		}
		halves[i/3] |= uint64(id) << (i % 3 * packedBits)
	}
	next.ids[0] = int32(halves[0])
	next.ids[1] = int32(uint32(halves[0]>>32) | uint32(halves[1])<<24)
	next.ids[2] = int32(uint32(halves[1] >> 8))
	next.n |= uint32(halves[1]>>40) << 8
	*e = next
	return true
}

// unpack appends more than 3 tokens.
func (e *shortEntry) unpack(dst []int32) []int32 {
	const mask = 1<<packedBits - 1
	first := uint64(uint32(e.ids[0])) | uint64(e.ids[1]&(1<<24-1))<<32
	dst = append(dst, int32(first&mask), int32(first>>packedBits&mask), int32(first>>(2*packedBits)&mask))
	rest := uint64(uint32(e.ids[1])>>24) | uint64(uint32(e.ids[2]))<<8 | uint64(e.n>>8)<<40
	for range e.n&0xff - 3 {
		dst = append(dst, int32(rest&mask))
		rest >>= packedBits
	}
	return dst
}

// append appends the tokens.
func (e *shortEntry) append(dst []int32) []int32 {
	if e.n > plainTokens {
		return e.unpack(dst)
	}
	return append(dst, e.ids[:e.n]...)
}

// A longEntry is a word of 16 to 31 bytes, and its tokens.
type longEntry struct {
	key longKey
	ids [longTokens]int32
	n   uint32
}
