package cut

import (
	"sync"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// Classes makes words of the longest runs of characters of one class. A character of class single is
// a word.
type Classes struct{ of *property.Classes }

const single = 0

func newClasses(of func(property.Set) uint8) *Classes {
	return &Classes{property.Load().Classes(of)}
}

// White makes words of white space, and of all text between, as WhitespaceSplit does.
var White = sync.OnceValue(func() *Classes {
	return newClasses(func(s property.Set) uint8 {
		if s&property.White != 0 {
			return 1
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
			return 1
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
			return 1
		case s&property.Punct != 0:
			return single
		}
		return 2
	})
})

// Cut implements [Cutter].
func (c *Classes) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		r, size := t.Rune(p)
		class := c.of.Of(rune(r))
		p += size
		for class != single && p < end {
			r, size := t.Rune(p)
			if c.of.Of(rune(r)) != class {
				break
			}
			p += size
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}
