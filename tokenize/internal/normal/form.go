package normal

import (
	"slices"
	"sync"
	"unicode/utf8"
)

// A Form is one of the four normal forms of Unicode.
type Form struct {
	points  *points
	compat  bool
	compose bool
	first   byte   // text of bytes below it is normal
	affects []bool // by number of kind: whether the form may change the character or what is before it
}

// The normal forms.
var (
	NFC  = sync.OnceValue(func() *Form { return newForm(false, true) })
	NFD  = sync.OnceValue(func() *Form { return newForm(false, false) })
	NFKC = sync.OnceValue(func() *Form { return newForm(true, true) })
	NFKD = sync.OnceValue(func() *Form { return newForm(true, false) })
)

func newForm(compat, compose bool) *Form {
	f := &Form{points: loadPoints(), compat: compat, compose: compose}
	f.affects = make([]bool, len(f.points.kinds))
	for i, k := range f.points.kinds {
		f.affects[i] = k.class > 0 || compat && k.compat > 0 || k.canonical > 0 && !(compose && k.composed) || compose && k.joins
	}
	first := rune(0)
	for ; !f.affected(first); first++ {
	}
	var lead [utf8.UTFMax]byte
	utf8.EncodeRune(lead[:], first)
	f.first = lead[0]
	return f
}

func (f *Form) affected(r rune) bool {
	return f.affects[f.points.kind(r)] || !f.compose && r >= syllableFirst && r <= syllableLast
}

// Append implements [Normalizer].
func (f *Form) Append(dst, text []byte) (out []byte, changed bool) {
	var runes []mark // of one place that the form may change
	done := 0
	for p := f.next(text, 0); p < len(text); {
		// The character before may join what follows, so the place includes it.
		begin := p
		if begin > done {
			_, size := utf8.DecodeLastRune(text[done:begin])
			begin -= size
		}
		dst = append(dst, text[done:begin]...)
		runes = runes[:0]
		end := begin
		for end < len(text) {
			r, size := utf8.DecodeRune(text[end:])
			if end >= p && !f.affected(r) {
				break
			}
			runes = f.split(runes, r)
			end += size
		}
		dst = f.finish(dst, runes)
		done, changed = end, true
		p = f.next(text, end)
	}
	return append(dst, text[done:]...), changed
}

// next returns the place of the first character from p on that the form may change, or the end.
func (f *Form) next(text []byte, p int) int {
	for p < len(text) {
		if text[p] < f.first {
			p++
			continue
		}
		r, size := utf8.DecodeRune(text[p:])
		if f.affected(r) {
			return p
		}
		p += size
	}
	return p
}

// A mark is a code point with its combining class in the upper byte.
type mark uint32

func (m mark) class() uint8 { return uint8(m >> 24) }
func (m mark) rune() rune   { return rune(m & (1<<24 - 1)) }

// split appends the decomposition of r.
func (f *Form) split(dst []mark, r rune) []mark {
	if r >= syllableFirst && r <= syllableLast {
		return splitSyllable(dst, r)
	}
	k := f.points.kinds[f.points.kind(r)]
	text := k.canonical
	if f.compat && k.compat > 0 {
		text = k.compat
	}
	if text == 0 {
		return append(dst, mark(k.class)<<24|mark(r))
	}
	for _, r := range f.points.texts[text] {
		dst = append(dst, mark(f.points.kinds[f.points.kind(r)].class)<<24|mark(r))
	}
	return dst
}

// finish appends runes in order, and composed if the form composes.
func (f *Form) finish(dst []byte, runes []mark) []byte {
	for i := 0; i < len(runes); i++ {
		if runes[i].class() == 0 {
			continue
		}
		begin := i
		for i < len(runes) && runes[i].class() != 0 {
			i++
		}
		sortMarks(runes[begin:i])
	}
	if f.compose {
		runes = f.join(runes)
	}
	for _, m := range runes {
		dst = utf8.AppendRune(dst, m.rune())
	}
	return dst
}

// sortMarks sorts by class and keeps the order within one.
func sortMarks(marks []mark) {
	const few = 16
	if len(marks) <= few {
		for i := 1; i < len(marks); i++ {
			for j := i; j > 0 && marks[j].class() < marks[j-1].class(); j-- {
				marks[j], marks[j-1] = marks[j-1], marks[j]
			}
		}
		return
	}
	var starts [257]int
	for _, m := range marks {
		starts[int(m.class())+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	for _, m := range slices.Clone(marks) {
		marks[starts[m.class()]] = m
		starts[m.class()]++
	}
}

// join composes runes in place: each with the starter before it, unless a mark between them has the
// same class.
func (f *Form) join(runes []mark) []mark {
	starter, between, n := -1, -1, 0 // between is the class of the last rune after the starter, or -1
	for _, m := range runes {
		class := int(m.class())
		if starter >= 0 && between < class {
			if r, ok := f.pair(runes[starter].rune(), m.rune()); ok {
				runes[starter] = mark(r)
				continue
			}
		}
		between = class
		if class == 0 {
			starter, between = n, -1
		}
		runes[n] = m
		n++
	}
	return runes[:n]
}

func (f *Form) pair(a, b rune) (rune, bool) {
	if r, ok := joinSyllable(a, b); ok {
		return r, true
	}
	r, ok := f.points.compose[[2]rune{a, b}]
	return r, ok
}
