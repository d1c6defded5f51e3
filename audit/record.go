package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
)

// A Record has the sum of the batches that one rank of a world handed out between two positions of
// an epoch, which count rows over all ranks.
type Record struct {
	Epoch       uint64
	World, Rank int
	From, To    int64
	Sum

	// Cuts is the sum of the hashes of the positions between From and To at which the rank resumed;
	// 0 if the record is of one run. A state joins records of many resumes.
	Cuts uint64
}

// recordJSON is a record in states. Readers of JSON may round large numbers, so the hash is text.
type recordJSON struct {
	Epoch  uint64 `json:"epoch"`
	World  int    `json:"world"`
	Rank   int    `json:"rank"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Rows   int64  `json:"rows"`
	Lost   int64  `json:"lost"`
	Padded int64  `json:"padded"`
	Hash   string `json:"hash"` // 16 hex digits
	Cuts   string `json:"cuts,omitempty"`
}

// MarshalJSON returns the record as states have it.
func (r Record) MarshalJSON() ([]byte, error) {
	cuts := ""
	if r.Cuts != 0 {
		cuts = digits(r.Cuts)
	}
	return json.Marshal(recordJSON{r.Epoch, r.World, r.Rank, r.From, r.To, r.Rows, r.Lost, r.Padded, digits(r.Hash), cuts})
}

// UnmarshalJSON reads a record and checks its numbers.
func (r *Record) UnmarshalJSON(data []byte) error {
	var j recordJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	hash, ok := number16(j.Hash)
	if !ok {
		return fmt.Errorf("hash must be 16 hex digits, got %q", j.Hash)
	}
	cuts, ok := number16(cmp.Or(j.Cuts, digits(0)))
	if !ok {
		return fmt.Errorf("cuts must be 16 hex digits, got %q", j.Cuts)
	}
	switch {
	case j.World < 1 || j.Rank < 0 || j.Rank >= j.World:
		return fmt.Errorf("rank must be from 0 to the world size less 1, got %d of %d", j.Rank, j.World)
	case j.To < j.From:
		return fmt.Errorf("to must be at least from, got %d to %d", j.From, j.To)
	case min(j.Rows, j.Lost, j.Padded) < 0:
		return fmt.Errorf("rows, lost and padded must be at least 0, got %d, %d and %d", j.Rows, j.Lost, j.Padded)
	}
	*r = Record{Epoch: j.Epoch, World: j.World, Rank: j.Rank, From: j.From, To: j.To, Sum: Sum{Rows: j.Rows, Lost: j.Lost, Padded: j.Padded, Hash: hash}, Cuts: cuts}
	return nil
}

func digits(n uint64) string { return fmt.Sprintf("%016x", n) }

// number16 reads digits.
func number16(digits string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil && len(digits) == 16
}

// compare orders records by position, then by world and rank.
func compare(a, b Record) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank),
		cmp.Compare(a.Rows, b.Rows), cmp.Compare(a.Lost, b.Lost), cmp.Compare(a.Padded, b.Padded), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Cuts, b.Cuts))
}
