package normal

import (
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
	starts  []bool // by number of kind: whether nothing that the character becomes joins what is before it
	parts   int    // the largest number of code points that a character becomes
	most    int    // the largest number of bytes that a byte becomes
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
	f.starts = make([]bool, len(f.points.kinds))
	f.parts, f.most = 3, 3 // a syllable becomes three characters of its size
	for i, k := range f.points.kinds {
		if text := f.text(k); text != "" {
			first, _ := utf8.DecodeRuneInString(text)
			k = f.points.kinds[f.points.kind(first)]
			f.parts, f.most = max(f.parts, utf8.RuneCountInString(text)), max(f.most, (len(text)+1)/2)
		}
		f.starts[i] = k.class == 0 && !k.joins
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
	var m marks
	done := 0
	for p := f.next(text, 0); p < len(text); {
		// The character before may join what follows, so the place includes it.
		begin := p
		if begin > done {
			_, size := utf8.DecodeLastRune(text[done:begin])
			begin -= size
		}
		dst = append(dst, text[done:begin]...)
		m.of = m.of[:0]
		end := begin
		for end < len(text) {
			r, size := utf8.DecodeRune(text[end:])
			if end > p && f.ends(r) {
				break
			}
			if len(m.of)+f.parts > cap(m.of) {
				n, _, _ := f.place(text, end)
				m.grow(n + f.parts)
			}
			m.of = f.split(m.of, r)
			end += size
		}
		dst = f.finish(dst, &m)
		done, changed = end, true
		p = f.next(text, end)
	}
	if !changed {
		return dst, false
	}
	return append(dst, text[done:]...), true
}

// ends reports whether r is behind the end of a place: it stays as it is, or nothing joins it to
// what is before.
func (f *Form) ends(r rune) bool { return !f.affected(r) || f.starts[f.points.kind(r)] }

// Needs implements [Normalizer]. Composing makes text shorter.
func (f *Form) Needs(text []byte) (size, beside int) {
	if n := f.most * len(text); n <= Loose {
		return n, 0
	}
	done := 0
	for p := f.next(text, 0); p < len(text); p = f.next(text, done) {
		n, bytes, end := f.place(text, p)
		size += p - done + bytes
		if n > fewMarks {
			beside += 2 * markBytes * (n + f.parts)
		}
		done = end
	}
	if done == 0 {
		return 0, 0
	}
	return size + len(text) - done, beside
}

// place returns the decomposed code points and bytes of a place from p on, and its end.
func (f *Form) place(text []byte, p int) (n, bytes, end int) {
	for end = p; end < len(text); {
		r, size := utf8.DecodeRune(text[end:])
		if end > p && f.ends(r) {
			break
		}
		end += size
		switch text := f.text(f.points.kinds[f.points.kind(r)]); {
		case r >= syllableFirst && r <= syllableLast:
			n, bytes = n+3, bytes+3*size
		case text == "":
			n, bytes = n+1, bytes+size
		default:
			n, bytes = n+utf8.RuneCountInString(text), bytes+len(text)
		}
	}
	return n, bytes, end
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

// marks are the code points of a place, and room for a copy while they are sorted.
type marks struct{ of, copied []mark }

const (
	fewMarks  = 64 // of a place, not counted
	markBytes = 5  // of a mark in a buffer, whose size is rounded up
)

// grow makes room for n more code points.
func (m *marks) grow(n int) {
	m.of = append(make([]mark, 0, max(len(m.of)+n, fewMarks)), m.of...)
}

// text returns the decomposition of a kind, or "".
func (f *Form) text(k point) string {
	if f.compat && k.compat > 0 {
		return f.points.texts[k.compat]
	}
	return f.points.texts[k.canonical]
}

// split appends the decomposition of r.
func (f *Form) split(dst []mark, r rune) []mark {
	if r >= syllableFirst && r <= syllableLast {
		return splitSyllable(dst, r)
	}
	k := f.points.kinds[f.points.kind(r)]
	text := f.text(k)
	if text == "" {
		return append(dst, mark(k.class)<<24|mark(r))
	}
	for _, r := range text {
		dst = append(dst, mark(f.points.kinds[f.points.kind(r)].class)<<24|mark(r))
	}
	return dst
}

// finish appends code points in order, and composed if the form composes.
func (f *Form) finish(dst []byte, m *marks) []byte {
	runes := m.of
	for i := 0; i < len(runes); i++ {
		if runes[i].class() == 0 {
			continue
		}
		begin := i
		for i < len(runes) && runes[i].class() != 0 {
			i++
		}
		m.sort(runes[begin:i])
	}
	if f.compose {
		runes = f.join(runes)
	}
	for _, m := range runes {
		dst = utf8.AppendRune(dst, m.rune())
	}
	return dst
}

// sort sorts by class and keeps the order within one.
func (m *marks) sort(marks []mark) {
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
	for _, of := range marks {
		starts[int(of.class())+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	if cap(m.copied) < len(marks) {
		m.copied = make([]mark, len(marks))
	}
	for _, of := range m.copied[:copy(m.copied[:len(marks)], marks)] {
		marks[starts[of.class()]] = of
		starts[of.class()]++
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
