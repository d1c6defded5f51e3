package wire

import "github.com/shardfeed/shardfeed/internal/loads"

// Trace asks for the loads of a rank since the last such message of the connection. The first one
// starts to record them, until the connection ends.
type Trace struct {
	Dataset string `json:"dataset"` // as in Open
	Rank    int    `json:"rank"`
}

func (t Trace) Validate() error {
	if t.Dataset == "" || t.Rank < 0 {
		return ProtocolError("TRACE: data set %q, rank %d", t.Dataset, t.Rank)
	}
	return nil
}

// Events are the answer. Addresses have no secrets.
type Events struct {
	Loads  []loads.Load `json:"loads"`
	Missed uint64       `json:"missed"` // loads of any rank, which were too many
}
