package cut

import "github.com/shardfeed/shardfeed/tokenize/internal/char"

// A Cutter divides text into words.
type Cutter interface {
	// Cut stores the ends of the words of t between p and end, as many as ends takes. It returns
	// their number and the end of the last. p is 0 or the end of a word that an earlier call for
	// t returned.
	Cut(t *Text, p, end int, ends []uint32) (n, next int)
}

// A Text is a text while it is cut.
type Text struct {
	char.View
	pieces [maxNested]piece
}

// NewText returns the text of a View.
func NewText(v char.View) Text { return Text{View: v} }

// Whole is the Cutter of a text that is one word.
type Whole struct{}

// Cut implements [Cutter].
func (Whole) Cut(_ *Text, p, end int, ends []uint32) (n, next int) {
	if p >= end {
		return 0, p
	}
	ends[0] = uint32(end)
	return 1, end
}
