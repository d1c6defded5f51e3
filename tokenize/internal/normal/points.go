package normal

import (
	_ "embed"
	"encoding/binary"
	"sync"
	"unicode/utf8"
)

//go:embed forms.bin
var formsData []byte

const (
	pageBits   = 7
	pageSize   = 1 << pageBits
	codePoints = 0x110000
)

// A point has the effects of normal forms on a code point. Most code points have the one without
// effect, whose number is 0.
type point struct {
	class                    uint8 // combining class as a rank, 0 for a starter
	joins                    bool  // a composition has it as its second character
	composed                 bool  // its canonical decomposition composes to it again
	canonical, compat, lower uint16
}

// points maps code points to what normal forms do to them.
type points struct {
	pageOf  [codePoints / pageSize]uint16
	pages   [][pageSize]uint16 // numbers of kinds
	kinds   []point
	texts   []string // the first one is empty: no text
	compose map[[2]rune]rune
}

var loadPoints = sync.OnceValue(func() *points { return (&tableReader{data: formsData}).points() })

// kind returns the number of the kind of r.
func (p *points) kind(r rune) uint16 { return p.pages[p.pageOf[r>>pageBits]][r&(pageSize-1)] }

// A tableReader reads forms.bin.
type tableReader struct {
	data  []byte
	of    map[rune]point
	texts map[string]uint16
	list  []string
}

func (t *tableReader) next() int {
	v, n := binary.Uvarint(t.data)
	t.data = t.data[n:]
	return int(v)
}

func (t *tableReader) points() *points {
	t.of, t.texts, t.list = map[rune]point{}, map[string]uint16{"": 0}, []string{""}
	t.classes()
	t.each(func(p *point, _ rune, text string) { p.canonical = t.text(text) })
	t.each(func(p *point, _ rune, text string) { p.compat = t.text(text) })
	compose := map[[2]rune]rune{}
	t.each(func(p *point, r rune, text string) {
		p.composed = true
		first, size := utf8.DecodeRuneInString(text)
		second, _ := utf8.DecodeRuneInString(text[size:])
		compose[[2]rune{first, second}] = r
	})
	for pair := range compose {
		t.set(pair[1], func(p *point) { p.joins = true })
	}
	for r := rune(vowelFirst); r <= finalLast; r++ {
		t.set(r, func(p *point) { p.joins = true })
	}
	t.each(func(p *point, _ rune, text string) { p.lower = t.text(text) })
	ps := &points{texts: t.list, compose: compose}
	ps.build(t.of)
	return ps
}

func (t *tableReader) set(r rune, change func(*point)) {
	p := t.of[r]
	change(&p)
	t.of[r] = p
}

func (t *tableReader) classes() {
	r := rune(0)
	for range t.next() {
		r += rune(t.next())
		length, class := rune(t.next()), uint8(t.next())
		for end := r + length; r < end; r++ {
			t.of[r] = point{class: class}
		}
	}
}

// each reads a map of code points to texts.
func (t *tableReader) each(add func(p *point, r rune, text string)) {
	r := rune(0)
	for range t.next() {
		r += rune(t.next())
		var text []byte
		last := r
		for range t.next() {
			v := t.next()
			last += rune(v>>1) ^ -rune(v&1)
			text = utf8.AppendRune(text, last)
		}
		t.set(r, func(p *point) { add(p, r, string(text)) })
		r++
	}
}

// text returns the number of a text.
func (t *tableReader) text(s string) uint16 {
	n, ok := t.texts[s]
	if !ok {
		n = uint16(len(t.list))
		t.texts[s] = n
		t.list = append(t.list, s)
	}
	return n
}

// build makes the pages of all code points.
func (p *points) build(of map[rune]point) {
	numbers, known := map[point]uint16{{}: 0}, map[[pageSize]uint16]uint16{}
	p.kinds = []point{{}}
	for first := rune(0); first < codePoints; first += pageSize {
		var page [pageSize]uint16
		for i := range page {
			k := of[first+rune(i)]
			n, ok := numbers[k]
			if !ok {
				n = uint16(len(p.kinds))
				numbers[k] = n
				p.kinds = append(p.kinds, k)
			}
			page[i] = n
		}
		at, ok := known[page]
		if !ok {
			at = uint16(len(p.pages))
			known[page] = at
			p.pages = append(p.pages, page)
		}
		p.pageOf[first/pageSize] = at
	}
}
