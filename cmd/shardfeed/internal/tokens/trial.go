package tokens

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize"
)

// Figures summarize a Trial.
type Figures struct {
	Documents   int64   `json:"documents"`
	Bytes       int64   `json:"bytes"` // of documents in UTF-8
	Tokens      int64   `json:"tokens"`
	TokenBytes  float64 `json:"bytes_per_token"` // 0 without tokens
	Seconds     float64 `json:"seconds"`         // of one thread
	ByteRate    float64 `json:"bytes_per_second"`
	WithSpecial int64   `json:"documents_with_special_tokens"`
	NotUTF8     int64   `json:"documents_not_utf8"` // they have no tokens
	CacheBytes  int64   `json:"encoder_bytes"`
}

// A Trial encodes documents with one encoder.
type Trial struct {
	tokenizer *tokenize.Tokenizer
	encoder   *tokenize.Encoder
	show      int // documents that are still to be shown
	views     []View
	ids       []int32
	f         Figures
	spent     time.Duration
}

// NewTrial returns a trial that keeps views of the first show documents.
func NewTrial(t *tokenize.Tokenizer, show int) *Trial {
	return &Trial{tokenizer: t, encoder: t.NewEncoder(tokenize.Options{}), show: show}
}

// Add encodes a document.
func (t *Trial) Add(text []byte) error {
	before, start := t.encoder.Specials(), time.Now()
	ids, err := t.encoder.Append(t.ids[:0], text)
	t.spent += time.Since(start)
	t.ids = ids
	t.f.Documents++
	if errors.Is(err, tokenize.ErrNotUTF8) {
		t.f.NotUTF8++
		return nil
	}
	if err != nil {
		return err
	}
	t.f.Bytes += int64(len(text))
	t.f.Tokens += int64(len(ids))
	if t.encoder.Specials() > before {
		t.f.WithSpecial++
	}
	if t.show > 0 {
		t.show--
		t.views = append(t.views, newView(t.tokenizer, ids))
	}
	return nil
}

// Figures returns the figures so far.
func (t *Trial) Figures() Figures {
	f := t.f
	f.Seconds, f.CacheBytes = t.spent.Seconds(), t.encoder.Memory()
	if f.Tokens > 0 {
		f.TokenBytes = float64(f.Bytes) / float64(f.Tokens)
	}
	if f.Seconds > 0 {
		f.ByteRate = float64(f.Bytes) / f.Seconds
	}
	return f
}

// Views returns the views of the first documents.
func (t *Trial) Views() []View { return t.views }

// A View is the start of a document, in pieces of one token, or of some that share a character.
type View struct {
	pieces []string
	more   int // tokens that are left out
}

// maxTokens limits a View.
const maxTokens = 100

func newView(t *tokenize.Tokenizer, ids []int32) (v View) {
	shown := ids[:min(len(ids), maxTokens)]
	v.more = len(ids) - len(shown)
	var piece []byte
	for i, id := range shown {
		piece = append(piece, t.Piece(id)...)
		if utf8.Valid(piece) || i == len(shown)-1 {
			v.pieces = append(v.pieces, string(piece))
			piece = piece[:0]
		}
	}
	return v
}
