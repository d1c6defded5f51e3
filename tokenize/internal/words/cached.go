package words

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

const (
	shortBytes = unsafe.Sizeof(shortEntry{})
	longBytes  = unsafe.Sizeof(longEntry{})
)

// Cached is an Encoder with a cache.
type Cached struct {
	speller    Speller
	short      []shortEntry
	long       []longEntry
	shortShift uint8
	longShift  uint8
	items      items
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
	return int64(unsafe.Sizeof(*c)) + int64(len(c.short))*int64(shortBytes) + int64(len(c.long))*int64(longBytes) + c.speller.Memory()
}

// Append implements [Encoder].
func (c *Cached) Append(dst []int32, v char.View, p int, ends []uint32) []int32 {
	for t := (taker{View: v, speller: c.speller, start: p, at: p, ends: ends}); len(t.ends) > 0; {
		p := t.at
		c.items.take(&t, c.shortShift&63, c.longShift&63)
		prefetchEach(unsafe.Pointer(unsafe.SliceData(c.short)), &c.items.offsets[0], c.items.n)
		prefetchEach(unsafe.Pointer(unsafe.SliceData(c.long)), &c.items.longOffsets[0], c.items.long)
		dst = c.append(dst, v, p)
	}
	return dst
}

// append appends the tokens of the items, of which the first starts at p.
func (c *Cached) append(dst []int32, v char.View, p int) []int32 {
	items := &c.items
	// Room for a token a byte, and for 4 that are copied at once.
	dst = slices.Grow(dst, items.end()-p+4)
	at := len(dst)
	out, table := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(c.short))
	for w, item := range items.ends[:items.n] {
		end := int(item &^ partBit)
		n := end - p
		if n > Short {
			dst = c.longer(dst[:at], v, p, n, item&partBit)
			at, out = len(dst), unsafe.Pointer(unsafe.SliceData(dst))
			p = end
			continue
		}
		k, offset := &items.keys[w&(atOnce-1)], uintptr(items.offsets[w&(atOnce-1)])
		e := (*shortEntry)(unsafe.Add(table, offset))
		if e.key != *k {
			e = (*shortEntry)(unsafe.Add(table, offset^shortBytes))
		}
		switch {
		case e.key != *k:
			dst = c.miss(dst[:at], v.Bytes(p, end), *k, int(offset/shortBytes))
			at, out = len(dst), unsafe.Pointer(unsafe.SliceData(dst))
		case e.n > plainTokens:
			at = len(e.unpack(dst[:at]))
		default:
			*(*[4]int32)(unsafe.Add(out, 4*at)) = *(*[4]int32)(unsafe.Pointer(&e.ids))
			at += int(e.n)
		}
		p = end
	}
	return dst[:at]
}

// miss appends the tokens of a short item that is not at i of the cache, and puts it there.
func (c *Cached) miss(dst []int32, text []byte, k Key, i int) []int32 {
	at := len(dst)
	dst = c.spell(dst, text, k.part())
	var e shortEntry
	if e.store(k, dst[at:]) {
		c.short[i^1] = c.short[i]
		c.short[i] = e
	}
	return dst
}

// spell appends the tokens of an item that the cache lacks.
func (c *Cached) spell(dst []int32, text []byte, part bool) []int32 {
	if !part {
		if id, ok := c.speller.Token(text); ok {
			return append(dst, id)
		}
	}
	return c.speller.Spell(dst, text)
}

// longer appends the tokens of an item of more than 15 bytes.
func (c *Cached) longer(dst []int32, v char.View, p, n int, part uint32) []int32 {
	text := v.Bytes(p, p+n)
	if n > longMost {
		return c.spell(dst, text, part != 0)
	}
	k := longKeyOf(v, p, n, part)
	i := int(k.hash() >> (c.longShift & 63))
	for _, e := range [2]*longEntry{&c.long[i], &c.long[i^1]} {
		if e.key == k {
			return append(dst, e.ids[:e.n]...)
		}
	}
	at := len(dst)
	dst = c.spell(dst, text, part != 0)
	if ids := dst[at:]; len(ids) <= longTokens {
		e := longEntry{key: k, n: uint32(len(ids))}
		copy(e.ids[:], ids)
		c.long[i^1] = c.long[i]
		c.long[i] = e
	}
	return dst
}
