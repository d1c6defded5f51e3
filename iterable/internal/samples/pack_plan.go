package samples

import "cmp"

// A PackPlan predicts an epoch's samples if they have several rows: blocks, or
// under the strategy "bucket" of batches.
type PackPlan struct {
	Strategy string `json:"strategy"`
	Size     int    `json:"size"`   // tokens of a block, or of a batch at most
	Blocks   int64  `json:"blocks"` // of an epoch
	Units    int    `json:"units"`  // that have any

	// Tokens counts the tokens of the blocks: exactly if this process has read the lengths, else by
	// the footers, where an empty list counts as one, or by texts that lose what is longer than a
	// block; 0 if a rule chooses rows by unread lengths.
	Tokens  int64 `json:"-"`
	Counted bool  `json:"-"`

	// Utilisation is the part of blocks, or of padded batches, that tokens fill; 0 if Tokens is.
	Utilisation float64 `json:"-"`

	// Sorted reports that lengths differ between units more than within them, so that batches of
	// one length follow each other.
	Sorted bool `json:"-"`

	Counting int64 `json:"-"` // encoded bytes of lists that were read for their lengths, at most
}

// With adds the blocks of another source.
func (k *PackPlan) With(more *PackPlan) *PackPlan {
	if k == nil || more == nil {
		return cmp.Or(k, more)
	}
	sum := *k
	sum.Blocks, sum.Units, sum.Tokens = k.Blocks+more.Blocks, k.Units+more.Units, k.Tokens+more.Tokens
	sum.Counted, sum.Counting = k.Counted && more.Counted, k.Counting+more.Counting
	if k.Tokens == 0 || more.Tokens == 0 {
		sum.Tokens = 0
	}
	sum.Utilisation = min(1, float64(sum.Tokens)/float64(max(1, sum.Blocks))/float64(sum.Size))
	return &sum
}
