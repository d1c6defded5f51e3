package cut

import (
	"sync"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// Classes makes words of the longest runs of characters of one class. A character of class single is
// a word.
type Classes struct {
	of    *property.Classes
	ascii [utf8.RuneSelf]uint8
	space bool // a word starts with a space before it
}

const (
	single = 0
	blank  = 1 // white space, if it is a class
)

func newClasses(of func(property.Set) uint8) *Classes {
	c := &Classes{of: property.Load().Classes(of)}
	for b := range c.ascii {
		c.ascii[b] = c.of.Of(rune(b))
	}
	return c
}

// WithSpace returns Classes whose words start with a space that is before them, if white space is a
// class. There are half as many words.
func (c *Classes) WithSpace() *Classes {
	return &Classes{of: c.of, ascii: c.ascii, space: c.ascii[' '] == blank && c.ascii['a'] != blank}
}

// White makes words of white space, and of all text between, as WhitespaceSplit does.
var White = sync.OnceValue(func() *Classes {
	return newClasses(func(s property.Set) uint8 {
		if s&property.White != 0 {
			return blank
		}
		return 2
	})
})

// Words is the pre-tokenizer Whitespace, with words of white space between:
//
//	\w+|[^\w\s]+|\s+
var Words = sync.OnceValue(func() *Classes {
	return newClasses(func(s property.Set) uint8 {
		switch {
		case s&property.White != 0:
			return blank
		case s&property.Word != 0:
			return 2
		}
		return 3
	})
})

// Punctuation makes a word of each punctuation character, and words of all text between.
var Punctuation = sync.OnceValue(func() *Classes {
	return newClasses(func(s property.Set) uint8 {
		if s&property.Punct != 0 {
			return single
		}
		return 1
	})
})

// Bert is the pre-tokenizer of BERT, with words of white space: it is White, then Punctuation.
var Bert = sync.OnceValue(func() *Classes {
	return newClasses(func(s property.Set) uint8 {
		switch {
		case s&property.White != 0:
			return blank
		case s&property.Punct != 0:
			return single
		}
		return 2
	})
})

// Cut implements [Cutter].
func (c *Classes) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		begin := p
		class, size := c.class(t, p)
		p += size
		if c.space && t.At(begin) == ' ' && p < end {
			class, size = c.class(t, p)
			p += size
		}
		p = c.run(t, p, end, class)
		if c.space && class == blank && p < end && t.At(p-1) == ' ' && p-1 > begin {
			p-- // it starts the next word
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

// run returns the end of the characters of a class from p on.
func (c *Classes) run(t *Text, p, end int, class uint8) int {
	for class != single && p < end {
		if b := t.At(p); b < utf8.RuneSelf {
			if c.ascii[b] != class {
				break
			}
			p++
			continue
		}
		r, size := t.Rune(p)
		if c.of.Of(rune(r)) != class {
			break
		}
		p += size
	}
	return p
}

// class returns the class and the size of the character at p.
func (c *Classes) class(t *Text, p int) (class uint8, size int) {
	if b := t.At(p); b < utf8.RuneSelf {
		return c.ascii[b], 1
	}
	r, size := t.Rune(p)
	return c.of.Of(rune(r)), size
}
