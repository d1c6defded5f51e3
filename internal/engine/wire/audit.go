package wire

import (
	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Span is the positions of an iteration, for the audit of its epoch. Under the tail carry From may
// be below 0, and To beyond the epoch.
type Span struct {
	Begin int64 `json:"begin"` // of the epoch's first step
	From  int64 `json:"from"`  // of the iteration's first step
	To    int64 `json:"to"`    // after its last
}

// Audit asks to compare an epoch that ranks have handed out with its order, once all ranks have.
type Audit struct {
	Object  int            `json:"object"` // number of the data set object among the objects of one Opening
	Epoch   uint64         `json:"epoch"`
	Begin   int64          `json:"begin"`
	To      int64          `json:"to"`
	State   shuffle.State  `json:"state"` // of the order, at any position
	Ranks   []int          `json:"ranks"` // whose records these are
	Records []audit.Record `json:"records"`
}

// Audited is the verdict on an epoch as far as ranks have come to its end. Text is one line.
type Audited struct {
	Epoch   uint64   `json:"epoch"`
	Ranks   int      `json:"ranks"`    // that have come to the end
	Of      int      `json:"of_ranks"` // of the world
	Proved  bool     `json:"proved"`
	Rows    int64    `json:"rows"` // that each came exactly once, if there are no faults
	Lost    int64    `json:"lost"`
	Padded  int64    `json:"padded"`
	Worlds  []int    `json:"worlds"`
	Faults  []string `json:"faults"`
	NotSeen []string `json:"not_seen"`
	Text    string   `json:"text"`
}
