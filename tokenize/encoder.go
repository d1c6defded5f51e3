package tokenize

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/added"
	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

const (
	wordsAtOnce = 256
	maxText     = 1<<31 - 1<<16 // bytes: ends of words are uint32, and normalizers lengthen text
)

// ErrNotUTF8 is the error of a text that is not valid UTF-8.
var ErrNotUTF8 = errors.New("the text is not valid UTF-8")

// A SpecialError is the error of a text with a special token, with SpecialsError.
type SpecialError struct {
	Token  string
	Offset int // in the text, in bytes; in the normalized text if the token is normalized
}

func (e *SpecialError) Error() string {
	return fmt.Sprintf("the text contains the special token %q at byte %d", e.Token, e.Offset)
}

// An Encoder turns texts into tokens. One goroutine may use it.
type Encoder struct {
	t       *Tokenizer
	options Options
	words   words.Encoder
	ends    [wordsAtOnce]uint32
	norm    stage
	prepare stage

	prepareFirst stage
	padded       []byte
	counted      []int32
	specials     int64
	scratch      words.Scratch

	most int // tokens that are needed of a document, with what dst had before
	cut  int64
}

// NewEncoder returns an encoder of valid options.
func (t *Tokenizer) NewEncoder(o Options) *Encoder {
	o = o.withDefaults()
	e := &Encoder{t: t, options: o}
	e.words = t.model.NewEncoder(o.CacheBytes, &e.scratch)
	e.norm = stage{rewriters: t.normalize, scratch: &e.scratch}
	e.prepare = stage{rewriters: t.prepare, scratch: &e.scratch}
	e.prepareFirst = stage{rewriters: t.prepareFirst, scratch: &e.scratch}
	return e
}

// Allow sets the function that allows the memory of long texts: the encoder calls it before it
// takes more, with the bytes that the text takes beside Memory, its tokens among them. If ask
// panics, the encoder is of no more use.
func (e *Encoder) Allow(ask func(bytes int64)) { e.scratch.Ask = ask }

// Grow returns dst with room for n more numbers, which count as memory of the last text.
func (e *Encoder) Grow(dst []int32, n int) []int32 { return words.Grow(&e.scratch, dst, n) }

// Append appends the tokens of a text to dst. If it returns an error, dst is returned unchanged.
func (e *Encoder) Append(dst []int32, text []byte) ([]int32, error) {
	return e.Join(dst, [][]byte{text}, nil)
}

// Join appends the tokens of a document that consists of several texts. Each text is encoded
// separately; the template and MaxTokens are the document's. bounds gets the token of the document
// at which each text starts and, as its last element, where the last text ends; it may be nil.
func (e *Encoder) Join(dst []int32, texts [][]byte, bounds []int) ([]int32, error) {
	e.scratch.Reset()
	texts, err := e.valid(texts)
	if err != nil {
		return dst, err
	}
	defer e.trim()
	var around template
	if e.options.Template {
		around = e.t.template
	}
	if e.most = math.MaxInt; e.options.MaxTokens > 0 {
		e.most = len(dst) + e.options.MaxTokens - len(around.after)
	}
	out, cut := append(dst, around.before...), false
	for i, text := range texts {
		if bounds != nil {
			bounds[i] = len(out) - len(dst)
		}
		if out, err = e.text(out, text); err != nil {
			return dst, err
		}
		if len(out) > e.most {
			out, cut = out[:e.most], true
		}
	}
	if bounds != nil {
		bounds[len(texts)] = len(out) - len(dst)
	}
	if cut {
		e.cut++
	}
	return append(out, around.after...), nil
}

// valid refuses texts that have no tokens, or returns them with other bytes replaced.
func (e *Encoder) valid(texts [][]byte) ([][]byte, error) {
	n, copied := 0, false
	for i, text := range texts {
		if !utf8.Valid(text) {
			if !e.options.Repair {
				return nil, ErrNotUTF8
			}
			if !copied {
				texts, copied = slices.Clone(texts), true
			}
			text = e.replaced(text)
			texts[i] = text
		}
		if n += len(text); n > maxText {
			return nil, fmt.Errorf("the text has %d bytes, at most %d are possible", n, maxText)
		}
	}
	return texts, nil
}

// replaced returns a text with U+FFFD for each byte that is not part of a character.
func (e *Encoder) replaced(text []byte) (out []byte) {
	size := 0
	for p := 0; p < len(text); {
		r, n := utf8.DecodeRune(text[p:])
		size, p = size+utf8.RuneLen(r), p+n
	}
	out = words.Grow(&e.scratch, out, size)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		out, text = utf8.AppendRune(out, r), text[n:]
	}
	return out
}

// Count returns the number of tokens of the document that Join makes of texts.
func (e *Encoder) Count(texts ...[]byte) (int, error) {
	ids, err := e.Join(e.counted[:0], texts, nil)
	e.counted = words.Trim(ids)
	return len(ids), err
}

// Specials returns the number of special tokens that texts contained so far.
func (e *Encoder) Specials() int64 { return e.specials }

// Cut returns the number of documents that MaxTokens has cut so far.
func (e *Encoder) Cut() int64 { return e.cut }

// Memory returns the bytes of the encoder's caches and buffers.
func (e *Encoder) Memory() int64 {
	return e.words.Memory() + e.norm.memory() + e.prepare.memory() + e.prepareFirst.memory() + int64(cap(e.padded)+4*cap(e.counted)+4*wordsAtOnce)
}

// trim drops large buffers, so that one long text does not hold memory.
func (e *Encoder) trim() {
	e.norm.trim()
	e.prepare.trim()
	e.prepareFirst.trim()
	e.words.Trim()
	e.padded = words.Trim(e.padded)
}

// text appends the tokens of a whole text.
func (e *Encoder) text(dst []int32, text []byte) (out []int32, err error) {
	return e.pieces(dst, e.t.raw, text, true, (*Encoder).piece)
}

// piece appends the tokens of text in which no token of t.raw is.
func (e *Encoder) piece(dst []int32, text []byte, first bool) (out []int32, err error) {
	text = e.norm.apply(text)
	return e.pieces(dst, e.t.normalized, text, first, (*Encoder).plain)
}

// pieces finds the tokens of a set in text, and calls then for the text between them.
func (e *Encoder) pieces(dst []int32, set *added.Set, text []byte, first bool,
	then func(e *Encoder, dst []int32, text []byte, first bool) ([]int32, error),
) (out []int32, err error) {
	p := 0
	for f := set.Find(text, e.options.Specials != SpecialsText); ; {
		m, ok := f.Next()
		if !ok {
			break
		}
		if m.Token.Special {
			if e.options.Specials == SpecialsError {
				name, _ := e.t.tokens.Text(m.Token.ID)
				return dst, &SpecialError{Token: name, Offset: m.Start}
			}
			e.specials++
		}
		if m.Start > p {
			if dst, err = then(e, dst, text[p:m.Start], first && p == 0); err != nil {
				return dst, err
			}
		}
		dst = append(words.Grow(&e.scratch, dst, 1), m.Token.ID)
		p = m.End
	}
	if p == len(text) {
		return dst, nil
	}
	return then(e, dst, text[p:], first && p == 0)
}

// plain appends the tokens of normalized text without added tokens.
func (e *Encoder) plain(dst []int32, text []byte, first bool) (out []int32, err error) {
	prepare := &e.prepare
	if first {
		prepare = &e.prepareFirst
	}
	text = prepare.apply(text)
	if cap(text)-len(text) < char.Slack {
		e.padded = char.Pad(words.Grow(&e.scratch, e.padded[:0], len(text)+char.Slack), text)
		text = e.padded
	}
	t := cut.NewText(char.Of(text))
	for p := 0; p < len(text) && len(dst) <= e.most; {
		n, next := e.t.cutter.Cut(&t, p, len(text), e.ends[:])
		dst = e.words.Append(dst, t.View, p, e.ends[:n])
		p = next
	}
	return dst, nil
}
