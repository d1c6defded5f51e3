package words

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

const (
	atOnce     = 256 // words between two prefetches
	shortBytes = unsafe.Sizeof(shortEntry{})
)

// Cached is an Encoder with a cache.
type Cached struct {
	speller    Speller
	short      []shortEntry
	long       []longEntry
	shortShift uint8
	longShift  uint8
	keys       [atOnce]Key
	offsets    [atOnce]uint32 // in short, in bytes
}

// NewCached returns an encoder whose cache takes at most bytes, which are at least 1 KB.
func NewCached(s Speller, bytes int) *Cached {
	// A long entry for 4 short ones: 48 bytes for each of these.
	k := bits.Len(uint(bytes)/48) - 1
	return &Cached{
		speller: s,
		short:   make([]shortEntry, 1<<k), shortShift: uint8(64 - k),
		long: make([]longEntry, 1<<(k-2)), longShift: uint8(64 - k + 2),
	}
}

// Memory implements [Encoder].
func (c *Cached) Memory() int64 {
	return int64(unsafe.Sizeof(*c)) + int64(len(c.short))*int64(shortBytes) +
		int64(len(c.long))*int64(unsafe.Sizeof(longEntry{})) + c.speller.Memory()
}

// Append implements [Encoder].
func (c *Cached) Append(dst []int32, v char.View, p int, ends []uint32) []int32 {
	for len(ends) > atOnce {
		dst = c.append(dst, v, p, ends[:atOnce])
		p, ends = int(ends[atOnce-1]), ends[atOnce:]
	}
	return c.append(dst, v, p, ends)
}

func (c *Cached) append(dst []int32, v char.View, p int, ends []uint32) []int32 {
	if len(ends) == 0 {
		return dst
	}
	c.prepare(v, p, ends)
	// Room for a token a byte, and for 4 that are copied at once.
	dst = slices.Grow(dst, int(ends[len(ends)-1])-p+4)
	at := len(dst)
	out, table := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(c.short))
	for w, end := range ends {
		n := int(end) - p
		if n > Short {
			dst = c.longer(dst[:at], v, p, n)
			at, out = len(dst), unsafe.Pointer(unsafe.SliceData(dst))
			p = int(end)
			continue
		}
		k, offset := &c.keys[w&(atOnce-1)], uintptr(c.offsets[w&(atOnce-1)])
		e := (*shortEntry)(unsafe.Add(table, offset))
		if e.key != *k {
			e = (*shortEntry)(unsafe.Add(table, offset^shortBytes))
		}
		switch {
		case e.key != *k:
			dst = c.miss(dst[:at], v, p, n, *k, int(offset/shortBytes))
			at, out = len(dst), unsafe.Pointer(unsafe.SliceData(dst))
		case e.n > plainTokens:
			at = len(e.unpack(dst[:at]))
		default:
			*(*[4]int32)(unsafe.Add(out, 4*at)) = *(*[4]int32)(unsafe.Pointer(&e.ids))
			at += int(e.n)
		}
		p = int(end)
	}
	return dst[:at]
}

// prepare makes the keys of words, and prefetches their places in the table.
func (c *Cached) prepare(v char.View, p int, ends []uint32) {
	shift := c.shortShift & 63
	for w, end := range ends {
		k := KeyOf(v, p, int(end)-p)
		c.keys[w&(atOnce-1)] = k
		c.offsets[w&(atOnce-1)] = uint32(k.Hash()>>shift) * uint32(shortBytes)
		p = int(end)
	}
	prefetchEach(unsafe.Pointer(unsafe.SliceData(c.short)), &c.offsets[0], len(ends))
}

// miss appends the tokens of a short word that is not at i of the cache, and puts it there.
func (c *Cached) miss(dst []int32, v char.View, p, n int, k Key, i int) []int32 {
	at := len(dst)
	dst = c.spell(dst, v, p, n)
	c.keep(k, i, dst[at:])
	return dst
}

func (c *Cached) keep(k Key, i int, ids []int32) {
	var e shortEntry
	if e.store(k, ids) {
		c.short[i^1] = c.short[i]
		c.short[i] = e
	}
}

// spell appends the tokens of a word that the cache lacks.
func (c *Cached) spell(dst []int32, v char.View, p, n int) []int32 {
	if id, ok := c.speller.Token(v.Bytes(p, p+n)); ok {
		return append(dst, id)
	}
	if n <= Short {
		return c.speller.Spell(dst, v.Bytes(p, p+n))
	}
	for end := p + n; p < end; {
		q := c.speller.Part(v, p, end)
		dst = c.part(dst, v, p, q-p)
		p = q
	}
	return dst
}

// part appends the tokens of a part of a word. The cache has words, and these may be other tokens.
func (c *Cached) part(dst []int32, v char.View, p, n int) []int32 {
	text := v.Bytes(p, p+n)
	if n > Short {
		return c.speller.Spell(dst, text)
	}
	if _, ok := c.speller.Token(text); ok {
		return c.speller.Spell(dst, text)
	}
	k := KeyOf(v, p, n)
	i := int(k.Hash() >> (c.shortShift & 63))
	for _, e := range [2]*shortEntry{&c.short[i], &c.short[i^1]} {
		if e.key == k {
			return e.append(dst)
		}
	}
	at := len(dst)
	dst = c.speller.Spell(dst, text)
	c.keep(k, i, dst[at:])
	return dst
}

// longer appends the tokens of a word of more than 15 bytes.
func (c *Cached) longer(dst []int32, v char.View, p, n int) []int32 {
	if n > longMost {
		return c.spell(dst, v, p, n)
	}
	k := longKeyOf(v, p, n)
	i := int(k.hash() >> (c.longShift & 63))
	for _, e := range [2]*longEntry{&c.long[i], &c.long[i^1]} {
		if e.key == k {
			return append(dst, e.ids[:e.n]...)
		}
	}
	at := len(dst)
	dst = c.spell(dst, v, p, n)
	if ids := dst[at:]; len(ids) <= longTokens {
		e := longEntry{key: k, n: uint32(len(ids))}
		copy(e.ids[:], ids)
		c.long[i^1] = c.long[i]
		c.long[i] = e
	}
	return dst
}
