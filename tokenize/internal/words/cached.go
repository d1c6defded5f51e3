package words

import (
	"math/bits"
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
	tokens     *Tokens
	short      []shortEntry
	long       []longEntry
	shortShift uint8
	longShift  uint8
	items      items
	scratch    *Scratch
}

// NewCached returns an encoder whose cache takes at most bytes, which are at least 1 KB. tokens are
// words that need no speller.
func NewCached(s Speller, tokens *Tokens, bytes int, scratch *Scratch) *Cached {
	// A long entry for 4 short ones: 48 bytes for each of these.
	k := bits.Len(uint(bytes)/48) - 1
	return &Cached{
		speller: s, tokens: tokens, scratch: scratch,
		short: make([]shortEntry, 1<<k), shortShift: uint8(32 - k),
		long: make([]longEntry, 1<<(k-2)), longShift: uint8(64 - k + 2),
	}
}

// Memory implements [Encoder].
func (c *Cached) Memory() int64 {
	return int64(unsafe.Sizeof(*c)) + int64(len(c.short))*int64(shortBytes) + int64(len(c.long))*int64(longBytes) + c.speller.Memory()
}

// Trim implements [Encoder].
func (c *Cached) Trim() { c.speller.Trim() }

// Append implements [Encoder].
func (c *Cached) Append(dst []int32, v char.View, p int, ends []uint32) []int32 {
	for t := (taker{View: v, speller: c.speller, start: p, at: p, ends: ends}); len(t.ends) > 0; {
		p := t.at
		c.items.take(&t, c.tokens, c.longShift&63)
		prefetchEach(unsafe.Pointer(unsafe.SliceData(c.tokens.lines)), &c.items.lines[0], c.items.n)
		loadEach(unsafe.Pointer(unsafe.SliceData(c.long)), &c.items.longOffsets[0], c.items.long)
		c.items.find(c.tokens, c.shortShift)
		loadEach(unsafe.Pointer(unsafe.SliceData(c.short)), &c.items.offsets[0], c.items.missed)
		dst = c.append(dst, v, p)
	}
	return dst
}

// append appends the tokens of the items, of which the first starts at p.
func (c *Cached) append(dst []int32, v char.View, p int) []int32 {
	items := &c.items
	// Room for a token a byte, and for the last copy.
	dst = Grow(c.scratch, dst, items.end()-p+copied)
	at, done := len(dst), 0
	out, table := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(c.short))
	for m, miss := range items.misses[:items.missed] {
		w := int(miss) & (atOnce - 1)
		for i := done; i < w; i += copied {
			*(*[copied]int32)(unsafe.Add(out, 4*(at+i-done))) = *(*[copied]int32)(items.ids[i:])
		}
		at += w - done
		done = w + 1
		start, item := items.start(w, p), items.ends[w]
		end := int(item &^ partBit)
		if end-start > Short {
			dst = c.longer(dst[:at], v, start, end-start, item&partBit)
			at, out = len(dst), unsafe.Pointer(unsafe.SliceData(dst))
			continue
		}
		k, offset := &items.keys[w], uintptr(items.offsets[m&(atOnce-1)])
		e := (*shortEntry)(unsafe.Add(table, offset))
		if e.key != *k {
			e = (*shortEntry)(unsafe.Add(table, offset^shortBytes))
		}
		switch {
		case e.key != *k:
			dst = c.miss(dst[:at], v.Bytes(start, end), *k, int(offset/shortBytes))
			at, out = len(dst), unsafe.Pointer(unsafe.SliceData(dst))
		case e.n > plainTokens:
			at = len(e.unpack(dst[:at]))
		default:
			*(*[copied]int32)(unsafe.Add(out, 4*at)) = *(*[copied]int32)(unsafe.Pointer(&e.ids))
			at += int(e.n)
		}
	}
	for i := done; i < items.n; i += copied {
		*(*[copied]int32)(unsafe.Add(out, 4*(at+i-done))) = *(*[copied]int32)(items.ids[i:])
	}
	return dst[:at+items.n-done]
}

// miss appends the tokens of a short item that is not at i of the cache, and puts it there.
func (c *Cached) miss(dst []int32, text []byte, k Key, i int) []int32 {
	at := len(dst)
	dst = c.speller.Spell(dst, text)
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
		if e.key.is(&k) {
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
