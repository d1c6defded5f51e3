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
	piece piece
}

// NewText returns the text of a View.
func NewText(v char.View) Text { return Text{View: v} }

// A piece is a part of the text that an outer pattern found and an inner pattern cuts. It may be as long as the text,
// so its end is kept: to look for it in each call would take quadratic time.
type piece struct{ begin, end int }

// has reports whether a call that continues at p is inside the piece.
func (s piece) has(p int) bool { return s.begin < p && p < s.end }

// Whole is the Cutter of a text that is one word.
type Whole struct{}

// Cut implements Cutter.
func (Whole) Cut(_ *Text, p, end int, ends []uint32) (n, next int) {
	if p >= end {
		return 0, p
	}
	ends[0] = uint32(end)
	return 1, end
}
