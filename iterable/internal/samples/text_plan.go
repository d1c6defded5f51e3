package samples

import (
	"slices"

	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A TextPlan describes a column that gets tokens.
type TextPlan struct {
	Column      string   `json:"column"`
	Sources     []string `json:"sources,omitempty"` // of a mixture, that have this tokenizer
	Tokenizer   string   `json:"tokenizer"`         // its address; "" if the content was given
	Parts       []string `json:"parts"`             // of the tokenizer, in words
	Vocabulary  int      `json:"vocabulary"`
	Fingerprint string   `json:"fingerprint"`
	FileBytes   int64    `json:"file_bytes"` // of the texts of all rows, by the footers; 0 if they do not have it
	Texts       *Texts   `json:"counted"`    // of an epoch; null if they were not counted, as without packing and buckets, or an earlier version counted them
	Measured    bool     `json:"-"`          // packing or buckets count its tokens
	WorkBytes   int64    `json:"count_text_bytes"`
	WorkSeconds float64  `json:"count_cpu_seconds"` // of processors, to count these bytes; 0: the counts were kept

	// What this start predicted when it began to count; 0 if it counted little text.
	PredictedBytes   int64   `json:"predicted_text_bytes"`
	PredictedSeconds float64 `json:"predicted_seconds"`

	line string // of the tokenizer
}

// NewTextPlans describes the columns of a table that get tokens. pack may be nil.
func NewTextPlans(c *transform.Columns, m *rowgroup.Reader, pack *Packing, counted Totals) (all []TextPlan) {
	for _, of := range c.Tokenizers() {
		p := TextPlan{Column: of.Column, Tokenizer: of.Name, Parts: of.Parts(), Vocabulary: of.VocabSize(), Fingerprint: of.Fingerprint(), line: of.Line()}
		for g := range m.Groups() {
			for _, col := range of.From {
				p.FileBytes += m.FileBytes(g, col, nil)
			}
		}
		if pack != nil && pack.texts == of {
			p.Measured = true
			p.Texts, p.WorkBytes, p.WorkSeconds = counted.Texts, counted.Work.Bytes, counted.Work.Took.Seconds()
			if e := counted.Predicted; e != nil {
				p.PredictedBytes, p.PredictedSeconds = e.Bytes, e.Took().Seconds()
			}
		}
		all = append(all, p)
	}
	return all
}

// AddTextPlans adds the texts of another source. Texts of one tokenizer are added up.
func AddTextPlans(to, more []TextPlan, source string) []TextPlan {
	for _, of := range more {
		if source != "" && source != shuffle.OnlySource {
			of.Sources = []string{source}
		}
		at := slices.IndexFunc(to, func(p TextPlan) bool { return p.Column == of.Column && p.line == of.line })
		if at < 0 {
			to = append(to, of)
			continue
		}
		p := &to[at]
		p.Sources = append(p.Sources, of.Sources...)
		p.PredictedBytes, p.PredictedSeconds = p.PredictedBytes+of.PredictedBytes, p.PredictedSeconds+of.PredictedSeconds
		p.FileBytes, p.WorkBytes, p.WorkSeconds = p.FileBytes+of.FileBytes, p.WorkBytes+of.WorkBytes, p.WorkSeconds+of.WorkSeconds
		if p.Texts == nil || of.Texts == nil {
			p.Texts = nil
			continue
		}
		sum := *p.Texts
		sum.Add(*of.Texts)
		p.Texts = &sum
	}
	return to
}
