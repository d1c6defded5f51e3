package normal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// A Precompiled applies a character map of SentencePiece. Its keys are in a double array of
// darts-clone.
//
// It follows `tokenizers`: the shortest key that is a prefix of a text decides. If a grapheme cluster
// of at most 5 bytes has one, the key's text replaces the whole cluster. In any other cluster, each
// character that has one is replaced.
type Precompiled struct {
	units []uint32
	texts []byte                  // each ends with a zero byte
	stays [codePoints / 64]uint64 // bits of code points that the map leaves as they are, if they are clusters
	joins *property.Classes       // joinsNext or joinsLast
	grows [256]int                // by the first byte of a key: how many bytes its text has more than the key, at most
	most  int                     // bytes that a byte of text becomes, at most
}

// textMost is the size of the longest text that a map may have: NFKC's has 33 bytes.
const textMost = 1 << 10

// clusterMost is the size of the longest grapheme cluster that is looked up as a whole.
const clusterMost = 5

// NewPrecompiled reads a character map: the size of the double array in bytes, the array, and texts.
func NewPrecompiled(charsmap []byte) (*Precompiled, error) {
	const word = 4
	if len(charsmap) < word {
		return nil, fmt.Errorf("precompiled_charsmap has %d bytes, at least %d are needed", len(charsmap), word)
	}
	size, rest := uint64(binary.LittleEndian.Uint32(charsmap)), charsmap[word:]
	if size%word != 0 || size > uint64(len(rest)) || size == 0 {
		return nil, fmt.Errorf("precompiled_charsmap has a trie of %d bytes in %d", size, len(rest))
	}
	p := &Precompiled{units: make([]uint32, size/word), texts: bytes.Clone(rest[size:]), joins: property.Load().Classes(joinClass)}
	if !utf8.Valid(p.texts) {
		return nil, errors.New("precompiled_charsmap maps to text that is not UTF-8")
	}
	longest := 0
	for text := range bytes.SplitSeq(p.texts, []byte{0}) {
		if len(text) > textMost {
			return nil, fmt.Errorf("precompiled_charsmap maps to a text of %d bytes, at most %d are possible", len(text), textMost)
		}
		longest = max(longest, len(text))
	}
	for i := range p.units {
		p.units[i] = binary.LittleEndian.Uint32(rest[word*i:])
	}
	p.findStays()
	p.findGrowth(longest)
	return p, nil
}

// findGrowth finds how much longer than their keys texts are. In a damaged map, whose units may lead
// to each other in circles, each key counts as the longest text.
func (p *Precompiled) findGrowth(longest int) {
	left := len(p.units)
	var walk func(at uint32, first byte, depth int)
	walk = func(at uint32, first byte, depth int) {
		if left--; left < 0 {
			return
		}
		for b := uint32(1); b < 256; b++ {
			next, key, ok := p.step(at, b)
			if depth == 1 {
				first = byte(b)
			}
			switch {
			case !ok:
			case key:
				if to, found := p.text(next); found {
					p.grows[first] = max(p.grows[first], len(to)-depth)
				}
			case depth < clusterMost:
				walk(next, first, depth+1)
			}
		}
	}
	walk(offset(p.units[0]), 0, 1)
	for b := range p.grows {
		if left < 0 {
			p.grows[b] = longest
		}
		p.most = max(p.most, 1+(p.grows[b]+sizeBy(byte(b))-1)/sizeBy(byte(b)))
	}
}

// findStays sets the bits of code points that start with no key, and are clusters unless the next
// character joins them.
func (p *Precompiled) findStays() {
	var text [utf8.UTFMax]byte
	for r := range rune(codePoints) {
		if r == '\r' || p.joins.Of(r)&joinsNext != 0 {
			continue
		}
		if _, found := p.find(text[:utf8.EncodeRune(text[:], r)]); !found {
			p.stays[r/64] |= 1 << (r % 64)
		}
	}
}

// Append implements [Normalizer].
func (p *Precompiled) Append(dst, text []byte) (out []byte, changed bool) {
	done := 0 // text up to done is in dst
	for i := p.next(text, 0); i < len(text); i = p.next(text, i) {
		size, first := p.cluster(text[i:])
		end := i + size
		if size <= clusterMost {
			if to, found := p.find(text[i:end]); found {
				dst = append(append(dst, text[done:i]...), to...)
				i, done, changed = end, end, true
				continue
			}
		}
		for i < end {
			if to, found := p.find(text[i : i+first]); found {
				dst = append(append(dst, text[done:i]...), to...)
				done, changed = i+first, true
			}
			if i += first; i < end {
				_, first = utf8.DecodeRune(text[i:end])
			}
		}
	}
	if !changed {
		return dst, false
	}
	return append(dst, text[done:]...), true
}

// Needs implements [Normalizer]. It counts the text of a key for each character that starts with
// one, also where that belongs to a cluster. Only long texts need a search for the keys; for others
// the first bytes of their characters suffice.
func (p *Precompiled) Needs(text []byte) (size, beside int) {
	if n := len(text) * p.most; n <= Loose {
		return n, 0
	}
	size = len(text)
	for _, b := range text {
		size += p.grows[b]
	}
	if size <= Loose {
		return size, 0
	}
	size = len(text)
	for i, b := range text {
		if p.grows[b] == 0 || !utf8.RuneStart(b) {
			continue
		}
		if to, found := p.find(text[i:min(len(text), i+clusterMost)]); found {
			size += max(0, len(to)-sizeBy(b))
		}
	}
	return size, 0
}

// sizeBy is the bytes of a character by its first one.
func sizeBy(first byte) int {
	switch {
	case first < utf8.RuneSelf:
		return 1
	case first < 0xe0:
		return 2
	case first < 0xf0:
		return 3
	}
	return utf8.UTFMax
}

// cluster is the function cluster. Most characters are clusters, which it finds sooner.
func (p *Precompiled) cluster(text []byte) (size, first int) {
	r, size := utf8.DecodeRune(text)
	if r == '\r' || p.joins.Of(r)&joinsNext != 0 {
		return cluster(text)
	}
	if size < len(text) {
		if next, _ := utf8.DecodeRune(text[size:]); p.joins.Of(next)&joinsLast != 0 || isHangul(next) {
			return cluster(text)
		}
	}
	return size, size
}

// next returns the place of the first character from i on that the map may change, or the end.
func (p *Precompiled) next(text []byte, i int) int {
	v := char.Of(text)
	for i < len(text) {
		r, size := uint32(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = v.Rune(i)
		}
		if p.stays[r/64]>>(r%64)&1 == 0 {
			return i
		}
		if i+size < len(text) && text[i+size] >= utf8.RuneSelf {
			if next, _ := v.Rune(i + size); p.joins.Of(rune(next))&joinsLast != 0 || isHangul(rune(next)) {
				return i
			}
		}
		i += size
	}
	return i
}

// find returns the text of the shortest key that is a prefix of text.
func (p *Precompiled) find(text []byte) (to []byte, found bool) {
	at := offset(p.units[0])
	for _, b := range text {
		next, key, ok := p.step(at, uint32(b))
		if !ok {
			return nil, false
		}
		if key {
			return p.text(next)
		}
		at = next
	}
	return nil, false
}

// step follows a byte from a node of the trie, given as the place of its children. next is the next
// node, or the text of a key that ends there.
func (p *Precompiled) step(at, b uint32) (next uint32, key, ok bool) {
	if at ^= b; b == 0 || at >= uint32(len(p.units)) {
		return 0, false, false
	}
	unit := p.units[at]
	if unit&(1<<31|0xff) != b {
		return 0, false, false
	}
	if at ^= offset(unit); unit>>8&1 == 0 {
		return at, false, true
	}
	if at >= uint32(len(p.units)) {
		return 0, false, false
	}
	return p.units[at] & (1<<31 - 1), true, true
}

// offset is the distance of a unit of darts-clone to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// text returns the text at a place of a map.
func (p *Precompiled) text(at uint32) (text []byte, ok bool) {
	if at > uint32(len(p.texts)) {
		return nil, false
	}
	text = p.texts[at:]
	if n := bytes.IndexByte(text, 0); n >= 0 {
		text = text[:n]
	}
	return text, len(text) == 0 || utf8.RuneStart(text[0])
}
