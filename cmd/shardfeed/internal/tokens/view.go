package tokens

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/tokenize"
)

// A View is the start of a document.
type View struct {
	Pieces []Piece `json:"pieces"`
	More   int     `json:"more"` // tokens that are left out
	labels bool
}

// A Piece is the text of one token, or of some that share a character.
type Piece struct {
	Text    string  `json:"text"`
	IDs     []int32 `json:"ids"`
	Trained bool    `json:"trained"` // always without labels
}

// maxTokens limits a View.
const maxTokens = 100

// newView shows tokens; labels reports which are trained, nil all.
func newView(t *tokenize.Tokenizer, ids []int32, labels []bool) (v View) {
	shown := min(len(ids), maxTokens)
	v = View{Pieces: []Piece{}, More: len(ids) - shown, labels: labels != nil}
	var piece []byte
	for begin, end := 0, 1; end <= shown; end++ {
		piece = append(piece, t.Piece(ids[end-1])...)
		trained := labels == nil || labels[begin]
		if utf8.Valid(piece) || end == shown || labels != nil && labels[end] != trained {
			v.Pieces = append(v.Pieces, Piece{Text: string(piece), IDs: slices.Clone(ids[begin:end]), Trained: trained})
			piece, begin = piece[:0], end
		}
	}
	return v
}

// backgrounds are colours of neighbours, and greys of neighbours that are not trained.
var (
	backgrounds = [...]string{"\x1b[48;5;153m", "\x1b[48;5;194m", "\x1b[48;5;223m", "\x1b[48;5;218m"}
	greys       = [...]string{"\x1b[48;5;250m", "\x1b[48;5;254m"}
)

const (
	black = "\x1b[38;5;16m"
	reset = "\x1b[0m"
)

// Text returns the pieces in one line. Control characters are escaped. Without colours there are
// bars between pieces and, with labels, guillemets around the ones that are trained.
func (v View) Text(colours bool) string {
	var b strings.Builder
	for i, p := range v.Pieces {
		text := printable.Text(p.Text)
		if !colours {
			b.WriteString(v.mark(i) + text)
			continue
		}
		background := backgrounds[i%len(backgrounds)]
		if !p.Trained {
			background = greys[i%len(greys)]
		}
		b.WriteString(background + black + text + reset)
	}
	if !colours {
		b.WriteString(v.mark(len(v.Pieces)))
	}
	if v.More > 0 {
		fmt.Fprintf(&b, " … %d more", v.More)
	}
	return b.String()
}

// mark returns what is written before piece i without colours.
func (v View) mark(i int) string {
	before := v.labels && i > 0 && v.Pieces[i-1].Trained
	after := v.labels && i < len(v.Pieces) && v.Pieces[i].Trained
	switch {
	case before && !after:
		return "»"
	case after && !before:
		return "«"
	case i == 0 || i == len(v.Pieces):
		return ""
	}
	return "|"
}
