package wire

import (
	"encoding/json"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// Waited is how long a training loop waited since its last message of this kind.
type Waited struct {
	Rank int `json:"rank"`
	wait.Report
}

func (w Waited) Validate() error {
	if w.Rank < 0 || !(w.Seconds >= 0) || !(w.Of >= 0) {
		return ProtocolError("WAITED: rank %d, %v s of %v s", w.Rank, w.Seconds, w.Of)
	}
	for cause, s := range w.Parts {
		if _, ok := wait.CauseOf(cause); !ok || !(s >= 0) {
			return ProtocolError("WAITED: %v s for %q", s, cause)
		}
	}
	if n := w.Now; n != nil {
		if _, ok := wait.CauseOf(n.Cause); !ok || !(n.Seconds >= 0) {
			return ProtocolError("WAITED: in next() for %v s for %q", n.Seconds, n.Cause)
		}
	}
	return nil
}

// Held explains what holds up the batch that a trainer waits for.
type Held struct {
	Marks [][2]int64 `json:"marks"` // a cause of package wait, and until when it did, by the clock of all processes
}

// HeldBy returns the message of a trail.
func HeldBy(marks []wait.Mark) (h Held) {
	for _, m := range marks {
		h.Marks = append(h.Marks, [2]int64{int64(m.Cause), m.End})
	}
	return h
}

// VerdictAsk asks why a training loop waits, with the figures that only its trainer has.
type VerdictAsk struct {
	Seconds float64      `json:"seconds"` // the recent past of the loop; 0 is since its iteration began
	Waited  *wait.Report `json:"waited"`  // what came since the last WAITED
	Told    float64      `json:"told"`    // seconds of the loop in all WAITED, on any connection, and here
	Workers int          `json:"workers"` // that run map and collate_fn
	Pinned  bool         `json:"pinned"`

	// Others are Session.Waits of other machines, whose ranks are compared too.
	Others []json.RawMessage `json:"others"`
}
