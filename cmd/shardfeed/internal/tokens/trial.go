package tokens

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/tokenize"
)

// Figures summarize a Trial.
type Figures struct {
	Documents   int64   `json:"documents"`
	Bytes       int64   `json:"bytes"` // of documents in UTF-8
	Tokens      int64   `json:"tokens"`
	Trained     *int64  `json:"trained_tokens"`  // null without labels
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
	columns   []string
	trained   []bool // by column; nil if there are no labels
	show      int    // documents that are still to be shown
	views     []View
	ids       []int32
	bounds    []int // see [tokenize.Encoder.Join]
	f         Figures
	spent     time.Duration
}

// NewTrial returns a trial with the options of a tokenizer, that keeps views of the first show
// documents. A document has a text for each column of Join.
func NewTrial(t *tokenize.Tokenizer, of shardfeed.Tokenizer, show int) (*Trial, error) {
	o := tokenize.Options{Specials: tokenize.Specials(of.Specials), Template: of.Template}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	for i, name := range of.Join {
		if name == "" || slices.Contains(of.Join[:i], name) {
			return nil, fmt.Errorf("--join must name different columns, got %q", of.Join)
		}
	}
	r := &Trial{tokenizer: t, encoder: t.NewEncoder(o), columns: of.Join, show: show, bounds: make([]int, len(of.Join)+1)}
	for _, name := range of.Labels {
		if !slices.Contains(of.Join, name) {
			return nil, fmt.Errorf("--labels must name columns of --join, got %q", name)
		}
	}
	if of.Labels != nil {
		r.f.Trained = new(int64)
		for _, name := range of.Join {
			r.trained = append(r.trained, slices.Contains(of.Labels, name))
		}
	}
	return r, nil
}

// Rows adds the documents of rows, whose texts are in arrays of the columns' names. It leaves out
// rows with a null.
func (t *Trial) Rows(arrays []*column.Array) error {
	texts := make([][]byte, len(t.columns))
	for row := range arrays[0].Len {
		null := false
		for _, a := range arrays {
			if null = null || a.IsNull(row); !null {
				texts[slices.Index(t.columns, a.Field.Name)] = a.Data[a.Offsets[row]:a.Offsets[row+1]]
			}
		}
		if !null {
			if err := t.Add(texts); err != nil {
				return err
			}
		}
	}
	return nil
}

// Add encodes a document.
func (t *Trial) Add(texts [][]byte) error {
	before, start := t.encoder.Specials(), time.Now()
	ids, err := t.encoder.Join(t.ids[:0], texts, t.bounds)
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
	for _, text := range texts {
		t.f.Bytes += int64(len(text))
	}
	t.f.Tokens += int64(len(ids))
	if t.encoder.Specials() > before {
		t.f.WithSpecial++
	}
	labels := t.labels(len(ids))
	for _, trained := range labels {
		if trained {
			*t.f.Trained++
		}
	}
	if t.show > 0 {
		t.show--
		t.views = append(t.views, newView(t.tokenizer, ids, labels))
	}
	return nil
}

// labels reports which of a document's n tokens are trained. What the template adds after the last
// text belongs to that.
func (t *Trial) labels(n int) (labels []bool) {
	if t.trained == nil {
		return nil
	}
	labels = make([]bool, n)
	for i, trained := range t.trained {
		end := t.bounds[i+1]
		if i == len(t.trained)-1 {
			end = n
		}
		for at := t.bounds[i]; at < end; at++ {
			labels[at] = trained
		}
	}
	return labels
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
