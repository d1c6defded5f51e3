package samples

import (
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// Texts sums documents whose tokens were counted. A row that comes several times counts as often.
type Texts struct {
	Documents int64 `json:"documents"`  // with tokens
	Bytes     int64 `json:"text_bytes"` // of UTF-8
	Tokens    int64 `json:"tokens"`     // without what a packing writes around documents
	Special   int64 `json:"documents_with_special_tokens"`
}

// textNumbers is how many numbers are kept of the texts of a unit.
const textNumbers = 4

func (t *Texts) numbers() [textNumbers]*int64 {
	return [textNumbers]*int64{&t.Documents, &t.Bytes, &t.Tokens, &t.Special}
}

// Add adds other documents.
func (t *Texts) Add(more Texts) {
	all := more.numbers()
	for i, n := range t.numbers() {
		*n += *all[i]
	}
}

// add adds a row that comes a number of times.
func (t *Texts) add(row textCount, times int) {
	if row.tokens == 0 {
		return
	}
	one := Texts{Documents: 1, Bytes: int64(row.bytes), Tokens: int64(row.tokens)}
	if row.special {
		one.Special = 1
	}
	for range times {
		t.Add(one)
	}
}

// A textCount describes the text of a row.
type textCount struct {
	bytes, tokens uint32
	special       bool
}

// Work measures the counting of tokens. Each entry of a dictionary is one text.
type Work struct {
	Bytes int64         // of texts
	Took  time.Duration // of processors, together
}

func (w *Work) add(more Work) { w.Bytes, w.Took = w.Bytes+more.Bytes, w.Took+more.Took }

// A TextEstimate predicts what it takes to count the tokens of texts.
type TextEstimate struct {
	Bytes      int64   // of the texts to count, by the footers, before any filter
	Speed      float64 // bytes a second of a processor, as measured on the first texts
	Processors int     // of each node
	Nodes      int     // that count together
}

// Took returns how long the processors take.
func (e TextEstimate) Took() time.Duration {
	return time.Duration(float64(e.Bytes) / e.Speed / float64(e.Processors*max(1, e.Nodes)) * float64(time.Second))
}

func (e TextEstimate) String() string {
	took := e.Took().Round(time.Second)
	if took < 10*time.Second {
		took = e.Took().Round(100 * time.Millisecond)
	}
	nodes := ""
	if e.Nodes > 1 {
		nodes = fmt.Sprintf(" of %d nodes", e.Nodes)
	}
	return fmt.Sprintf("counting the tokens of %v of text, at %.0f MB/s on each of %d processors%s, takes about %v",
		mem.Bytes(e.Bytes), e.Speed/1e6, e.Processors, nodes, took)
}

const (
	measuredText = 1 << 20  // bytes of text for each processor that an estimate measures
	coldPart     = 4        // 1/coldPart of them fills caches, and does not count
	muchText     = 2        // times as much text is predicted
	workStep     = 64 << 10 // bytes of text after which work is reported
)
