package wire

// Note is a line for the user's log.
type Note struct {
	Level string `json:"level"` // debug, info, warning
	Text  string `json:"text"`
	Once  string `json:"once"` // shown once per process for each such text; empty: each time
}
