package bpe

import "github.com/shardfeed/shardfeed/tokenize/internal/cut"

// A Divider is the Cutter of a text that is one word. It cuts between characters that no token has
// side by side, so the parts have the tokens that the whole has.
type Divider struct{ crossings *crossings }

// Divider returns the Divider of the model's words. ok is false if they must stay whole.
func (m *Model) Divider() (d Divider, ok bool) {
	return Divider{m.crossings}, m.crossings != nil && len(m.rare.ids) == 0
}

// Cut implements [cut.Cutter].
func (d Divider) Cut(t *cut.Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		p = d.crossings.part(t.View, p, end)
		ends[n] = uint32(p)
		n++
	}
	return n, p
}
