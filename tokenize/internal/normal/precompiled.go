package normal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

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
	texts []byte              // each ends with a zero byte
	plain [utf8.RuneSelf]bool // bytes of ASCII that the map leaves as they are
	joins *property.Classes   // joinsNext or joinsLast
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
	for text := range bytes.SplitSeq(p.texts, []byte{0}) {
		if len(text) > textMost {
			return nil, fmt.Errorf("precompiled_charsmap maps to a text of %d bytes, at most %d are possible", len(text), textMost)
		}
	}
	for i := range p.units {
		p.units[i] = binary.LittleEndian.Uint32(rest[word*i:])
	}
	for b := range p.plain {
		_, found := p.find([]byte{byte(b)})
		p.plain[b] = !found
	}
	return p, nil
}

// Append implements [Normalizer].
func (p *Precompiled) Append(dst, text []byte) (out []byte, changed bool) {
	for i := 0; i < len(text); {
		if p.single(text[i:]) {
			dst = append(dst, text[i])
			i++
			continue
		}
		size, first := p.cluster(text[i:])
		part := text[i : i+size]
		i += size
		if size <= clusterMost {
			if to, found := p.find(part); found {
				dst, changed = append(dst, to...), true
				continue
			}
		}
		for len(part) > 0 {
			to, found := p.find(part[:first])
			if !found {
				to = part[:first]
			}
			dst, changed = append(dst, to...), changed || found
			if part = part[first:]; len(part) > 0 {
				_, first = utf8.DecodeRune(part)
			}
		}
	}
	return dst, changed
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

// single reports whether the first byte of text is ASCII, a whole cluster, and not in the map. Before
// another byte of ASCII, only U+000D may be part of a longer cluster.
func (p *Precompiled) single(text []byte) bool {
	b := text[0]
	return b < utf8.RuneSelf && p.plain[b] && b != '\r' && (len(text) == 1 || text[1] < utf8.RuneSelf)
}

// find returns the text of the shortest key that is a prefix of text.
func (p *Precompiled) find(text []byte) (to []byte, found bool) {
	at := offset(p.units[0])
	for _, b := range text {
		if at ^= uint32(b); b == 0 || at >= uint32(len(p.units)) {
			return nil, false
		}
		unit := p.units[at]
		if unit&(1<<31|0xff) != uint32(b) {
			return nil, false
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if at >= uint32(len(p.units)) {
			return nil, false
		}
		return p.text(p.units[at] & (1<<31 - 1))
	}
	return nil, false
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
